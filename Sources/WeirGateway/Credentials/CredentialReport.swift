import Weir
import WeirIO
import WeirTransport

/// A credential as people and metrics see it.
struct CredentialReport: Sendable {
  enum State: String, Sendable, CaseIterable {
    /// Requests get one.
    case good
    /// There is no value that could be sent.
    case missing
    /// The value is good, and the next one could not be had.
    case failing
  }

  let name: String
  let state: State
  /// Seconds; nil for a value that does not expire, and without one.
  var expiresIn: Double?
  /// Why there is no new value, or what upstreams say to this one; nil if nothing is wrong.
  let failure: String?
  let waiting: Int
}

extension OAuth2Error {
  /// There was no answer in the time that a request waits.
  static let late = OAuth2Error(reason: .timeout, text: "the token service has not answered in time", retryAfter: nil)

  /// An error of the session itself.
  init(_ error: any Error) {
    self.init(reason: .error, text: Redaction.errorText("\(error)"), retryAfter: nil)
  }
}

/// The answers of upstreams that refuse a credential, as far as they came one after another within a minute. A value.
struct UpstreamRefusals {
  private static let memory = 60.0
  /// Fewer may be an application's own.
  private static let least = 5

  private var status = 0
  private var count = 0
  private var last = MonotonicTime(nanoseconds: 0)

  /// - Parameter status: Nil for another answer.
  mutating func note(_ status: Int?, at now: MonotonicTime) {
    guard let status else { return self = UpstreamRefusals() }
    if status != self.status || now.seconds(since: last) > Self.memory { count = 0 }
    count += 1
    (self.status, last) = (status, now)
  }

  /// Nil if there were few within a minute.
  func text(at now: MonotonicTime) -> String? {
    guard count >= Self.least, now.seconds(since: last) <= Self.memory else { return nil }
    return status == 403
      ? "an upstream has answered 403 \(count) times: the credential lacks a scope or a right"
      : "an upstream has answered 401 \(count) times: it does not take the credential"
  }
}

/// Which of a credential's events get a log line: at most one of a kind in ten seconds. A value.
struct CredentialNotes {
  static let interval = 10.0

  private var failure: MonotonicTime?
  private var recovery: MonotonicTime?
  private var refusal: MonotonicTime?
  /// Requests that were refused since the last line about them.
  private var refusals = 0

  mutating func failed(at now: MonotonicTime) -> Bool { Self.isDue(&failure, at: now) }

  mutating func recovered(at now: MonotonicTime) -> Bool { Self.isDue(&recovery, at: now) }

  /// The number of refused requests to tell of; nil if none is due.
  mutating func refused(at now: MonotonicTime) -> Int? {
    refusals += 1
    guard Self.isDue(&refusal, at: now) else { return nil }
    defer { refusals = 0 }
    return refusals
  }

  private static func isDue(_ last: inout MonotonicTime?, at now: MonotonicTime) -> Bool {
    if let last, now.seconds(since: last) < interval { return false }
    last = now
    return true
  }
}
