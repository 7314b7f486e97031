import Foundation
import Glibc
import Testing
import WeirTestSupport

@testable import WeirGateway

/// Credentials of the program: at a takeover, and in `weir check`.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct CredentialProgramTests {
  private static func entry(_ name: String, _ port: Int) -> String {
    """
      - name: \(name)
        oauth2: {tokenURL: "http://127.0.0.1:\(port)/token", clientID: shop, clientSecret: s3cret, timeout: 30s}

    """
  }

  /// The new process has its token when it takes over.
  @Test func aTakeoverFetchesItsToken() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let port = LoopbackPort.free()
    let directory = try TemporaryDirectory()
    let file = try directory.file(
      "weir.yml",
      """
      listeners: [{name: a, address: "127.0.0.1:\(port)"}]
      credentials:
      \(Self.entry("c", tokens.port))
      routes: [{name: r, upstream: "http://127.0.0.1:\(upstream.port)", credential: c}]

      """)
    func ask() throws -> Int? {
      let client = try RawClient(port: UInt16(port))
      client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
      return client.response()?.status
    }
    let weir = try WeirProcess("serve", "--config.file=\(file)", "--web.listen-address=127.0.0.1:0")
    #expect(eventually { weir.port(of: "forwarding") != nil }, "\(weir.text)")
    #expect(try ask() == 200)
    #expect(tokens.count == 1)
    let gate = Gate()
    tokens.gate = gate
    weir.send(SIGUSR2)
    #expect(eventually { tokens.asked == 2 }, "\(weir.text)")
    #expect(weir.count(of: "this process has taken over") == 0)
    gate.open()
    #expect(eventually { weir.count(of: "this process has taken over") == 1 }, "\(weir.text)")
    #expect(tokens.count == 2)
    #expect(eventually { weir.exitStatus == 0 }, "\(weir.text)")
    #expect(try ask() == 200)
    #expect(upstream.authorizations == ["Bearer token1", "Bearer token2"])
    #expect(tokens.count == 2)
  }

  /// What `weir check --credentials` says and its exit status, with all numbers of seconds alike.
  private func check(_ entries: String...) throws -> (text: String, status: CInt?) {
    let directory = try TemporaryDirectory()
    let file = try directory.file(
      "weir.yml",
      """
      credentials:
      \(entries.joined())
      routes: [{name: r, upstream: "http://127.0.0.1:1", credential: good}]

      """)
    let weir = try WeirProcess("check", "--credentials", file)
    #expect(eventually { weir.exitStatus != nil }, "\(weir.text)")
    let text = weir.text
    #expect(!text.contains("s3cret") && !text.contains("token1"), "\(text)")
    return (text.replacing(/\d+ s\b/, with: "N s").replacing("\(file): ", with: ""), weir.exitStatus)
  }

  @Test func aCheckFetchesEach() throws {
    let tokens = try TokenService(), strict = try TokenService()
    strict.answer = TokenService.refusal
    let good = Self.entry("good", tokens.port)
    let line = "credential good: a token came, which expires in N s\n"
    let (text, status) = try check(good)
    #expect(text == "1 route, no problems\n\(line)")
    #expect(status == 0)
    #expect(tokens.count == 1)

    let (problems, failure) = try check(
      Self.entry("wrong", strict.port), good, Self.entry("down", LoopbackPort.free()))
    #expect(failure == 1)
    #expect(problems.contains(line), "\(problems)")
    #expect(
      problems.contains(
        "credential wrong: no token came (invalid_client): The token service answered 401: invalid_client.\n"),
      "\(problems)")
    #expect(
      problems.contains("credential down: no token came (transport_error): The token service gave no answer. "),
      "\(problems)")
    #expect(problems.contains("Connection refused (nothing listens there)"), "\(problems)")
    #expect((tokens.count, strict.count) == (2, 1))
  }
}
