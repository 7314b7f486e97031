extension Registry {
  /// A counter without labels. Name it in base units with `_total` at the end: `jobs_done_total`.
  public func counter(_ name: String, help: String) throws(RegistryError) -> Counter {
    try counters(name, help, [], nil).resolve([])
  }

  /// A counter with labels; see ``Family``.
  public func counter<each Value: LabelValue>(
    _ name: String, help: String, seriesLimit: Int? = nil, labels: repeat Label<each Value>
  ) throws(RegistryError) -> CounterFamily<(repeat each Value)> {
    CounterFamily(try counters(name, help, names(repeat each labels), seriesLimit))
  }

  /// A gauge without labels.
  public func gauge(_ name: String, help: String) throws(RegistryError) -> Gauge {
    try gauges(name, help, [], nil).resolve([])
  }

  /// A gauge with labels; see ``Family``.
  public func gauge<each Value: LabelValue>(
    _ name: String, help: String, seriesLimit: Int? = nil, labels: repeat Label<each Value>
  ) throws(RegistryError) -> GaugeFamily<(repeat each Value)> {
    GaugeFamily(try gauges(name, help, names(repeat each labels), seriesLimit))
  }

  /// A histogram without labels.
  public func histogram(
    _ name: String, help: String, buckets: Buckets = .default
  ) throws(RegistryError) -> Histogram {
    try histograms(name, help, buckets, [], nil).resolve([])
  }

  /// A histogram with labels; see ``Family``.
  public func histogram<each Value: LabelValue>(
    _ name: String, help: String, buckets: Buckets = .default, seriesLimit: Int? = nil,
    labels: repeat Label<each Value>
  ) throws(RegistryError) -> HistogramFamily<(repeat each Value)> {
    HistogramFamily(try histograms(name, help, buckets, names(repeat each labels), seriesLimit))
  }

  /// Facts that don't change while the process runs, as labels of a metric whose value is 1: a version, a build.
  ///
  /// The name ends in `_info`. Labels' values are repaired and cut as those of a family.
  public func info(
    _ name: String, help: String, labels: KeyValuePairs<String, String>
  ) throws(RegistryError) {
    let descriptor = MetricDescriptor(name: name, help: help, kind: .info, labels: labels.map(\.key))
    let store: SeriesStore<Gauge> = try store(descriptor, limit: 1, content: FamilyContent.gauges) { labels, _, _ in
      Gauge(labels: labels)
    }
    store.resolve(labels.map { LabelText.canonical($0.value) }).set(1)
  }
}

extension Registry {
  private func counters(
    _ name: String, _ help: String, _ labels: [String], _ limit: Int?
  ) throws(RegistryError) -> SeriesStore<Counter> {
    let descriptor = MetricDescriptor(name: name, help: help, kind: .counter, labels: labels)
    return try store(descriptor, limit: limit, content: FamilyContent.counters) {
      Counter(labels: $0, created: $1.now(), tally: $2)
    }
  }

  private func gauges(
    _ name: String, _ help: String, _ labels: [String], _ limit: Int?
  ) throws(RegistryError) -> SeriesStore<Gauge> {
    let descriptor = MetricDescriptor(name: name, help: help, kind: .gauge, labels: labels)
    return try store(descriptor, limit: limit, content: FamilyContent.gauges) { labels, _, _ in Gauge(labels: labels) }
  }

  private func histograms(
    _ name: String, _ help: String, _ buckets: Buckets, _ labels: [String], _ limit: Int?
  ) throws(RegistryError) -> SeriesStore<Histogram> {
    let checked = buckets.checked()
    let bounds = (try? checked.get()) ?? []
    var descriptor = MetricDescriptor(name: name, help: help, kind: .histogram, labels: labels)
    descriptor.bounds = bounds
    if case .failure(let problem) = checked { descriptor.bucketProblem = problem }
    return try store(descriptor, limit: limit, content: FamilyContent.histograms) {
      Histogram(bounds: bounds, labels: $0, clock: $1, tally: $2)
    }
  }

  private func names<each Value: LabelValue>(_ label: repeat Label<each Value>) -> [String] {
    var names: [String] = []
    for label in repeat each label { names.append(label.name) }
    return names
  }
}
