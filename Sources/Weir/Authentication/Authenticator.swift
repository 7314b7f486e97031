/// What proves who a request is from, such as an access token with its refresh token.
public protocol AuthenticationCredential {
  /// Whether it is of no use any more, or will soon be: requests then wait for a new one before they are sent. Asked for
  /// each attempt, so it must be cheap, such as a comparison with the time.
  var requiresRefresh: Bool { get }
}

/// Knows a kind of credential: how it is applied to requests, and where a new one comes from.
///
/// Used by an ``AuthenticationInterceptor``, which calls it from several threads and holds no lock meanwhile.
@preconcurrency
public protocol Authenticator: AnyObject, Sendable {
  /// What it applies and refreshes.
  associatedtype Credential: AuthenticationCredential & Sendable

  /// Puts the credential into a URL request, mostly as its `Authorization` field.
  func apply(_ credential: Credential, to urlRequest: inout URLRequest)

  /// Gets a new credential in place of `credential`, and calls `completion` with it or with why there is none: once, at
  /// once or later, on any thread. There is one call at a time; a second answer is ignored.
  ///
  /// Called on a queue of the interceptor's own, so it may block. Requests that it makes, with whatever session, are not
  /// held up by that interceptor and do not get its credential. As long as it does not answer, requests wait, each until
  /// its deadline: give what it does a deadline of its own.
  @preconcurrency
  func refresh(
    _ credential: Credential, for session: Session,
    completion: @escaping @Sendable (Result<Credential, any Error>) -> Void)

  /// Whether a request failed because its credential was refused; mostly by the status 401.
  func didRequest(
    _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
  ) -> Bool

  /// Whether a URL request carries this credential. If not, the credential has changed since the request was sent, and
  /// it is tried again at once.
  func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Credential) -> Bool

  /// Whether a URL request serves to refresh a credential: it is left alone then. For requests of a refresh that are not
  /// made while ``refresh(_:for:completion:)`` runs, nor in a Swift task that it started. Default: false.
  func isRefreshRequest(_ urlRequest: URLRequest) -> Bool

  /// Whether a credential that could not be refreshed is of no use any more: then requests fail with
  /// ``AuthenticationError/missingCredential`` until one is set. Default: false; a later request tries a refresh again.
  func shouldDiscard(_ credential: Credential, afterRefreshFailure error: any Error) -> Bool
}

extension Authenticator {
  public func isRefreshRequest(_ urlRequest: URLRequest) -> Bool { false }

  public func shouldDiscard(_ credential: Credential, afterRefreshFailure error: any Error) -> Bool { false }
}

/// An ``Authenticator`` that awaits its new credential.
@preconcurrency
public protocol AsyncAuthenticator: Authenticator {
  /// Returns a new credential in place of `credential`, or throws why there is none. There is one call at a time, in a
  /// task of its own.
  func refresh(_ credential: Credential, for session: Session) async throws -> Credential
}

extension AsyncAuthenticator {
  @preconcurrency
  public func refresh(
    _ credential: Credential, for session: Session,
    completion: @escaping @Sendable (Result<Credential, any Error>) -> Void
  ) {
    // A task inherits by whose refresh its requests are made.
    Task {
      do {
        completion(.success(try await refresh(credential, for: session)))
      } catch {
        completion(.failure(error))
      }
    }
  }
}

/// Why an ``AuthenticationInterceptor`` lets a request fail without having asked its authenticator.
@nonexhaustive
public enum AuthenticationError: Error, Hashable, LocalizedError {
  /// There is no credential: none was set, or the last one was discarded.
  case missingCredential
  /// The interceptor's `RefreshWindow` has seen as many refreshes as it allows.
  case excessiveRefresh

  public var errorDescription: String? {
    switch self {
    case .missingCredential: "There is no credential to authenticate with: set the interceptor's credential."
    case .excessiveRefresh:
      "The credential was refreshed too often (refreshWindow): the new ones seem to be refused too."
    }
  }
}
