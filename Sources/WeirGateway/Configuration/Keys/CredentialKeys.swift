import Weir
import WeirHTTP
import WeirIO

// The entries of `credentials`. No problem repeats a value of theirs, as one in a wrong place may be a secret.

/// An entry of `credentials` as it was read.
struct ReadCredential {
  var name = ""
  var kind: CredentialSettings.Kind?
  /// The value of `name`; nil if it could not be read.
  var nameReader: ConfigurationReader?
  /// That of `oauth2`.
  var oauth2Reader: ConfigurationReader?

  var settings: CredentialSettings? { kind.map { CredentialSettings(name: name, kind: $0) } }

  static let list = ConfigurationForm<[ReadCredential]>.list(
    of: form, 0...CredentialSettings.maximumCount, "credentials"
  ).secret

  private static let form: ConfigurationForm<ReadCredential> = mapping.form { read, given in
    read.nameReader = given.fitting("name")
    read.oauth2Reader = given["oauth2"]
    return read
  }

  static let mapping = ConfigurationMapping(
    ReadCredential(), misplaced: misplaced,
    rules: [.one(["oauth2", "field", "basic", "bearer"], "needs exactly one of oauth2, field, basic and bearer")]
  ) {
    Key(
      "name", .plainName, \.name,
      """
      1 to 64 letters, digits, hyphens, underscores and dots, unique; a label of metrics and log lines. Routes and \
      entries of `upstreams` name it as `credential`
      """, missing: .required("routes and upstreams name the credential by it, and it labels its metrics"))
    Key(
      "oauth2", ReadOAuth2.form, \.kind,
      "`Authorization: Bearer` and a token that a token service gives; it is fetched anew before it expires",
      missing: .words("one of the four"))
    Key(
      "field", field, \.kind, "a field of any name: `field: { name: X-API-Key, value: { file: /run/secrets/maps } }`",
      missing: .words("one of the four"))
    Key(
      "basic", basic, \.kind, "`Authorization: Basic` (RFC 7617) with a user and a password",
      missing: .words("one of the four"))
    Key(
      "bearer", bearer, \.kind,
      "`Authorization: Bearer` (RFC 6750) and this token: `bearer: { file: /var/run/secrets/tokens/api }`",
      missing: .words("one of the four"), isDetailed: false)
  }

  private static let misplaced: [String: String] = {
    var hints: [String: String] = [:]
    for key in ReadOAuth2.mapping.keys { hints[key.name] = "it belongs into oauth2" }
    for key in ["user", "password"] { hints[key] = "it belongs into basic" }
    hints["value"] = "it belongs into field"
    hints["file"] = "it belongs into a secret: bearer: { file: … }"
    return hints
  }()

  // MARK: Fields, users and tokens

  private static let bearer = ConfigurationForm<CredentialSettings.Kind>(ConfigurationForm<Secret>.secret.shape) {
    reader in
    let secret = ConfigurationForm<Secret>.secret.read(reader)
    if secret?.value.lowercased().hasPrefix("bearer ") == true {
      reader.report("begins with Bearer, which is written anyway; give the token alone")
    }
    return secret.map { .bearer($0) }
  }

  private static let field: ConfigurationForm<CredentialSettings.Kind> = ConfigurationMapping(ReadPair()) {
    Key(
      "name", .text(unless: problem(field:)).called("name"), \.name,
      "none of framing, routing, the connection or tracing, such as `Host`, `Content-Length` or `traceparent`",
      missing: .required("the name of the field, such as X-API-Key"))
    Key("value", .secret, \.secret, missing: .required("a text, or { file: /path }"), isDetailed: false)
  }.form { read, _ in read.secret.map { .field(name: read.name, $0) } }

  private static let basic: ConfigurationForm<CredentialSettings.Kind> = ConfigurationMapping(ReadPair()) {
    Key(
      "user", .text(unless: problem(user:)), \.name, "no colon, no control character",
      missing: .required("the user's name"))
    Key("password", .secret, \.secret, missing: .required("a text, or { file: /path }"), isDetailed: false)
  }.form { read, _ in read.secret.map { .basic(user: read.name, password: $0) } }

  @Sendable private static func problem(field name: String) -> String? {
    guard FieldSyntax.isToken(name) else { return "must be a field name, such as X-API-Key" }
    if ["host", "traceparent"].contains(FieldSyntax.lowercased(name)) {
      return "\(name) has a meaning of its own; give another field"
    }
    return HeaderRules.problem(setting: name)
  }

  @Sendable private static func problem(user: String) -> String? {
    if user.contains(":") { return "must hold no colon, which ends a user's name (RFC 7617 section 2)" }
    return user.utf8.allSatisfy(\.isFieldContent) ? nil : "must hold no control character"
  }
}

/// A name and a secret.
private struct ReadPair {
  var name = ""
  var secret: Secret?
}

// MARK: OAuth 2.0

/// The value of `oauth2` as it was read.
private struct ReadOAuth2 {
  enum Grant: String, CaseIterable {
    case clientCredentials, jwtBearer, tokenExchange
  }

