import Synchronization
import WeirCurl
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

/// How a check ended, with the text about a failure.
struct CheckOutcome: Sendable, Equatable {
  let result: CheckResult
  /// Empty for a good check.
  let problem: String

  static let good = CheckOutcome(result: .good, problem: "")

  static func timedOut(after seconds: Double) -> CheckOutcome {
    CheckOutcome(result: .timeout, problem: "the check was not done within \(seconds) s")
  }

  /// Nil if the failure is our own, such as a want of descriptors: it says nothing about the endpoint.
  init?(_ error: TransferError, advice: TransferAdvice) {
    let failure = TransferFailure(error, advice: advice)
    guard !failure.isOwnDefect else { return nil }
    switch RequestOutcome(failure.code, hadResponse: false) {
    case .tlsError: result = .tls
    case .timeout: result = .timeout
    default: result = .connection
    }
    problem = failure.text
  }

  init(result: CheckResult, problem: String) {
    self.result = result
    self.problem = problem
  }
}

/// The answer to a check while it comes in. A value.
struct CheckAnswer: Sendable {
  /// The bytes of a body that are read, and dropped.
  static let mostBytes = 65_536

  private var status: Int?
  private var bytes = 0

  mutating func head(_ status: Int) { self.status = status }

  /// Bytes of the body have come. Returns whether more of them are read.
  mutating func body(_ count: Int) -> Bool {
    bytes += count
    return bytes <= Self.mostBytes
  }

  /// The outcome by the status, if the answer is complete or longer than it is read; nil if it is neither.
  ///
  /// - Parameter error: Why the transfer has failed; nil if it has not.
  func outcome(_ error: TransferError?, good statuses: [ClosedRange<Int>]) -> CheckOutcome? {
    guard let status, error == nil || error?.kind == .stopped else { return nil }
    if statuses.contains(where: { $0.contains(status) }) { return .good }
    return CheckOutcome(result: .status, problem: "answered with status \(status)")
  }
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
