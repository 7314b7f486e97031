extension Registry {
  /// A counter without labels. Name it in base units with `_total` at the end: `jobs_done_total`.
  public func counter(_ name: String, help: String) throws(RegistryError) -> Counter {
    Counter(try store(.counter, name, help, ([], false), nil).resolve([]))
  }

  /// A counter with one label; see ``Family``.
  public func counter<Value: LabelValue>(
    _ name: String, help: String, seriesLimit: Int? = nil, labels label: Label<Value>
  ) throws(RegistryError) -> CounterFamily<Value> {
    CounterFamily(try store(.counter, name, help, ([label.name], false), seriesLimit))
  }

  /// A counter with labels; see ``Family``.
  public func counter<each Value: LabelValue>(
    _ name: String, help: String, seriesLimit: Int? = nil, labels: repeat Label<each Value>
  ) throws(RegistryError) -> CounterFamily<(repeat each Value)> {
    CounterFamily(try store(.counter, name, help, described(repeat each labels), seriesLimit))
  }

  /// A gauge without labels.
  public func gauge(_ name: String, help: String) throws(RegistryError) -> Gauge {
    Gauge(try store(.gauge, name, help, ([], false), nil).resolve([]))
  }

  /// A gauge with one label; see ``Family``.
  public func gauge<Value: LabelValue>(
    _ name: String, help: String, seriesLimit: Int? = nil, labels label: Label<Value>
  ) throws(RegistryError) -> GaugeFamily<Value> {
    GaugeFamily(try store(.gauge, name, help, ([label.name], false), seriesLimit))
  }

  /// A gauge with labels; see ``Family``.
  public func gauge<each Value: LabelValue>(
    _ name: String, help: String, seriesLimit: Int? = nil, labels: repeat Label<each Value>
  ) throws(RegistryError) -> GaugeFamily<(repeat each Value)> {
    GaugeFamily(try store(.gauge, name, help, described(repeat each labels), seriesLimit))
  }

  /// A histogram without labels.
  public func histogram(
    _ name: String, help: String, buckets: Buckets = .default
  ) throws(RegistryError) -> Histogram {
    Histogram(try store(.histogram, name, help, ([], false), nil, buckets).resolve([]))
  }

  /// A histogram with one label; see ``Family``.
  public func histogram<Value: LabelValue>(
    _ name: String, help: String, buckets: Buckets = .default, seriesLimit: Int? = nil,
    labels label: Label<Value>
  ) throws(RegistryError) -> HistogramFamily<Value> {
    HistogramFamily(try store(.histogram, name, help, ([label.name], false), seriesLimit, buckets))
  }

  /// A histogram with labels; see ``Family``.
  public func histogram<each Value: LabelValue>(
    _ name: String, help: String, buckets: Buckets = .default, seriesLimit: Int? = nil,
    labels: repeat Label<each Value>
  ) throws(RegistryError) -> HistogramFamily<(repeat each Value)> {
    HistogramFamily(try store(.histogram, name, help, described(repeat each labels), seriesLimit, buckets))
  }

  /// Facts that don't change while the process runs, as labels of a metric whose value is 1: a version, a build.
  ///
  /// The name ends in `_info`. Values of labels are repaired and cut like those of a family.
  public func info(
    _ name: String, help: String, labels: KeyValuePairs<String, String>
  ) throws(RegistryError) {
    let descriptor = MetricDescriptor(name: name, help: help, kind: .info, labels: labels.map(\.key))
    let values = labels.map { LabelText.canonical($0.value) }
    let store = try store(descriptor, limit: 1)
    try counted { () throws(RegistryError) in
      guard let series = store.findOrMake(values) else { throw .alreadyRegistered(metric: name) }
      Gauge(series).set(1)
    }
  }
}

extension Registry {
  private func store(
    _ kind: MetricKind, _ name: String, _ help: String, _ labels: (names: [String], omitsEmptyLast: Bool),
    _ limit: Int?, _ buckets: Buckets? = nil
  ) throws(RegistryError) -> SeriesStore {
    var descriptor = MetricDescriptor(name: name, help: help, kind: kind, labels: labels.names)
    descriptor.omitsEmptyLast = labels.omitsEmptyLast
    return try store(descriptor, buckets, limit)
  }

  func store(
    _ descriptor: MetricDescriptor, _ buckets: Buckets?, _ limit: Int? = nil
  ) throws(RegistryError) -> SeriesStore {
    var (descriptor, name) = (descriptor, descriptor.name)
    switch buckets.map({ self.buckets[name] ?? $0 })?.checked() {
    case .success(let bounds): descriptor.bounds = bounds
    case .failure(let problem): descriptor.bucketProblem = problem
    case nil: break
    }
    descriptor.buckets = buckets
    descriptor.isNative = descriptor.kind == .histogram && nativeHistograms.contains(name)
    return try store(descriptor, limit: limit)
  }

  private func described<each Value: LabelValue>(
    _ label: repeat Label<each Value>
  ) -> (names: [String], omitsEmptyLast: Bool) {
    var (names, omitsEmptyLast) = ([String](), false)
    for label in repeat each label {
      names.append(label.name)
      omitsEmptyLast = label.isOmittedIfEmpty
    }
    return (names, omitsEmptyLast)
  }
}