  enum Authentication: String, CaseIterable {
    case basic, post, assertion, none
  }

  var settings = OAuth2Settings(tokenURL: URL(filePath: "/"))
  var grant = Grant.clientCredentials
  var authentication: Authentication?
  var clientSecret: Secret?
  var assertion: Secret?
  var subjectToken: Secret?
  var clientAssertion: Secret?
  var subjectTokenType = "urn:ietf:params:oauth:token-type:jwt"
  var tls: UpstreamTLS?
  var proxy = ProxySettings.off
  var wait = CredentialSettings.defaultWait

  static let form: ConfigurationForm<CredentialSettings.Kind> = mapping.form { read, given in read.kind(given) }

  static let mapping = ConfigurationMapping(
    ReadOAuth2(),
    rules: [
      .belong(
        to: "grant", being: "jwtBearer", ["assertion"], "is for grant: jwtBearer; write that, or leave it out",
        required: "assertion", "grant: jwtBearer sends it; a text, or { file: /path }"),
      .belong(
        to: "grant", being: "tokenExchange", ["subjectToken", "subjectTokenType"],
        "is for grant: tokenExchange; write that, or leave it out",
        required: "subjectToken", "grant: tokenExchange sends it; a text, or { file: /path }"),
      .belong(
        to: "authentication", being: "assertion", ["clientAssertion"],
        "is for authentication: assertion; write that, or leave it out",
        required: "clientAssertion", "authentication: assertion sends it; a text, or { file: /path }"),
    ]
  ) { client + request + times }

  @KeyList<ReadOAuth2> private static var client: [Key<ReadOAuth2>] {
    Key(
      "tokenURL", tokenURL, \.settings.tokenURL,
      "`https`, or `http` on a loopback address; no user name, no fragment",
      missing: .required("where tokens are asked for, such as https://id.example.com/oauth2/token"))
    Key(
      "grant", .word, \.grant,
      """
      `clientCredentials` (RFC 6749 section 4.4), `jwtBearer` (RFC 7523 section 2.1, needs `assertion`), \
      `tokenExchange` (RFC 8693, needs `subjectToken`)
      """)
    Key("clientID", line, \.settings.clientID, "sent as `authentication` says")
    Key(
      "clientSecret", .secret, \.clientSecret,
      "sent as `authentication` says. This and other secrets are a text, or `{ file, prefix, suffix }` as in `headers.set`",
      isDetailed: false)
    Key(
      "authentication", .word, \.authentication,
      """
      `basic`: id and secret in `Authorization` (RFC 6749 section 2.3.1); `post`: both in the form; `assertion`: \
      `clientAssertion` (RFC 7523 section 2.2); `none`: the id alone, as beside a client certificate (RFC 8705)
      """, missing: .words("`basic`; `none` without a secret"))
    Key("assertion", .secret, \.assertion, "read anew for each request for a token", isDetailed: false)
    Key("subjectToken", .secret, \.subjectToken, "read anew for each request for a token", isDetailed: false)
    Key("subjectTokenType", uri("such as urn:ietf:params:oauth:token-type:jwt"), \.subjectTokenType)
    Key(
      "clientAssertion", .secret, \.clientAssertion, "read anew for each request for a token", isDetailed: false)
  }

  @KeyList<ReadOAuth2> private static var request: [Key<ReadOAuth2>] {
    Key(
      "scopes", .list(of: scope, 1...100, "scopes", empty: "holds no scope; leave the key out for none"),
      \.settings.scopes, "`scopes: [payments.read, payments.write]`")
    Key("audience", line, \.settings.audience, "`audience` of the form")
    Key(
      "resource", uri("without a fragment, such as https://api.example.com", unless: "#"), \.settings.resource,
      "`resource` of the form (RFC 8707)")
    Key(
      "parameters", parameters, \.settings.parameters,
      "further fields of the form, none of those that weir sends: `parameters: { tenant: shop }`", isDetailed: false)
    Key("tls", UpstreamTLS.form, \.tls, "for `https`; with the keys of a route's `upstream.tls`", isDetailed: false)
    Key(
      "proxy", ProxySettings.form, \.proxy,
      "the proxy on the way to an `https` token service, whose own credential is `basic` or `bearer`",
      missing: .words(ProxySettings.missing), isDetailed: false)
  }

  @KeyList<ReadOAuth2> private static var times: [Key<ReadOAuth2>] {
    Key(
      "refreshBefore", .seconds(0.1...3600), \.settings.refreshBefore,
      "the time before the expiry from which on the next use fetches the next token; ±10 %, drawn per token",
      missing: .words("a tenth of the lifetime, at least `5s` but never more than a third of it, at most `5m`"))
    Key(
      "lifetime", .seconds(1...31_536_000), \.settings.lifetime, "used where the answer has no `expires_in`")
    Key("timeout", .seconds(0.1...60), \.settings.timeout, "of a refresh with its repeats")
    Key("wait", .seconds(0.01...60), \.wait, "how long a request waits for a token at most")
  }

  // MARK: Values

