import Synchronization
import WeirHTTP
import WeirIO
import WeirTransport

/// How a check ended, as the metrics show it.
enum CheckResult: String, CaseIterable, Sendable {
  case good
  /// The answer has a status that is no good one.
  case status
  case timeout
  /// The connection could not be opened, was lost, or brought something that is no HTTP.
  case connection
  case tls
}

/// How often the checks of each endpoint ended with each result.
final class CheckCounts: Sendable {
  private struct Fields: Sendable {
    var counts: [String: [CheckResult: Int]] = [:]
    /// When endpoints left that have counts.
    var gone: [String: MonotonicTime] = [:]
  }

  private let fields = Mutex(Fields())

  /// The numbers by the endpoints' names.
  var all: [String: [CheckResult: Int]] { fields.withLock { $0.counts } }

  func number(of result: CheckResult, at endpoint: String) -> Int {
    fields.withLock { $0.counts[endpoint]?[result] ?? 0 }
  }

  func count(_ result: CheckResult, at endpoint: String) {
    fields.withLock { $0.counts[endpoint, default: [:]][result, default: 0] += 1 }
  }

  /// Takes the names of the endpoints that are there. Counts of others go once their set has forgotten them.
  func follow(_ present: Set<String>, at now: MonotonicTime) {
    fields.withLock { fields in
      for name in fields.counts.keys where !present.contains(name) { fields.gone[name] = fields.gone[name] ?? now }
      for (name, left) in fields.gone {
        let isBack = present.contains(name)
        guard isBack || now.seconds(since: left) >= EndpointSet.memory else { continue }
        fields.gone[name] = nil
        if !isBack { fields.counts[name] = nil }
      }
    }
  }
}

/// The result of a question for an upstream's endpoints.
enum Discovery: String, CaseIterable, Sendable {
  case changed
  case same
  case failed
  /// There were more endpoints than there may be.
  case truncated
}

/// How often there was each result, and when there was an answer last.
final class DiscoveryCounts: Sendable {
  private struct State {
    var counts: [Discovery: Int] = [:]
    var last: Discovery?
    var answered: Timestamp?
  }

  private let state = Mutex(State())

  func count(_ discovery: Discovery, at now: Timestamp = .now) {
    state.withLock { state in
      state.counts[discovery, default: 0] += 1
      state.last = discovery
      if discovery != .failed { state.answered = now }
    }
  }

  func number(of discovery: Discovery) -> Int { state.withLock { $0.counts[discovery] ?? 0 } }

  /// Whether the last question had no answer.
  var isFailing: Bool { state.withLock { $0.last == .failed } }

  /// When there was an answer last; nil before the first.
  var lastAnswer: Timestamp? { state.withLock { $0.answered } }
}
