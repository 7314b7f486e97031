import WeirMetrics

/// The directions in which a route codes or decodes bodies.
struct CodedDirections: OptionSet, Sendable {
  let rawValue: UInt8

  static let request = CodedDirections(rawValue: 1)
  static let response = CodedDirections(rawValue: 2)

  init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Nil if nothing is coded.
  init?(_ rules: CompressionRules?) {
    guard let rules, !rules.isIdle else { return nil }
    self = []
    if rules.decodesRequests { insert(.request) }
    if rules.compressesResponses || rules.decodesResponses { insert(.response) }
  }
}

/// The counters of one route's bytes that were coded or decoded.
struct CodedBytes: Sendable {
  typealias Family = CounterFamily<(String, String, String)>

  enum Direction: String {
    case request
    case response
  }

  private struct Stages {
    /// Bytes as they came, and as they went on.
    let before: Counter
    let after: Counter
    /// Bytes that went on as they came, because too many bodies were being coded.
    let uncoded: Counter?

    init(_ family: Family, _ route: String, _ direction: Direction) {
      before = family.with(route, direction.rawValue, "before")
      after = family.with(route, direction.rawValue, "after")
      // A request that could not be decoded is refused.
      uncoded = direction == .response ? family.with(route, direction.rawValue, "uncoded") : nil
    }
  }

  private let requests: Stages?
  private let responses: Stages?

  /// Makes the series at zero.
  init(_ family: Family, route: String, _ directions: CodedDirections) {
    requests = directions.contains(.request) ? Stages(family, route, .request) : nil
    responses = directions.contains(.response) ? Stages(family, route, .response) : nil
  }

  func count(_ direction: Direction, before: Int64, after: Int64, isCoded: Bool) {
    guard let stages = direction == .request ? requests : responses else { return }
    if isCoded {
      stages.before.increment(by: Int(before))
      stages.after.increment(by: Int(after))
    } else {
      stages.uncoded?.increment(by: Int(after))
    }
  }
}
