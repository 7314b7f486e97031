/// The description of a metric at its registration.
package struct MetricDescriptor: Sendable, Equatable {
  package let name: String
  package let help: String
  package let kind: MetricKind
  package let labels: [String]
  /// The name before it was normalized; the name itself if it was not (``MetricName``).
  var source: String
  /// Whether labels are given as text, and each series has names of its own.
  var hasTextLabels = false
  /// Whether the last label is left out where its value is empty, which is the same to Prometheus.
  var omitsEmptyLast = false
  /// A histogram's upper bounds, without `+Inf`.
  package internal(set) var bounds: [Double] = []
  /// The buckets that the histogram was registered with, which the registry may have replaced by these bounds.
  var buckets: Buckets?
  /// Whether a histogram has native buckets too.
  package internal(set) var isNative = false
  /// The rule that the bounds break, if any.
  var bucketProblem: Buckets.Problem?

  init(name: String, help: String, kind: MetricKind, labels: [String], source: String? = nil) {
    self.name = name
    self.help = help
    self.kind = kind
    self.labels = labels
    self.source = source ?? name
  }

  /// The family's name in OpenMetrics: a counter without `_total`, an info without `_info`.
  package var familyName: String {
    switch kind {
    case .counter: hasTotal ? String(name.dropLast("_total".count)) : name
    case .info: String(name.dropLast("_info".count))
    case .gauge, .histogram: name
    }
  }

  /// Whether a counter's name ends in `_total`. OpenMetrics has no other counters. There, a counter without it gets the
  /// type `unknown`, so that a series has the same name in both formats.
  package var hasTotal: Bool {
    kind == .counter && name.hasSuffix("_total") && name.utf8.count > "_total".utf8.count
  }

  /// Whether a histogram's sum only grows. With a negative bound it may shrink, and neither OpenMetrics nor
  /// OpenTelemetry allows such a sum.
  package var hasSum: Bool { bounds.first ?? 0 >= 0 }

  /// Every name that this metric uses in either format.
  var claimedNames: [String] {
    switch kind {
    case .counter: hasTotal ? [name, familyName, familyName + "_created"] : [name]
    case .gauge: [name]
    case .info: [name, familyName]
    case .histogram: [name] + ["_bucket", "_count", "_sum", "_created"].map { name + $0 }
    }
  }

  func validated() throws(RegistryError) -> MetricDescriptor {
    guard MetricName.isValid(name) else { throw .invalidName(metric: source) }
    if kind == .info, !name.hasSuffix("_info") || !MetricName.isValid(familyName) {
      throw .invalidName(metric: name)
    }
    try Self.check(labels: labels, of: name)
    if let bucketProblem { throw .invalidBuckets(metric: name, problem: bucketProblem) }
    return self
  }

  static func check(labels: [String], of metric: String) throws(RegistryError) {
    var seen: Set<String> = []
    for label in labels {
      guard MetricName.isValidLabel(label) else { throw .invalidLabel(metric: metric, label: label) }
      guard !MetricName.isReservedLabel(label) else { throw .reservedLabel(metric: metric, label: label) }
      guard seen.insert(label).inserted else { throw .duplicateLabel(metric: metric, label: label) }
    }
  }

  /// Whether a metric with labels as text is the same as this one, whose name it has.
  @inline(__always)
  func isEqual(_ kind: MetricKind, _ name: MetricName, _ help: String, _ buckets: Buckets?) -> Bool {
    guard self.kind == kind, source == name.source, self.help == help else { return false }
    return kind != .histogram || self.buckets == buckets
  }

  /// The difference that makes a second registration of the same name a different metric.
  func conflict(with registered: MetricDescriptor) -> RegistryError? {
    if source != registered.source { return .nameClash(metric: source, name: name, owner: registered.source) }
    if kind != registered.kind {
      return .kindConflict(metric: name, registered: registered.kind, requested: kind)
    }
    if hasTextLabels != registered.hasTextLabels { return .textLabelConflict(metric: name) }
    if labels != registered.labels || omitsEmptyLast != registered.omitsEmptyLast {
      return .labelConflict(metric: name, registered: registered.labels, requested: labels)
    }
    if help != registered.help { return .helpConflict(metric: name) }
    if bounds != registered.bounds { return .bucketConflict(metric: name) }
    return nil
  }
}

/// The type of a metric, as in a `# TYPE` line.
public enum MetricKind: String, Sendable {
  /// The value only grows, and starts again at 0 with the process.
  case counter
  /// The value may go up and down.
  case gauge
  /// Observations counted in buckets, with their sum.
  case histogram
  /// Facts as labels, with the value 1. In the text format, which has no such type, it is a gauge.
  case info
}

/// A registered metric of any instrument, as encoders see it.
protocol MetricFamily: AnyObject, Sendable {
  var descriptor: MetricDescriptor { get }
  var pieces: ExpositionPieces { get }
  var tally: FamilyTally { get }
  /// The number of series on the page; nil for a metric that is computed at the scrape.
  var seriesCount: Int? { get }
  /// The present series, sorted by their labels.
  func content(_ collected: CollectedSamples) -> FamilyContent
}

/// A family's series. Encoders read the numbers from them; this type has no format.
package enum FamilyContent {
  case series([Series])
  case samples([CollectedSample])
}
