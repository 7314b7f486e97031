/// A token service's answer (RFC 6749 section 5): the token, or why there is none.
struct OAuth2Answer {
  /// The most bytes of an answer.
  static let mostBytes: Int64 = 64 << 10
  private static let mostTokenOctets = 16 << 10
  /// Ten years.
  private static let longestLifetime = 315_360_000.0

  let accessToken: String
  /// Seconds; nil if the answer does not say.
  let lifetime: Double?
  /// The granted scopes; nil if the answer does not say, as where they are those that were asked for.
  let scope: String?

  /// - Parameters:
  ///   - retryAfter: The values of `Retry-After`.
  ///   - redaction: Takes out of the error's text what was sent.
  ///   - now: The date in seconds since 1970.
  init(
    status: Int, retryAfter: [String] = [], body: Data, redaction: SecretRedaction, now: Double
  ) throws(OAuth2Error) {
    let members = try? JSONDecoder().decode(Members.self, from: body)
    var redaction = redaction
    // Other members may repeat the token.
    if let token = members?.accessToken?.text { redaction.add(Array(token.utf8)) }
    func failure(_ text: String, _ reason: AdaptationFailure = .response) -> OAuth2Error {
      OAuth2Error(
        reason: reason, text: "The token service \(text)\(text.hasSuffix(".") ? "" : ".")",
        retryAfter: RetryAfter.longestDelay(retryAfter, now: now))
    }
    let error = members?.error?.text
    guard status == 200, error == nil else {
      throw failure(Self.refusal(status: status, members, redaction), Self.reason(error) ?? .response)
    }
    guard let members else { throw failure("answered with something else than a JSON object") }
    scope = members.scope?.text.flatMap { $0.isEmpty ? nil : redaction.printable($0) }
    (accessToken, lifetime) = try Self.token(members, redaction, failure)
  }

  private static func token(
    _ members: Members, _ redaction: SecretRedaction, _ failure: (String, AdaptationFailure) -> OAuth2Error
  ) throws(OAuth2Error) -> (String, Double?) {
    func wrong(_ text: String) -> OAuth2Error { failure(text, .response) }
    guard let token = members.accessToken else { throw wrong("gave no access_token") }
    guard let token = token.text, !token.isEmpty else { throw wrong("gave an access_token that is no text, or empty") }
    guard token.utf8.count <= mostTokenOctets else { throw wrong("gave an access_token of more than 16 KiB") }
    guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw wrong("gave an access_token with characters that are not visible ASCII")
    }
    if let type = members.tokenType, type.text?.lowercased() != "bearer" {
      throw wrong("gave a token of type \(type.text.map { redaction.printable($0) } ?? "(no text)"), not Bearer")
    }
    guard let stated = members.expiresIn else { return (token, nil) }
    guard let seconds = stated.seconds else { throw wrong("gave an expires_in that is no number") }
    guard (1...longestLifetime).contains(seconds) else {
      throw wrong("gave a token for \(seconds) s (expires_in), which is not between 1 s and 10 years")
    }
    return (token, seconds)
  }

  /// The word of RFC 6749 section 5.2; nil if it is none of them.
  private static func reason(_ error: String?) -> AdaptationFailure? {
    error.flatMap(AdaptationFailure.init(rawValue:)).flatMap {
      AdaptationFailure.ofTokenService.contains($0) ? $0 : nil
    }
  }

  private static func refusal(status: Int, _ members: Members?, _ redaction: SecretRedaction) -> String {
    let said = [members?.error, members?.description].compactMap { $0?.text }.filter { !$0.isEmpty }
      .map { redaction.printable($0) }
    let answer = (300..<400).contains(status) ? "\(status), a redirect, which is not followed" : "\(status)"
    return "answered \(answer)\(said.isEmpty ? "" : ": ")\(said.joined(separator: ": "))"
  }

  private struct Members: Decodable {
    var accessToken, tokenType, expiresIn, scope, error, description: Value?

    private enum CodingKeys: String, CodingKey {
      case accessToken = "access_token", tokenType = "token_type", expiresIn = "expires_in", scope, error
      case description = "error_description"
    }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      // Another member that is null would count as absent.
      func value(_ key: CodingKeys) -> Value? {
        members.contains(key) ? (try? members.decode(Value.self, forKey: key)) ?? .other : nil
      }
      accessToken = value(.accessToken)
      tokenType = value(.tokenType)
      expiresIn = value(.expiresIn)
      scope = value(.scope)
      error = value(.error)
      description = value(.description)
    }
  }

  /// A text, a number or anything else.
  private enum Value: Decodable {
    case text(String)
    case number(Double)
    case other

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      if let text = try? value.decode(String.self) {
        self = .text(text)
      } else {
        self = (try? value.decode(Double.self)).map(Value.number) ?? .other
      }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }

    /// A number, or a text of one in decimal.
    var seconds: Double? {
      switch self {
      case .number(let number): number
      case .text(let text) where text.utf8.allSatisfy({ "+-.0123456789eE".utf8.contains($0) }): Double(text)
      case .text, .other: nil
      }
    }
  }
}
