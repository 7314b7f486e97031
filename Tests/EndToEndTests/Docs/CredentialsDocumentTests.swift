import Foundation
import Synchronization
import Testing
import WeirTestSupport

/// What docs/credentials.md shows works.
@Suite struct CredentialsDocumentTests {
  private static let file = "docs/credentials.md"

  /// The blocks in a language, in their order.
  private static func blocks(_ language: String) throws -> [Substring] {
    try PackageRoot.text(of: file).split(separator: "```\(language)\n").dropFirst().compactMap {
      $0.split(separator: "```").first
    }
  }

  /// The output that the page shows for a block of commands: the blocks without a language, in their order.
  private static func shown(_ index: Int) throws -> Substring {
    let outputs = try PackageRoot.text(of: file).matches(of: /\n\n```\n((?:(?!```).*\n)+)```\n/).map(\.output.1)
    return try #require(outputs.dropFirst(index).first)
  }

  /// The lines of an output, with all numbers alike.
  private static func lines(_ output: some StringProtocol) -> Set<String> {
    Set(output.split(separator: "\n").map { String($0).replacing(/\d+/, with: "0") })
  }

  // MARK: The demonstration

  /// Runs the commands of the first section, with the ports of a program.
  private static func ask(_ weir: WeirProgram) async throws -> String {
    let commands = try #require(try blocks("sh").first)
    #expect(commands.contains("127.0.0.1:8080") && commands.contains("127.0.0.1:9464"))
    let own = commands.replacing("127.0.0.1:8080", with: "127.0.0.1:\(weir.port)")
      .replacing("127.0.0.1:9464", with: "127.0.0.1:\(weir.metricsPort)")
    return try await Tool.shell.run(["-c", "set -euo pipefail\n\(own)"])
  }

  /// The number of the token that the page tells of.
  private static func number(in output: String) -> Int? {
    output.firstMatch(of: /\{"token_number": (\d+), "token_age": \d+, "expires_in": \d+\}/).flatMap { Int($0.output.1) }
  }

  @Test(.slow, .needs(.weir, .curl, .shell)) func theDemonstrationShowsARefresh() async throws {
    let weir = try await WeirProgram()
    let first = try await Self.ask(weir)
    let number = try #require(Self.number(in: first), "\(first)")
    #expect(try Self.lines(Self.shown(0)).isSubset(of: Self.lines(first)), "\(first)")
    // The token has to age: the page says how old it is.
    var later = first
    for _ in 0..<60 where Self.number(in: later) == number {
      try await letPass(1)
      later = try await Self.ask(weir)
    }
    #expect((Self.number(in: later) ?? 0) > number, "\(later)")
    let page = ExpositionText(try await CurlAnswer.get(weir.metricsURL("/metrics")).body)
    let refreshes = page.sum("weir_auth_refreshes_total", ["interceptor": "demo", "outcome": "success"])
    #expect(refreshes >= 2 && refreshes == page.sum("weir_auth_refreshes_total"))
    #expect(page.sum("weir_credential_state", ["credential": "demo", "state": "good"]) == 1)
    #expect(page.sum("weir_gateway_requests_failed_total", ["route": "account"]) == 0)
    let status = try await CurlAnswer.get(weir.metricsURL("/status.json")).body
    #expect(status.contains("\"credentials\""), "\(status)")
    // The page that shows the fields of requests gets no token, by whatever path.
    for path in ["/echo", "/account/../echo"] {
      let echo = try await CurlAnswer.get(weir.url(path), "--path-as-is").body
      #expect(echo.contains("\"headers\"") && !echo.lowercased().contains("authorization"), "\(echo)")
    }
  }

  // MARK: Configurations

  /// Lays out the files that a configuration names, and returns it with their paths.
  private static func lay(
    out configuration: some StringProtocol, in directory: TemporaryDirectory, _ pair: TestCertificates.Pair
  ) throws -> String {
    try String(configuration).replacing(/\/(?:run|var|etc)\/[a-z.\/]+/) { found in
      let name = String(found.output.replacing("/", with: "_"))
      let source = name.hasSuffix(".pem") ? pair.certificate : name.hasSuffix(".key") ? pair.key : nil
      let path = try directory.file(
        name, try source.map { try String(contentsOfFile: $0, encoding: .utf8) } ?? "s3cret\(name)\n")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      return path
    }
  }

  @Test(.needs(.weir, .openssl)) func theConfigurationsAreRight() async throws {
    let certificates = try await TestCertificates()
    let directory = try TemporaryDirectory()
    let configurations = try Self.blocks("yaml").filter { $0.contains("\nroutes:") }
    #expect(configurations.count == 2)
    for configuration in configurations {
      let text = try Self.lay(out: configuration, in: directory, certificates.client)
      let file = try directory.file("weir.yml", text)
      let output = try await Tool.weir.run(["check", file])
      #expect(output.contains("no problems") && !output.contains("s3cret"), "\(output)")
    }
  }

  /// The command fetches the token of the first configuration.
  @Test(.needs(.weir, .openssl)) func tokensAreTriedBeforehand() async throws {
    let service = TokenService()
    let server = try ScriptedServer(service.script)
    let directory = try TemporaryDirectory()
    let configuration = try #require(try Self.blocks("yaml").first)
    let text = try Self.lay(out: configuration, in: directory, try await TestCertificates().client)
    let place = "https://id.example.com/oauth2/token"
    #expect(text.contains(place))
    let file = try directory.file("weir.yml", text.replacing(place, with: "\(server.url)token"))
    let command = try #require(try Self.blocks("sh").first { $0.hasPrefix("weir check") })
    let words = command.split(whereSeparator: \.isWhitespace).map { $0 == "weir.yml" ? file : String($0) }
    let output = try await Tool.weir.run(Array(words.dropFirst()))
    #expect(service.state.withLock(\.issued) == 1)
    #expect(output.replacing(file, with: "weir.yml").hasPrefix(try Self.shown(1)), "\(output)")
    #expect(!output.contains("s3cret") && !output.contains("t0ken"), "\(output)")
  }

  // MARK: The library

  @Test(.slow) func theClientFollowsItsSecret() async throws {
    let service = TokenService()
    let server = try ScriptedServer(service.script)
    let directory = try TemporaryDirectory()
    let file = try directory.file("client", "s3cret\n")
    let client = try PaymentClient(
      base: "http://127.0.0.1:\(server.port)", tokenURL: try #require(URL(string: "\(server.url)token")),
      secretFile: file)
    let totals = try await withThrowingTaskGroup(of: Double.self) { group in
      for day in 0..<50 { group.addTask { try await client.total(of: "\(day)") } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(totals == Array(repeating: 12.5, count: 50))
    let first = service.state.withLock { $0 }
    #expect(first.issued == 1 && first.client == "shop:s3cret")
    let received = (0..<server.connectionCount).map { server.receivedText(on: $0) }.joined()
    #expect(received.contains("grant_type=client_credentials") && received.contains("scope=payments.read"))
    // From now on tokens are good for a second, and each is asked for with the secret that the file has then.
    service.state.withLock { ($0.lifetime, $0.isRevoked) = (1, true) }
    try directory.file("client", "n3w\n")
    try await eventually("the new secret is used") {
      _ = try await client.total(of: "1")
      return service.state.withLock { $0.client == "shop:n3w" }
    }
  }

  @Test func theDocumentShowsTheClient() throws {
    let example = try PackageRoot.example(Self.file, of: "Tests/EndToEndTests/Readme/PaymentClient.swift")
    #expect(!example.isEmpty)
    #expect(try Self.blocks("swift").map(String.init) == [String(example)])
  }
}

/// A token service, and an upstream that takes the last token alone.
private final class TokenService: Sendable {
  struct State {
    var issued = 0
    /// Seconds for which the next tokens are good.
    var lifetime = 3600
    var isRevoked = false
    /// Identifier and secret of the last request for a token.
    var client = ""
  }

  let state = Mutex(State())

  var script: Script { Script(.forever([.dispatchHead { [self] head in [.send(answer(to: head))] }])) }

  private func answer(to head: String) -> String {
    let authorization =
      head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("authorization: ") }?
      .split(separator: " ").last ?? ""
    return state.withLock { state in
      if head.hasPrefix("POST /token ") {
        state.client = Data(base64Encoded: String(authorization)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        state.issued += 1
        state.isRevoked = false
        return okResponse("{\"access_token\": \"t0ken\(state.issued)\", \"expires_in\": \(state.lifetime)}")
      }
      let isGood = !state.isRevoked && authorization == "t0ken\(state.issued)"
      return isGood ? okResponse("12.5") : "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
    }
  }
}
