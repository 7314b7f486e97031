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
  package var isDestinations: Bool { self == .budget || self == .breaker || self == .overload }
}
