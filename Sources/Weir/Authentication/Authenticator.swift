/// A proof of a request's origin, such as an access token with its refresh token.
public protocol AuthenticationCredential {
  /// Whether the credential is no longer of use, or soon won't be: requests then wait for a new one before they are
  /// sent. Read for each attempt, so it must be cheap, such as a comparison with the time.
  var requiresRefresh: Bool { get }
}

/// A credential that knows when the next one should be fetched. An ``AuthenticationInterceptor`` then refreshes it while
/// it is still good, and no request waits for that.
///
/// After a failed refresh no other one begins for a second, and for twice the time after each further failure, up to a
/// minute. Meanwhile requests go on with the credential as long as it is good, and fail with the refresh's error after
/// that. The interceptor's `RefreshWindow` counts only refreshes that a refusal has begun.
public protocol AgeingCredential: AuthenticationCredential {
  /// Whether the next use should begin a refresh, though the credential may still be good. Read for each attempt.
  var isAgeing: Bool { get }
}

/// Applies one kind of credential to requests, and gets a new credential when one is needed.
///
/// Used by an ``AuthenticationInterceptor``, which calls it from several threads and holds no lock during a call.
@preconcurrency
public protocol Authenticator: AnyObject, Sendable {
  /// The credential that the authenticator applies and refreshes.
  associatedtype Credential: AuthenticationCredential & Sendable

  /// Puts the credential into a URL request, usually as its `Authorization` field. Whatever fields it sets are taken off
  /// when a redirect leaves the request's origin, and their values are left out of
  /// ``Request/cURLDescription(redactingSecrets:)``.
  func apply(_ credential: Credential, to urlRequest: inout URLRequest)

  /// The fields that ``Authenticator/apply(_:to:)`` sets, if it sets the same ones in every request and does nothing
  /// else. They are set without a `URLRequest`, which costs a fraction of the time. While the credential is good,
  /// ``Authenticator/isRefreshRequest(_:)`` is not asked. Default: nil, ``Authenticator/apply(_:to:)`` is called.
  func headers(with credential: Credential) -> HTTPHeaders?

  /// Gets a new credential in place of `credential`, and calls `completion` once with it or with an error: at once or
  /// later, on any thread. There is one call at a time; a second answer is ignored.
  ///
  /// Called on a queue of the interceptor's own, so it may block. Requests that this method makes, with any session,
  /// are not held up by the interceptor and do not get its credential. Until it answers, other requests wait, each
  /// until its deadline; so set a deadline for the work that is done here.
  @preconcurrency
  func refresh(
    _ credential: Credential, for session: Session,
    completion: @escaping @Sendable (Result<Credential, any Error>) -> Void)

  /// Whether a request failed because its credential was refused; usually, the status is 401.
  ///
  /// `urlRequest`: The request that got this response, which is that of the last redirect if there were any.
  func didRequest(
    _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
  ) -> Bool

  /// Whether a URL request carries this credential. If it carries another one, the credential has changed since the
  /// request was sent, and it is tried again at once. If it carries none, the refusal is not the credential's: a redirect
  /// to another origin took it away, or ``apply(_:to:)``, which is asked, has left the request alone.
  func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Credential) -> Bool

  /// Whether a URL request serves to refresh a credential; the interceptor then leaves it alone. Needed only for
  /// requests of a refresh that are made neither while ``refresh(_:for:completion:)`` runs nor in a Swift task that it
  /// started. Default: false.
  func isRefreshRequest(_ urlRequest: URLRequest) -> Bool

  /// Whether a credential that could not be refreshed is no longer of use. If so, requests fail with
  /// ``AuthenticationError/missingCredential`` until one is set. Default: false; a later request tries a refresh again.
  func shouldDiscard(_ credential: Credential, afterRefreshFailure error: any Error) -> Bool
}

extension Authenticator {
  public func headers(with credential: Credential) -> HTTPHeaders? { nil }

  public func isRefreshRequest(_ urlRequest: URLRequest) -> Bool { false }

  public func shouldDiscard(_ credential: Credential, afterRefreshFailure error: any Error) -> Bool { false }
}

/// An ``Authenticator`` that awaits its new credential.
@preconcurrency
public protocol AsyncAuthenticator: Authenticator {
  /// Returns a new credential in place of `credential`, or throws an error if there is none. There is one call at a
  /// time, in a task of its own.
  func refresh(_ credential: Credential, for session: Session) async throws -> Credential
}

extension AsyncAuthenticator {
  @preconcurrency
  public func refresh(
    _ credential: Credential, for session: Session,
    completion: @escaping @Sendable (Result<Credential, any Error>) -> Void
  ) {
    // The task inherits the scope of this refresh, which marks its requests.
    Task {
      do {
        completion(.success(try await refresh(credential, for: session)))
      } catch {
        completion(.failure(error))
      }
    }
  }
}

/// The error of an ``AuthenticationInterceptor`` that lets a request fail without a call of its authenticator.
@nonexhaustive
public enum AuthenticationError: Error, Hashable, LocalizedError {
  /// There is no credential: none was set, or the last one was discarded.
  case missingCredential
  /// As many refreshes as the interceptor's `RefreshWindow` allows have already begun.
  case excessiveRefresh
  /// The new ``AgeingCredential`` of a refresh requires a refresh itself.
  case expiredCredential

  public var errorDescription: String? {
    switch self {
    case .missingCredential: "There is no credential to authenticate with: set the interceptor's credential."
    case .expiredCredential: "The credential that a refresh has brought is no longer of use."
    case .excessiveRefresh:
      "The credential was refreshed too often (refreshWindow): the new ones seem to be refused too."
    }
  }
}
