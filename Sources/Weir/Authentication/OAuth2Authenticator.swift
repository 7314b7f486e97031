package import WeirIO

/// What is asked of a token service, and how (RFC 6749).
public struct OAuth2Settings: Sendable, Hashable {
  /// The grant by which tokens are asked for.
  @nonexhaustive
  public enum Grant: Sendable, Hashable {
    /// The client's own right (RFC 6749 section 4.4).
    case clientCredentials
    /// An assertion that somebody has signed (RFC 7523 section 2.1).
    case jwtBearer(assertion: Secret)
    /// A token of another kind (RFC 8693). The type is a URI.
    case tokenExchange(subjectToken: Secret, subjectTokenType: String = "urn:ietf:params:oauth:token-type:jwt")
  }

  /// The proof of who asks.
  @nonexhaustive
  public enum ClientAuthentication: Sendable, Hashable {
    /// The identifier alone, as beside a client certificate (RFC 8705).
    case none
    /// Identifier and secret in `Authorization` (RFC 6749 section 2.3.1).
    case basic(Secret)
    /// Identifier and secret in the form.
    case post(Secret)
    /// An assertion that the client has signed (RFC 7523 section 2.2).
    case assertion(Secret)
  }

  /// Where tokens are asked for.
  public var tokenURL: URL
  /// The client's identifier at the token service; nil: none is sent.
  public var clientID: String?
  /// The proof of who asks.
  public var authentication: ClientAuthentication
  /// The grant by which tokens are asked for.
  public var grant: Grant
  /// The scopes that the token should have.
  public var scopes: [String]
  /// `audience` of the form; nil: none is sent.
  public var audience: String?
  /// `resource` of the form, a URI (RFC 8707); nil: none is sent.
  public var resource: String?
  /// Further fields of the form, by name.
  public var parameters: [String: Secret] = [:]
  /// Seconds before the expiry from which on the next use fetches the next token. Nil: a tenth of the lifetime, at least
  /// 5 s but never more than a third of it, at most 5 minutes. Each token draws ± 10 % of it.
  public var refreshBefore: TimeInterval?
  /// The lifetime in seconds of tokens that come without one.
  public var lifetime: TimeInterval = 300
  /// The time in seconds of a refresh with its repeats.
  public var timeout: TimeInterval = 5

  /// Takes what most token services need; the rest may be set afterwards.
  public init(
    tokenURL: URL, clientID: String? = nil, authentication: ClientAuthentication = .none,
    grant: Grant = .clientCredentials, scopes: [String] = [], audience: String? = nil, resource: String? = nil
  ) {
    self.tokenURL = tokenURL
    self.clientID = clientID
    self.authentication = authentication
    self.grant = grant
    self.scopes = scopes
    self.audience = audience
    self.resource = resource
  }
}

/// An access token, and for how long it is good. It prints nothing of the token.
public struct OAuth2Token: AgeingCredential, Sendable {
  /// In place of a first token: the first request fetches one.
  public static let none = OAuth2Token(
    accessToken: "", expires: MonotonicTime(nanoseconds: .min), refreshFrom: MonotonicTime(nanoseconds: .min))

  /// The token as it is sent.
  public let accessToken: String
  /// When it is of no use any more.
  package let expires: MonotonicTime
  /// From when on the next use fetches the next one.
  package let refreshFrom: MonotonicTime

  public var requiresRefresh: Bool { MonotonicTime.now >= expires }

  public var isAgeing: Bool { MonotonicTime.now >= refreshFrom }
}

/// Why there is no token.
public struct OAuth2Error: Error, Sendable, Hashable, LocalizedError {
  /// A word for the reason, from a closed list.
  public let reason: AdaptationFailure
  /// The reason in a sentence, without secrets.
  public let text: String
  /// Seconds that the token service asks to wait for; nil if it does not.
  public let retryAfter: TimeInterval?

  public var errorDescription: String? { text }

  package init(reason: AdaptationFailure, text: String, retryAfter: TimeInterval?) {
    self.reason = reason
    self.text = text
    self.retryAfter = retryAfter
  }
}

/// Gets access tokens from a token service (OAuth 2.0), for an ``AuthenticationInterceptor``.
public final class OAuth2Authenticator: AsyncAuthenticator {
  private let settings: OAuth2Settings

  public init(_ settings: OAuth2Settings) { self.settings = settings }

  /// The configuration of a session that does nothing but fetch tokens.
  package static func sessionConfiguration(tls: TLSConfiguration?) -> SessionConfiguration {
    var configuration = SessionConfiguration()
    if let tls { configuration.tls = tls }
    return configuration
  }

  public func apply(_ token: OAuth2Token, to urlRequest: inout URLRequest) {
    urlRequest.headers.add(.authorization(bearerToken: token.accessToken))
  }

  public func refresh(_ token: OAuth2Token, for session: Session) async throws -> OAuth2Token {
    throw OAuth2Error(reason: .error, text: "not yet", retryAfter: nil)
  }

  public func didRequest(
    _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
  ) -> Bool { response.statusCode == 401 }

  public func isRequest(_ urlRequest: URLRequest, authenticatedWith token: OAuth2Token) -> Bool {
    urlRequest.headers["Authorization"] == "Bearer \(token.accessToken)"
  }
}
