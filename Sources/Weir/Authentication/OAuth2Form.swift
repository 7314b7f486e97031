import WeirHTTP

/// The content of a request for a token: the form, and the field by which the client authenticates itself. Made anew for each
/// request, since the secrets' files may have changed.
struct OAuth2Form {
  private(set) var fields: [(name: String, value: [UInt8])] = []
  /// The value of `Authorization`; nil: there is none.
  private(set) var authorization: String?
  /// The secrets that are sent.
  private(set) var redaction = SecretRedaction()

  init(_ settings: OAuth2Settings) {
    switch settings.grant {
    case .clientCredentials: add("grant_type", "client_credentials")
    case .jwtBearer(let assertion):
      add("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
      add("assertion", assertion)
    case .tokenExchange(let token, let type):
      add("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
      add("subject_token", token)
      add("subject_token_type", type)
    }
    if !settings.scopes.isEmpty { add("scope", settings.scopes.joined(separator: " ")) }
    if let audience = settings.audience { add("audience", audience) }
    if let resource = settings.resource { add("resource", resource) }
    authenticate(settings.clientID, settings.authentication)
    for (name, value) in settings.parameters.sorted(by: { $0.key < $1.key })
    where !OAuth2Settings.ownFields.contains(name) {
      add(name, value)
    }
  }

  private mutating func authenticate(_ client: String?, _ authentication: OAuth2Settings.ClientAuthentication) {
    if case .basic(let secret) = authentication {
      let (user, password) = (Array((client ?? "").utf8), secret.octets)
      redaction.add(user: user, password: password)
      // Both are encoded first (RFC 6749 section 2.3.1), as a colon in the identifier would end it.
      let (sentUser, sentPassword) = (Self.encoded(user), Self.encoded(password))
      redaction.add(user: Array(sentUser.utf8), password: Array(sentPassword.utf8))
      authorization = "Basic \(Data("\(sentUser):\(sentPassword)".utf8).base64EncodedString())"
      return
    }
    if let client { add("client_id", client) }
    switch authentication {
    case .none, .basic: break
    case .post(let secret): add("client_secret", secret)
    case .assertion(let assertion):
      add("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
      add("client_assertion", assertion)
    }
  }

  private mutating func add(_ name: String, _ value: String) { fields.append((name, Array(value.utf8))) }

  private mutating func add(_ name: String, _ secret: Secret) {
    let value = secret.octets
    redaction.add(value)
    fields.append((name, value))
  }

  /// The body, as `application/x-www-form-urlencoded`.
  var body: Data {
    Data(fields.map { "\(Self.encoded(Array($0.name.utf8)))=\(Self.encoded($0.value))" }.joined(separator: "&").utf8)
  }

  /// A blank becomes `%20`, which services understand that decode forms, and those that decode URLs.
  private static func encoded(_ octets: [UInt8]) -> String {
    octets.reduce(into: "") { text, octet in
      if octet.isLetterOrDigit || "-._".utf8.contains(octet) {
        text.unicodeScalars.append(Unicode.Scalar(octet))
      } else {
        text += (octet < 16 ? "%0" : "%") + String(octet, radix: 16, uppercase: true)
      }
    }
  }
}
