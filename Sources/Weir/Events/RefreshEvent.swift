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
