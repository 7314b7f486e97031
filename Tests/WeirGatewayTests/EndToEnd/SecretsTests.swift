import Foundation
import Glibc
import Testing
import WeirTestSupport

@testable import WeirGateway

/// Passwords, hashes and tokens are in nothing that the program writes or shows.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SecretsTests {
  private static let hash = CredentialTests.hash
  /// Tokens of the configuration, and passwords and tokens that clients try.
  private static let tokens = (0..<18).map { "t0kenOfTheFile\($0)x" }
  private static let passwords = (0..<10).map { "passw0rdTried\($0)x" }
  private static let tried = (0..<10).map { "t0kenTried\($0)x" }
  /// The right password is too short a word to look for; its credentials are not.
  private static let secrets =
    tokens + passwords + tried + [
      String(hash.dropFirst(7)), String(CredentialTests.basic("alice", "secret").dropFirst(6)),
    ]

  private static func found(in text: String) -> [String] { secrets.filter { text.contains($0) } }

  private static func page(_ path: String, at port: UInt16?) throws -> String {
    let client = try RawClient(port: port ?? 0)
    client.send("GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    return client.response().map { $0.head + $0.text } ?? ""
  }

  @Test(arguments: ["json", "combined"]) func aRunShowsNone(format: String) throws {
    #expect(Self.secrets.count == 40)
    let users = try TemporaryFile("bearer_tokens: [\(Self.tokens[9...].joined(separator: ", "))]\n")
    let modules = try TemporaryFile("modules: {http_2xx: {prober: http}}\n")
    let port = LoopbackPort.free()
    let file = try TemporaryFile(
      """
      listeners: [{name: a, address: "127.0.0.1:\(port)"}]
      accessLog: {to: stdout, format: \(format), fields: [user_agent]}
      routes:
        - name: r
          upstream: "http://127.0.0.1:1"
          auth:
            basicUsers: {alice: "\(Self.hash)"}
            bearerTokens: [\(Self.tokens[..<9].joined(separator: ", "))]
            file: "\(users.path)"
      """)
    let weir = try WeirProcess(
      "serve", "--config.file=\(file.path)", "--web.listen-address=127.0.0.1:0", "--log.level=debug",
      "--probe.config.file=\(modules.path)")
    #expect(eventually { weir.text.contains("msg=\"serving metrics\"") })
    var answers = ""
    let authorizations =
      [CredentialTests.basic("alice", "secret")] + Self.passwords.map { CredentialTests.basic("alice", $0) }
      + (Self.tokens + Self.tried).map { "Bearer \($0)" } + ["Basic \(Self.tried[0])", "Digest \(Self.tried[1])"]
    for authorization in authorizations {
      let client = try RawClient(port: UInt16(port))
      client.send("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAuthorization: \(authorization)\r\n\r\n")
      let response = try #require(client.response())
      answers += response.head + response.text
    }
    #expect(answers.contains(" 401 ") && answers.contains(" 502 "))
    for path in [
      "/metrics", "/status", "/status.json", "/", "/probe?target=http://127.0.0.1:\(port)/&module=http_2xx&debug=true",
    ] {
      let page = try Self.page(path, at: weir.metricsPort)
      #expect(page.hasPrefix("HTTP/1.1 200"), "\(path)")
      #expect(Self.found(in: page) == [], "\(path)")
    }
    weir.send(SIGHUP)
    #expect(eventually { weir.text.contains("msg=\"configuration reloaded\"") })
    weir.send(SIGTERM)
    #expect(eventually { weir.exitStatus != nil })
    #expect(weir.text.contains(format == "json" ? "\"user\":\"alice\"" : " - alice ["))
    #expect(Self.found(in: weir.text + answers) == [])
  }

  /// Broken configurations that hold secrets where they belong, or nearly.
  @Test(
    arguments: [
      "auth: %T", "auth: [%T]", "auth: {basicUsers: %T}", "auth: {basicUsers: [%T]}", "auth: {basicUsers: {a: %T}}",
      "auth: {basicUsers: {a: [%T]}}", "auth: {basicUsers: {\"%H\": a}}", "auth: {basicUsers: {\"a:b\": \"%H\"}}",
      "auth: {basicUsers: {a: \"%Hx\"}}", "auth: {bearerTokens: %T}", "auth: {bearerTokens: {%T: a}}",
      "auth: {bearerTokens: [\"%T %T\"]}", "auth: {bearerTokens: [[%T]]}", "auth: {bearerTokens: [%T], realm: [%T]}",
      "auth: {bearerTokens: [%T], forward: %T}", "auth: {bearerTokens: [%T], x: %T}",
      "auth: {bearerTokens: [%T], x: [%T",
      "bearerTokens: [%T]", "basicUsers: {a: \"%H\"}", "auth: {bearerTokens: [*%T]}",
      "auth: {bearerTokens: [%T], file: %T}",
    ])
  func problemsShowNone(key: String) throws {
    let key = key.replacing("%T", with: Self.tokens[0]).replacing("%H", with: Self.hash)
    let text = "routes: [{name: r, upstream: \"http://h\", \(key)}]\n"
    let error = #expect(throws: ConfigurationError.self) { try Configuration(parsing: Array(text.utf8), file: "f") }
    #expect(Self.found(in: error?.description ?? "") == [], "\(error?.description ?? "")")
  }

  @Test(arguments: [
    "bearer_tokens: %T", "bearer_tokens: [[%T]]", "bearer_tokens: [\"%T %T\"]", "basic_auth_users: %T",
    "basic_auth_users: {a: %T}", "basic_auth_users: {\"%H\": a}", "basic_auth_users: {a: [\"%H\"]}", "- %T", "%T",
  ])
  func problemsOfFilesShowNone(content: String) throws {
    let file = try TemporaryFile(content.replacing("%T", with: Self.tokens[0]).replacing("%H", with: Self.hash))
    let text = "routes: [{name: r, upstream: \"http://h\", auth: {file: \"\(file.path)\"}}]\n"
    let error = #expect(throws: ConfigurationError.self) { try Configuration(parsing: Array(text.utf8), file: "f") }
    #expect(Self.found(in: error?.description ?? "") == [], "\(error?.description ?? "")")
  }

  @Test func descriptionsShowNone() throws {
    let text =
      "routes: [{name: r, upstream: \"http://h\", auth: {basicUsers: {alice: \"\(Self.hash)\"}, "
      + "bearerTokens: [\(Self.tokens.joined(separator: ", "))]}}]\n"
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    var dumped = ""
    dump(configuration, to: &dumped)
    #expect(Self.found(in: dumped + "\(configuration)" + String(reflecting: configuration)) == [])
  }
}
