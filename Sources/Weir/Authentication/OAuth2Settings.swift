import WeirIO

/// The token that is asked for, and the way of asking (RFC 6749).
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

  /// Where tokens are asked for: `https`, or `http` on a loopback address; without a user name and a fragment.
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
  /// Further fields of the form, by name. Those that weir sends itself stay as they are.
  public var parameters: [String: Secret] = [:]
  /// Seconds before the expiry from which on the next use fetches the next token. Nil: a tenth of the lifetime, at least
  /// 5 s but never more than a third of it, at most 5 minutes. Each token draws ± 10 % of it. More than half of the
  /// lifetime counts as half of it.
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

extension OAuth2Settings {
  /// The names of the fields of the form that weir sends itself.
  package static let ownFields: Set = [
    "grant_type", "scope", "audience", "resource", "assertion", "subject_token", "subject_token_type", "client_id",
    "client_secret", "client_assertion", "client_assertion_type",
  ]

  /// Why no token can be asked for, in words that follow "tokenURL"; nil if one can.
  package var tokenURLProblem: String? {
    guard let host = tokenURL.host(percentEncoded: false), !host.isEmpty else { return "has no host" }
    if tokenURL.user != nil { return "has a user name, which is not sent" }
    if tokenURL.fragment != nil { return "has a fragment, which is not sent" }
    switch tokenURL.scheme?.lowercased() {
    case "https": return nil
    case "http" where CanonicalHost(host).isLoopback: return nil
    default: return "is neither https nor http on a loopback address"
    }
  }
}
