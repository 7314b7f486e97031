/// Why a retry is made or was asked about: a status code or an error's label, never text of the moment.
public struct RetryReason: RawRepresentable, Hashable, Sendable {
  /// A status code in digits, or a label such as `timed_out`.
  public let rawValue: String

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
  @nonexhaustive
  public enum Reason: String, Sendable, CaseIterable {
    /// A retry policy's ``RetryPolicy/retryLimit`` is used up.
    case limit
    /// The retry would have started after the request's deadline.
    case deadline
    /// A retry policy repeats such failures, but not of this method.
    case method
    /// The body can't be sent again.
    case body
    /// The retriers said no for reasons of their own.
    case policy
  }

  public let reason: Reason

  public init(reason: Reason) {
    self.reason = reason
  }
}

/// What became of a connection in a session's pool.
public struct ConnectionEvent: Sendable, Hashable {
  public enum Kind: String, Sendable, CaseIterable {
    case opened, reused, idle, closed
  }

  public let kind: Kind
  /// What the connection was opened for; a connection through a proxy counts for the destination behind it.
  public let destination: Destination

  public init(kind: Kind, destination: Destination) {
    self.kind = kind
    self.destination = destination
  }
}
