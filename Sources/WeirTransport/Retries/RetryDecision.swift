import WeirHTTP
import WeirIO

/// The decision on a failure, and its reason. It is made once, by the first rules that say yes or no, and then passed
/// on to events and metrics.
package enum RetryDecision: Hashable, Sendable {
  /// Retry after this many seconds. `wish` is the server's `Retry-After`, if it is longer than the wait that the server
  /// is granted. `credential` is the new credential for a request that was refused for lack of it.
  case retry(after: Double, source: RetryDelaySource, wish: Double? = nil, credential: RefreshedCredential? = nil)
  case deny(RetryDenial.Reason)

  /// The decision after two checks that no rule makes: whether the body can be sent again, and whether the deadline
  /// allows the retry. A server whose wish goes beyond the deadline has given its last answer, even if a retry after
  /// the granted wait would come in time.
  func permitted(canReplayBody: Bool, deadline: MonotonicTime, now: MonotonicTime) -> RetryDecision {
    guard case .retry(let delay, _, let wish, _) = self else { return self }
    if !canReplayBody { return .deny(.body) }
    return now.advanced(bySeconds: max(delay, wish ?? 0)) < deadline ? self : .deny(.deadline)
  }
}

/// A credential with which a request may be retried for free, once among all its refused attempts.
package struct RefreshedCredential: Hashable, Sendable {
  let interceptor: ObjectIdentifier
  let version: UInt64

  package init(interceptor: ObjectIdentifier, version: UInt64) {
    self.interceptor = interceptor
    self.version = version
  }
}

/// Why a retry is made or was asked about: a status code or an error's label, never dynamic text.
public struct RetryReason: RawRepresentable, Hashable, Sendable {
  /// A status code in digits, or a label such as `timed_out`.
  public let rawValue: String

  /// Takes a status code in digits, or a label.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }
}

/// The source of the delay before a retry.
public enum RetryDelaySource: String, Sendable, CaseIterable {
  /// The policy's own backoff.
  case backoff
  /// The server's `Retry-After` (RFC 9110 section 10.2.3).
  case retryAfter = "retry_after"
}

/// Why a failed attempt is not tried again.
public struct RetryDenial: Hashable, Sendable {
  /// The reason for a denied retry.
  @nonexhaustive
  public enum Reason: String, Sendable, CaseIterable {
    /// The destination has had as many retries as its ``RetryBudget`` grants. No retrier is asked about further ones.
    case budget
    /// The destination's ``CircuitBreaker`` is open. No retrier is asked about further retries.
    case breaker
    /// The destination is overloaded or silent (``OverloadSettings``). No retrier is asked about further retries.
    case overload
    /// The retry would have waited too long for its turn by the destination's pace (``PaceSettings``). No retrier is asked
    /// about further retries.
    case pace
    /// A retry policy's ``RetryPolicy/retryLimit`` is used up.
    case limit
    /// The retry would have started after the request's deadline, or the server's `Retry-After` goes beyond the
    /// deadline.
    case deadline
    /// A retry policy retries such failures, but not with this method.
    case method
    /// The body can't be sent again.
    case body
    /// The retriers said no for reasons of their own, or the response said that it is final.
    case policy
  }

  /// The reason for this denial.
  public let reason: Reason

  /// Takes the reason.
  public init(reason: Reason) {
    self.reason = reason
  }
}

extension RetryDenial.Reason {
  /// Whether the reason lies in the state of the destination and not in the request.
  package var isDestinations: Bool { self == .budget || self == .breaker || self == .overload || self == .pace }
}

/// The field that tells the receiver of a request how often the request was retried before.
///
/// Layers that all retry multiply: three layers with three tries each make 27 attempts of one request. A server that
/// knows that a layer in front of it retries can leave the retries to that layer.
public struct AttemptHeader: Sendable, Hashable {
  /// The field's name.
  public let name: String

  /// `X-Retry-Attempt: n` on the n-th retry; a first attempt has no such field.
  public static let standard = AttemptHeader(name: "X-Retry-Attempt")

  /// A larger number of retries counts as this one.
  package static let maximum = 999

  /// The number of retries that a field states in decimal digits, up to ``maximum``. Several fields may arrive as a
  /// list (RFC 9110 section 5.3), of which the largest number counts. Anything but a number counts as 0.
  package static func count(_ value: UnsafeRawBufferPointer) -> Int {
    value.listElements.reduce(0) { largest, element in
      max(largest, Int(min(element.decimal ?? 0, Int64(maximum))))
    }
  }

  /// The value that states the number of all retries: those before and our own.
  package func announcing(_ own: Int, after before: Int) -> String { String(min(before + own, Self.maximum)) }
}
