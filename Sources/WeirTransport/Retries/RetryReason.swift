/// Why a retry is made or was asked about: a status code or an error's label, never text of the moment.
public struct RetryReason: RawRepresentable, Hashable, Sendable {
  /// A status code in digits, or a label such as `timed_out`.
  public let rawValue: String

  /// Takes a status code in digits, or a label.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }
}

/// Where the delay before a retry comes from.
public enum RetryDelaySource: String, Sendable, CaseIterable {
  /// The policy's own backoff.
  case backoff
  /// The server's `Retry-After` (RFC 9110 section 10.2.3).
  case retryAfter = "retry_after"
}

/// Why a failed attempt is not tried again.
public struct RetryDenial: Hashable, Sendable {
  /// What kept a retry from being made.
  @nonexhaustive
  public enum Reason: String, Sendable, CaseIterable {
    /// The destination has had as many retries as its ``RetryBudget`` grants. Nobody is asked about further ones.
    case budget
    /// The destination's ``CircuitBreaker`` is open. Nobody is asked about further retries.
    case breaker
    /// A retry policy's ``RetryPolicy/retryLimit`` is used up.
    case limit
    /// The retry would have started after the request's deadline, or before the server wants to hear again, which is later.
    case deadline
    /// A retry policy repeats such failures, but not of this method.
    case method
    /// The body can't be sent again.
    case body
    /// The retriers said no for reasons of their own, or the response said that it is final.
    case policy
  }

  /// What kept this one.
  public let reason: Reason

  /// Takes the reason.
  public init(reason: Reason) {
    self.reason = reason
  }
}

extension RetryDenial.Reason {
  /// Whether it is the state of the destination and not of the request.
  package var isDestinations: Bool { self == .budget || self == .breaker }
}
