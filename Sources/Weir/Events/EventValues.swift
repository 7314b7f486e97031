public import Foundation

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

/// What happens to a credential that an ``AuthenticationInterceptor`` refreshes.
public struct RefreshEvent: Sendable, Hashable {
  /// What can happen.
  @nonexhaustive
  public enum Kind: Sendable, Hashable {
    /// The authenticator is asked for a new credential.
    case began
    /// Requests of the session have begun to wait for a new credential, or, negative, wait no more.
    case waiting(change: Int)
    /// The authenticator has answered, after so many seconds; or was not asked.
    case ended(after: TimeInterval, Outcome)
  }

  /// How a refresh ended.
  @nonexhaustive
  public enum Outcome: String, Sendable, CaseIterable {
    /// With a new credential.
    case success
    /// With an error.
    case failure
    /// Before it began: there were too many (``AuthenticationError/excessiveRefresh``).
    case excessive
  }

  /// The interceptor's name, else its type's.
  public let interceptor: String
  /// What happened.
  public let kind: Kind
  /// Requests that wait for the credential now, of all sessions.
  public let waiters: Int

  /// Takes all three.
  public init(interceptor: String, kind: Kind, waiters: Int) {
    self.interceptor = interceptor
    self.kind = kind
    self.waiters = waiters
  }
}

/// What became of a connection in a session's pool.
public struct ConnectionEvent: Sendable, Hashable {
  /// What can become of a connection.
  public enum Kind: String, Sendable, CaseIterable {
    /// A connection was made: TCP, and TLS where there is any.
    case opened
    /// An attempt was made on connections that were there already.
    case reused
    /// An attempt has left its connection open for the next.
    case idle
    /// The connection is gone.
    case closed
  }

  /// What became of this one.
  public let kind: Kind
  /// What the connection was opened for; a connection through a proxy counts for the destination behind it.
  public let destination: Destination

  /// Takes what became of the connection, and where it leads.
  public init(kind: Kind, destination: Destination) {
    self.kind = kind
    self.destination = destination
  }
}
