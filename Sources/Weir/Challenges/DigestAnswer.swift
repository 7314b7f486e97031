import WeirHTTP

/// The way to answer a Digest challenge (RFC 7616 section 3.4).
struct DigestAnswer {
  private let challenge: HTTPChallenge
  private let digest: ([UInt8]) -> [UInt8]
  /// Whether the algorithm is one of those that also hash both nonces with the password (`MD5-sess`).
  private let isSession: Bool
  /// The quality of protection; nil if the challenge offers none, as RFC 2069's did not.
  private let quality: String?

  /// Nil for a challenge that can't be answered rightly: one with another algorithm, one that wants a digest of the body
  /// (`auth-int`) of a request that has one, and one whose octets a field of text can't repeat.
  init?(_ challenge: HTTPChallenge, hasBody: Bool) {
    guard challenge["nonce"] != nil, challenge.isUTF8 else { return nil }
    switch FieldSyntax.lowercased(challenge["algorithm"] ?? "MD5") {
    case "md5": (digest, isSession) = (MD5.digest, false)
    case "md5-sess": (digest, isSession) = (MD5.digest, true)
    case "sha-256": (digest, isSession) = (SHA256.digest, false)
    case "sha-256-sess": (digest, isSession) = (SHA256.digest, true)
    default: return nil
    }
    if let offered = challenge["qop"] {
      let qualities = offered.withOctets { $0.listElements.map { FieldSyntax.lowercased($0) } }
      guard let best = ["auth", "auth-int"].first(where: qualities.contains), best == "auth" || !hasBody else {
        return nil
      }
      quality = best
    } else {
      quality = nil
    }
    self.challenge = challenge
  }

  /// The value of the field that answers the challenge.
  ///
  /// - Parameters:
  ///   - target: The request target, as it is sent.
  ///   - ownNonce: A nonce of the client's (`cnonce`), which must be unpredictable.
  func field(user: String, password: String, method: String, target: String, ownNonce: String) -> String {
    let (realm, nonce) = (challenge.realm ?? "", challenge["nonce"] ?? "")
    var secret = hash(user, realm, password)
    if isSession { secret = hash(secret, nonce, ownNonce) }
    // The body is empty where its digest is asked for.
    let request = quality == "auth-int" ? hash(method, target, hash("")) : hash(method, target)
    var parts = [
      "username=\(quoted(user))", "realm=\(quoted(realm))", "nonce=\(quoted(nonce))", "uri=\(quoted(target))",
    ]
    if let quality {
      let response = hash(secret, nonce, Self.count, ownNonce, quality, request)
      parts += ["cnonce=\(quoted(ownNonce))", "nc=\(Self.count)", "qop=\(quality)", "response=\(quoted(response))"]
    } else {
      if isSession { parts.append("cnonce=\(quoted(ownNonce))") }
      parts.append("response=\(quoted(hash(secret, nonce, request)))")
    }
    if let opaque = challenge["opaque"] { parts.append("opaque=\(quoted(opaque))") }
    if let algorithm = challenge["algorithm"] { parts.append("algorithm=\(algorithm)") }
    return "Digest " + parts.joined(separator: ", ")
  }

  /// How often the nonce has been used: each challenge is answered once.
  private static let count = "00000001"

  private func hash(_ parts: String...) -> String {
    digest(Array(parts.joined(separator: ":").utf8)).hexadecimal
  }

  /// A quoted string (RFC 9110 section 5.6.4).
  private func quoted(_ text: String) -> String {
    "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
  }
}
