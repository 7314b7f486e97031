import Synchronization
import WeirIO

/// Gets access tokens from a token service (OAuth 2.0), for an ``AuthenticationInterceptor`` whose first credential is
/// ``OAuth2Token/absent``.
///
/// A token is asked for through the session of the request that needs it, by a `POST` that gets neither the session's
/// interceptor nor its cookies and follows no redirect. It is repeated at most twice within ``OAuth2Settings/timeout``:
/// after a failed transfer and the statuses 408, 429 and 5xx. Secrets are read anew for each. There is an
/// ``OAuth2Error`` for everything that brings no token.
public final class OAuth2Authenticator: AsyncAuthenticator {
  private static let repeats = RetryPolicy(
    retryableHTTPMethods: [.post], retryableHTTPStatusCodes: Set(500...599).union([408, 429]), jitter: .full)

  private let settings: OAuth2Settings

  /// Takes what is asked of the token service, and how.
  public init(_ settings: OAuth2Settings) { self.settings = settings }

  /// Sets `Authorization` (RFC 6750 section 2.1).
  public func apply(_ token: OAuth2Token, to urlRequest: inout URLRequest) {
    urlRequest.headers.update(Self.field(token))
  }

  public func headers(with token: OAuth2Token) -> HTTPHeaders? { HTTPHeaders([Self.field(token)]) }

  private static func field(_ token: OAuth2Token) -> HTTPHeader { .authorization(bearerToken: token.accessToken) }

  /// - Throws: ``OAuth2Error``.
  public func refresh(_ token: OAuth2Token, for session: Session) async throws -> OAuth2Token {
    if let problem = settings.tokenURLProblem {
      throw OAuth2Error(reason: .error, text: "The tokenURL \(problem).", retryAfter: nil)
    }
    let call = OAuth2Call(settings)
    let request = session.request(call, interceptor: Self.repeats).withoutSessionInterceptor()
      .redirect(using: .doNotFollow).maximumResponseSize(OAuth2Answer.mostBytes).deadline(settings.timeout)
      .validate(statusCode: [200]).resume()
    let response = await request.serializingData().response
    var (sent, redaction) = call.last
    redaction.add(Array(token.accessToken.utf8))
    guard let head = request.lazyResponse, response.error?.endsTransfer != true else {
      throw Self.failure(response.error ?? .sessionDeinitialized, redaction)
    }
    let answer = try OAuth2Answer(
      status: head.statusCode, retryAfter: head.values(ofHeader: "Retry-After"), body: response.data ?? Data(),
      redaction: redaction, now: Date().timeIntervalSince1970)
    let lifetime = answer.lifetime ?? settings.lifetime
    let new = OAuth2Token(
      answer.accessToken, lifetime: lifetime, scope: answer.scope, sent: sent, refreshBefore: settings.refreshBefore,
      random: .random(in: 0...1))
    guard !new.requiresRefresh else {
      throw OAuth2Error(
        reason: .response, text: "The token was good for \(lifetime) s, which were over before it came.",
        retryAfter: nil)
    }
    return new
  }

  public func didRequest(
    _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
  ) -> Bool { response.statusCode == 401 }

  public func isRequest(_ urlRequest: URLRequest, authenticatedWith token: OAuth2Token) -> Bool {
    urlRequest.headers["Authorization"] == "Bearer \(token.accessToken)"
  }

  private static func failure(_ error: WeirError, _ redaction: SecretRedaction) -> OAuth2Error {
    if (error.underlyingError as? URLError)?.code == .dataLengthExceedsMaximum {
      return OAuth2Error(reason: .response, text: "The token service's answer is larger than 64 KiB.", retryAfter: nil)
    }
    let text = redaction.text(error.localizedDescription)
    return OAuth2Error(
      reason: AdaptationFailure(error), text: "The token service gave no answer. \(text)", retryAfter: nil)
  }

  /// For a session that asks for tokens and does nothing else: without cookies, cache and stored credentials, by
  /// HTTP/1.1.
  package static func sessionConfiguration(tls: TLSConfiguration?) -> SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.headers = [.defaultUserAgent]
    configuration.maximumResponseSize = OAuth2Answer.mostBytes
    configuration.httpVersion = .http1_1
    // The authenticator's limit is enough: there is one request at a time.
    configuration.retryBudget = nil
    configuration.tls = tls ?? TLSConfiguration()
    return configuration
  }
}

/// Makes the URL request of each attempt anew.
private final class OAuth2Call: URLRequestConvertible {
  private let settings: OAuth2Settings
  private let made = Mutex((sent: MonotonicTime.now, redaction: SecretRedaction()))

  init(_ settings: OAuth2Settings) { self.settings = settings }

  /// When the last attempt was made, and what was sent by all of them.
  var last: (sent: MonotonicTime, redaction: SecretRedaction) { made.withLock { $0 } }

  func asURLRequest() throws -> URLRequest {
    let form = OAuth2Form(settings)
    made.withLock { made in
      made.sent = .now
      made.redaction.add(form.redaction)
    }
    var urlRequest = try URLRequest(
      url: settings.tokenURL, method: .post,
      headers: [.accept("application/json"), .contentType("application/x-www-form-urlencoded")])
    if let authorization = form.authorization { urlRequest.headers.update(.authorization(authorization)) }
    urlRequest.httpBody = form.body
    urlRequest.httpShouldHandleCookies = false
    urlRequest.cachePolicy = .reloadIgnoringLocalCacheData
    return urlRequest
  }
}

extension WeirError {
  /// Whether there is no whole response.
  fileprivate var endsTransfer: Bool { !isResponseValidationError && !isResponseSerializationError }
}