  private static let tokenURL = ConfigurationForm<URL>(.named("URL", .text("^[Hh][Tt][Tt][Pp][Ss]?://"))) { reader in
    reader.parse { text in
      if text.contains("#") { throw UpstreamProblem("must have no fragment (RFC 6749 section 3.2)") }
      guard text.utf8.allSatisfy(\.isVisible), let url = URL(string: text) else { throw UpstreamProblem("\"\"") }
      let place = try Upstream(parsing: String(text.prefix { $0 != "?" }))
      guard place.scheme == .https || CanonicalHost(place.host).isLoopback else {
        throw UpstreamProblem("http is for loopback addresses alone, as secrets would pass in clear text; write https")
      }
      return url
    } orReport: { error in
      // Some texts quote a part of the URL.
      "\(error)".contains("\"") ? "must be a URL, such as https://id.example.com/oauth2/token" : "\(error)"
    }
  }

  private static let line = ConfigurationForm.text {
    !$0.isEmpty && FieldSyntax.isValue($0.utf8)
      ? nil : "must be text without control characters and blanks at its ends"
  }

  private static let scope = ConfigurationForm.text("^[!#-\\[\\]-~]+$") { scope in
    !scope.isEmpty && scope.utf8.allSatisfy { $0.isVisible && !"\"\\".utf8.contains($0) }
      ? nil : "must be one scope, without blanks, quotes and backslashes (RFC 6749 section 3.3)"
  }

  private static func uri(_ hint: String, unless refused: Character? = nil) -> ConfigurationForm<String> {
    .text("^[A-Za-z][A-Za-z0-9+.-]*:") { text in
      let scheme = text.prefix { $0 != ":" }
      let isURI =
        scheme.utf8.count < text.utf8.count && scheme.first?.isLetter == true
        && scheme.utf8.allSatisfy { $0.isLetterOrDigit || "+.-".utf8.contains($0) } && text.utf8.allSatisfy(\.isVisible)
      return isURI && !text.contains { $0 == refused } ? nil : "must be a URI \(hint)"
    }.called("URI")
  }

  private static let parameters = ConfigurationForm<[String: Secret]>(
    .entries(of: ConfigurationForm<Secret>.secret.shape, 1...16)
  ) { reader in
    guard let entries = reader.entries(1...16, "parameters") else { return nil }
    var found: [String: Secret] = [:]
    for (name, value) in entries {
      if OAuth2Settings.ownFields.contains(name) {
        value.report("weir sends this field itself, as other keys of oauth2 say; leave it out")
      } else if !FieldSyntax.isValue(name.utf8) || name.isEmpty {
        value.report("must have a name without control characters and blanks at its ends")
      }
      found[name] = ConfigurationForm<Secret>.secret.read(value)
    }
    return found
  }

  // MARK: Keys together

  private mutating func kind(_ given: ConfigurationGiven) -> CredentialSettings.Kind? {
    if settings.isOnLoopback {
      given.fitting("tls")?.report(Self.needsHTTPS)
      if proxy != .off { given["proxy"]?.report(Self.needsHTTPS) }
    }
    guard let authentication = clientAuthentication(given), let grant = settingsGrant else { return nil }
    (settings.authentication, settings.grant) = (authentication, grant)
    return .oauth2(settings, tls: tls, proxy: proxy, wait: wait)
  }

  private static let needsHTTPS = "needs an https:// tokenURL"

  /// Nil if a part is missing, of which a problem tells.
  private func clientAuthentication(_ given: ConfigurationGiven) -> OAuth2Settings.ClientAuthentication? {
    let choice = authentication ?? (given.has("clientSecret") ? .basic : .none)
    switch choice {
    case .basic, .post:
      for key in ["clientID", "clientSecret"] where !given.has(key) {
        given.reader.report("is missing; authentication: \(choice.rawValue) sends id and secret", key: key)
      }
      return clientSecret.map { choice == .basic ? .basic($0) : .post($0) }
    case .assertion, .none:
      given["clientSecret"]?.report(
        "is of no use with authentication: \(choice.rawValue); write basic or post, or leave the secret out")
      let isNamed = given.has("clientID") || tls?.certificate != nil || choice == .assertion
      if grant == .clientCredentials, !isNamed { given.reader.warn("names no client; give clientID, and a secret") }
      return choice == .none ? OAuth2Settings.ClientAuthentication.none : clientAssertion.map { .assertion($0) }
    }
  }

  private var settingsGrant: OAuth2Settings.Grant? {
    switch grant {
    case .clientCredentials: .clientCredentials
    case .jwtBearer: assertion.map { .jwtBearer(assertion: $0) }
    case .tokenExchange: subjectToken.map { .tokenExchange(subjectToken: $0, subjectTokenType: subjectTokenType) }
    }
  }
}

extension OAuth2Settings {
  /// Whether the token service is on this machine, the only place to which secrets go in clear text.
  var isOnLoopback: Bool { tokenURL.scheme?.lowercased() == "http" }
}

extension UInt8 {
  /// Whether this is a visible octet of ASCII.
  fileprivate var isVisible: Bool { self > 0x20 && self < 0x7f }
}
