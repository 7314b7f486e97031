import WeirMetrics

/// The counters of one route that forwarding changes.
struct RouteSeries {
  /// Requests that their sender says it retries.
  let retried: Counter
  /// Requests whose client left before their end.
  let abandoned: Counter
  /// Responses in whose fields blanks took the place of control characters.
  let repaired: Counter
  /// Nil for a route that codes nothing.
  let coded: CodedBytes?
  /// Requests that exceeded a limit of the route, by the limit's number.
  let limited: [Counter]
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

  /// Makes the series at zero. Nil for rules that code nothing.
  init?(_ family: Family, route: String, _ rules: CompressionRules?) {
    guard let rules, !rules.isIdle else { return nil }
    requests = rules.decodesRequests ? Stages(family, route, .request) : nil
    responses = rules.compressesResponses || rules.decodesResponses ? Stages(family, route, .response) : nil
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
