import Weir
import WeirExporter
import WeirHTTP
import WeirIO

/// The demo's token service (RFC 6749), and the page that wants one of its tokens. A value.
struct DemoTokens {
  private struct Issued {
    let token: String
    let number: Int
    let time: MonotonicTime
  }

  /// The identifier of the one client.
  static let client = "demo"
  /// Seconds for which a token is good.
  static let lifetime = 20

  /// The client's secret.
  let secret = Self.draw()
  /// The tokens that were good when the last one was issued, and that one.
  private var issued: [Issued] = []
  private var count = 0

  /// The answer of `/token` and `/account`; nil for other paths.
  mutating func answer(to request: DemoRequest, at now: MonotonicTime) -> DemoResponse? {
    switch request.path.split(separator: "/") {
    case ["token"]: issue(to: request, at: now)
    case ["account"]: account(for: request, at: now)
    default: nil
    }
  }

  /// The settings by which the gateway asks for tokens.
  func settings(at tokenURL: URL) -> OAuth2Settings {
    OAuth2Settings(tokenURL: tokenURL, clientID: Self.client, authentication: .basic(Secret(secret)))
  }

  /// The grant `client_credentials` (RFC 6749 section 4.4), and the errors of section 5.2.
  private mutating func issue(to request: DemoRequest, at now: MonotonicTime) -> DemoResponse {
    guard request.method == "POST", let form = request.form else {
      return Self.refusal("invalid_request", "POST a form")
    }
    guard request.credentials == .basic(name: Array(Self.client.utf8), password: Array(secret.utf8)) else {
      let challenge = HeaderRule(name: "WWW-Authenticate", value: "Basic realm=\"demo\"")
      return Self.refusal("invalid_client", "only the gateway knows the secret", status: 401, challenge)
    }
    let grants = form.filter { $0.name == "grant_type" }.map(\.value)
    guard grants.count == 1 else { return Self.refusal("invalid_request", "give one grant_type") }
    guard grants == ["client_credentials"] else {
      return Self.refusal("unsupported_grant_type", "there is client_credentials")
    }
    issued.removeAll { !Self.isGood($0, at: now) }
    count += 1
    let token = Self.draw()
    issued.append(Issued(token: token, number: count, time: now))
    return Self.uncached(
      200, "{\"access_token\": \"\(token)\", \"token_type\": \"Bearer\", \"expires_in\": \(Self.lifetime)}\n")
  }

  /// Tells of the request's token, but not the token itself.
  private func account(for request: DemoRequest, at now: MonotonicTime) -> DemoResponse {
    guard case .bearer(let token)? = request.credentials else { return Self.challenge("") }
    guard let found = issued.first(where: { $0.token.utf8.elementsEqual(token) && Self.isGood($0, at: now) }) else {
      return Self.challenge(", error=\"invalid_token\"")
    }
    let age = Int(now.seconds(since: found.time))
    return Self.uncached(
      200, "{\"token_number\": \(found.number), \"token_age\": \(age), \"expires_in\": \(Self.lifetime - age)}\n")
  }

  private static func isGood(_ issued: Issued, at now: MonotonicTime) -> Bool {
    now.seconds(since: issued.time) < Double(lifetime)
  }

  /// 32 hexadecimal digits.
  private static func draw() -> String {
    (0..<2).map { _ in
      let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  // MARK: Answers

  private static func refusal(
    _ error: String, _ description: String, status: Int = 400, _ more: HeaderRule...
  ) -> DemoResponse {
    uncached(status, "{\"error\": \"\(error)\", \"error_description\": \"\(description)\"}\n", more)
  }

  /// RFC 6750 section 3.
  private static func challenge(_ error: String) -> DemoResponse {
    uncached(
      401, "{\"error\": \"this page wants a token; the gateway has one\"}\n",
      [HeaderRule(name: "WWW-Authenticate", value: "Bearer realm=\"demo\"\(error)")])
  }

  private static func uncached(_ status: Int, _ json: String, _ more: [HeaderRule] = []) -> DemoResponse {
    var response = DemoResponse(status: status, type: "application/json", body: Array(json.utf8))
    response.fields += [HeaderRule(name: "Cache-Control", value: "no-store")] + more
    return response
  }
}

extension DemoRequest {
  /// The credentials of the one Authorization field.
  fileprivate var credentials: Credentials? {
    let values = values(of: "Authorization")
    return values.count == 1 ? Credentials(authorization: values[0]) : nil
  }

  /// The body as a form (application/x-www-form-urlencoded); nil for another type.
  fileprivate var form: [(name: String, value: String)]? {
    let type = values(of: "Content-Type").first?.prefix { $0 != ";" && $0 != " " }
    guard type?.lowercased() == "application/x-www-form-urlencoded" else { return nil }
    return String(decoding: body, as: UTF8.self).split(separator: "&").map { item in
      let parts = item.replacing("+", with: " ").split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let texts = parts.map { $0.removingPercentEncoding ?? String($0) }
      return (texts[0], texts.count > 1 ? texts[1] : "")
    }
  }

  private func values(of name: String) -> [String] {
    fields.filter { FieldSyntax.isSameName($0.name, name) }.map(\.value)
  }
}
