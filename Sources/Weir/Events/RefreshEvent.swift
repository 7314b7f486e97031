/// An event of a credential that an ``AuthenticationInterceptor`` refreshes.
public struct RefreshEvent: Sendable, Hashable {
  /// The kinds of events.
  @nonexhaustive
  public enum Kind: Sendable, Hashable {
    /// The authenticator was asked for a new credential.
    case began
    /// The number of the session's requests that wait for a new credential has changed; negative if it fell.
    case waiting(change: Int)
    /// The refresh has ended after so many seconds, or was refused before it began.
    case ended(after: TimeInterval, Outcome)
  }

  /// The result of a refresh.
  @nonexhaustive
  public enum Outcome: String, Sendable, CaseIterable {
    /// The authenticator gave a new credential.
    case success
    /// The authenticator gave an error.
    case failure
    /// The refresh was refused: there were too many (``AuthenticationError/excessiveRefresh``).
    case excessive
  }

  /// The interceptor's name, else the name of its type.
  public let interceptor: String
  /// The kind of event.
  public let kind: Kind
  /// Requests of all sessions that wait for the credential now.
  public let waiters: Int

  /// Creates an event.
  public init(interceptor: String, kind: Kind, waiters: Int) {
    self.interceptor = interceptor
    self.kind = kind
    self.waiters = waiters
  }
}
