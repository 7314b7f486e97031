/// The description of a metric at its registration.
struct MetricDescriptor: Sendable, Equatable {
  let name: String
  let help: String
  let kind: MetricKind
  let labels: [String]
  /// A histogram's upper bounds.
  var bounds: [Double] = []
  /// The rule that the bounds break, if any.
  var bucketProblem: Buckets.Problem?

  /// The family's name in OpenMetrics: a counter without `_total`, an info without `_info`.
  var familyName: String {
    switch kind {
    case .counter: hasTotal ? String(name.dropLast("_total".count)) : name
    case .info: String(name.dropLast("_info".count))
    case .gauge, .histogram: name
    }
  }

  /// Whether a counter's name ends in `_total`. OpenMetrics has no other counters. There, a counter without it gets the
  /// type `unknown`, so that a series has the same name in both formats.
  var hasTotal: Bool {
    kind == .counter && name.hasSuffix("_total") && name.utf8.count > "_total".utf8.count
  }

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
    guard MetricName.isValid(name) else { throw .invalidName(metric: name) }
    if kind == .info, !name.hasSuffix("_info") || !MetricName.isValid(familyName) {
      throw .invalidName(metric: name)
    }
    var seen: Set<String> = []
    for label in labels {
      guard MetricName.isValidLabel(label) else { throw .invalidLabel(metric: name, label: label) }
      guard !MetricName.isReservedLabel(label) else { throw .reservedLabel(metric: name, label: label) }
      guard seen.insert(label).inserted else { throw .duplicateLabel(metric: name, label: label) }
    }
    if let bucketProblem { throw .invalidBuckets(metric: name, problem: bucketProblem) }
    return self
  }

  /// The difference that makes a second registration of the same name a different metric.
  func conflict(with registered: MetricDescriptor) -> RegistryError? {
    if kind != registered.kind {
      return .kindConflict(metric: name, registered: registered.kind, requested: kind)
    }
    if labels != registered.labels {
      return .labelConflict(metric: name, registered: registered.labels, requested: labels)
    }
    if help != registered.help { return .helpConflict(metric: name) }
    if bounds != registered.bounds { return .bucketConflict(metric: name) }
    return nil
  }
}
