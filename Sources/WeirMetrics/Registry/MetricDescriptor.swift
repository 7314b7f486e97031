/// The description of a metric at its registration.
package struct MetricDescriptor: Sendable, Equatable {
  package let name: String
  package let help: String
  package let kind: MetricKind
  package let labels: [String]
  /// Whether the last label is left out where its value is empty, which is the same to Prometheus.
  var omitsEmptyLast = false
  /// A histogram's upper bounds, without `+Inf`.
  package internal(set) var bounds: [Double] = []
  /// Whether a histogram has native buckets too.
  package internal(set) var isNative = false
  /// The rule that the bounds break, if any.
  var bucketProblem: Buckets.Problem?

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

/// The alphabets of the exposition formats.
package enum MetricName {
  /// `[a-zA-Z_:][a-zA-Z0-9_:]*`
  static func isValid(_ name: String) -> Bool {
    isValid(name.utf8) { isLetter($0) || $0 == UInt8(ascii: ":") }
  }

  /// `[a-zA-Z_][a-zA-Z0-9_]*`
  package static func isValidLabel(_ name: String) -> Bool {
    isValid(name.utf8, letter: isLetter)
  }

  /// Names that are reserved by the formats (`le`) or by Prometheus (`__…`).
  package static func isReservedLabel(_ name: String) -> Bool {
    name == "le" || name.utf8.starts(with: "__".utf8)
  }

  private static func isValid(_ name: String.UTF8View, letter: (UInt8) -> Bool) -> Bool {
    guard let first = name.first, letter(first) else { return false }
    return name.allSatisfy { letter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }
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
