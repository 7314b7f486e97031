// Series whose labels are known only as text: those of another metrics interface, of a plug-in, of a configuration.

extension Registry {
  /// The counter of one series, found or made at zero.
  ///
  /// ```swift
  /// try registry.counter("jobs_done_total", help: "Jobs.", labels: ["queue": queue, "kind": kind]).increment()
  /// ```
  ///
  /// The names of the labels may differ between calls, and their order means nothing. A label whose value is empty is
  /// left out. Once a series exists, it is found without a lock and without an allocation, at some three times the cost
  /// of typed labels: keep the instrument where that counts. The limit on label sets is the registry's. Beyond it, label sets are folded as those of a
  /// ``Family`` are, into a series that has the names of all labels.
  ///
  /// - Throws: ``RegistryError`` if the name or a label's name is not valid, or if the name is registered as another
  ///   type, with another help text or with typed labels.
  public func counter(
    _ name: String, help: String, labels: [String: String]
  ) throws(RegistryError) -> Counter {
    Counter(try series(.counter, MetricName(name), help, labels))
  }

  /// The counter of one series, by a name that was normalized; see ``counter(_:help:labels:)-(String,_,_)``.
  public func counter(
    _ name: MetricName, help: String, labels: [String: String]
  ) throws(RegistryError) -> Counter {
    Counter(try series(.counter, name, help, labels))
  }

  /// The gauge of one series, found or made at zero; see ``counter(_:help:labels:)-(String,_,_)``.
  public func gauge(
    _ name: String, help: String, labels: [String: String]
  ) throws(RegistryError) -> Gauge {
    Gauge(try series(.gauge, MetricName(name), help, labels))
  }

  /// The gauge of one series, by a name that was normalized; see ``counter(_:help:labels:)-(String,_,_)``.
  public func gauge(
    _ name: MetricName, help: String, labels: [String: String]
  ) throws(RegistryError) -> Gauge {
    Gauge(try series(.gauge, name, help, labels))
  }

  /// The histogram of one series, found or made empty; see ``counter(_:help:labels:)-(String,_,_)``.
  ///
  /// All series of a name have the same buckets; others throw ``RegistryError/bucketConflict(metric:)``.
  public func histogram(
    _ name: String, help: String, buckets: Buckets = .default, labels: [String: String]
  ) throws(RegistryError) -> Histogram {
    Histogram(try series(.histogram, MetricName(name), help, labels, buckets))
  }

  /// The histogram of one series, by a name that was normalized; see ``counter(_:help:labels:)-(String,_,_)``.
  public func histogram(
    _ name: MetricName, help: String, buckets: Buckets = .default, labels: [String: String]
  ) throws(RegistryError) -> Histogram {
    Histogram(try series(.histogram, name, help, labels, buckets))
  }

  /// Takes the series with these labels off the page and frees its place; true if there was one.
  ///
  /// As with ``Family``, a handle that is still held keeps working, but its counts no longer appear on a page. The next
  /// call with the labels makes a new series, at zero. From the first removal on, lookups under this name take a short
  /// lock. The series of a metric with typed labels are removed by its family alone. The name is that of pages
  /// (``MetricName/text``).
  @discardableResult
  public func remove(_ name: String, labels: [String: String]) -> Bool {
    withTextStore(name) { $0.remove(labels) } ?? false
  }

  /// The same for a name that was normalized.
  @discardableResult
  public func remove(_ name: MetricName, labels: [String: String]) -> Bool { remove(name.text, labels: labels) }

  @inline(never)
  private func series(
    _ kind: MetricKind, _ name: MetricName, _ help: String, _ labels: [String: String], _ buckets: Buckets? = nil
  ) throws(RegistryError) -> Series {
    let found = withTextStore(name.text) { store in
      store.descriptor.isEqual(kind, name, help, buckets) ? store.find(labels) : nil
    }
    if case let found?? = found { return found }
    return try made(kind, name, help, labels, buckets)
  }

  /// Makes the series, and its family if need be.
  private func made(
    _ kind: MetricKind, _ name: MetricName, _ help: String, _ labels: [String: String], _ buckets: Buckets?
  ) throws(RegistryError) -> Series {
    try counted { () throws(RegistryError) in
      try MetricDescriptor.check(labels: labels.keys.sorted(), of: name.text)
    }
    let made = withTextStore(name.text) { store in
      store.descriptor.isEqual(kind, name, help, buckets) ? store.resolve(labels) : nil
    }
    if case let made?? = made { return made }
    var descriptor = MetricDescriptor(name: name.text, help: help, kind: kind, labels: [], source: name.source)
    descriptor.hasTextLabels = true
    return try store(descriptor, buckets).resolve(labels)
  }
}
