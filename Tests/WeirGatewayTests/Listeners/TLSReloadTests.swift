import Foundation
import Testing
import WeirTestSupport

@testable import WeirGateway

/// Certificates of clients as upstreams see them, and reloads of listeners with TLS.
@Suite(
  .slow, .timeLimit(.minutes(5)),
  .disabled(if: !Tool.curl.isInstalled || !Tool.openssl.isInstalled, "curl and openssl are not installed"))
struct TLSReloadTests {
  private static let spellings = [
    "X-Client-Subject", "x-client-subject", "X-CLIENT-SUBJECT", "X_Client_Subject", "x_client-subject",
    "X-Client_Subject", "Client-Cert", "client-cert", "CLIENT-CERT", "Client_Cert", "client_CERT", "cLIENT-cERT",
  ]

  @Test func noClientCanClaimACertificate() async throws {
    let upstream = try ScriptedServer(Script(.forever([.dispatch { _ in [.send(okResponse("x"))] }])))
    let rig = try await TLSRig(routes: "  - {name: r, upstream: \"http://127.0.0.1:\(upstream.port)\"}")
    let seen = { (0..<upstream.connectionCount).map { upstream.receivedText(on: $0) }.joined() }
    let forged = Self.spellings.flatMap { ["-H", "\($0): forged"] }
    #expect(Self.spellings.count == 12)
    for listener in [TLSRig.Listener.plain, .names, .optional] {
      #expect(try await rig.curl(listener, forged).contains("200"))
      #expect(!seen().lowercased().contains("forged") && !seen().lowercased().contains("client-"), "\(seen())")
    }
    #expect(try await rig.curl(.mutual, forged + rig.client("client")).contains("200"))
    #expect(!seen().contains("forged"))
    let lines = seen().split(separator: "\r\n").map(String.init)
    #expect(lines.filter { $0.lowercased().hasPrefix("x-client-subject") } == ["X-Client-Subject: CN=weir test client"])
    let der = try await Tool.openssl.run([
      "x509", "-in", rig.certificates.client.certificate, "-outform", "DER", "-out", "\(rig.directory.path)/der",
    ])
    #expect(der == "")
    let encoded = try Data(contentsOf: URL(fileURLWithPath: "\(rig.directory.path)/der")).base64EncodedString()
    #expect(lines.filter { $0.lowercased().hasPrefix("client") } == ["Client-Cert: :\(encoded):"])
    #expect(lines.contains("X-Forwarded-Proto: https"))
  }

  /// The session of a first handshake is offered in a second one, perhaps of another gateway.
  private static func resumes(
    _ first: TLSRig, _ second: TLSRig? = nil, between change: () async throws -> Void = {}
  ) async throws -> Bool {
    let session = "\(first.directory.path)/session"
    // TLS 1.2 has its ticket when the handshake is done; in 1.3 openssl would have to wait for it.
    _ = try await first.handshake(.optional, host: "a.example", ["-tls1_2", "-sess_out", session])
    try await change()
    let output = try await (second ?? first).handshake(.optional, host: "a.example", ["-tls1_2", "-sess_in", session])
    #expect(output.contains("CONNECTED"), "\(output)")
    return output.contains("Reused, TLSv1.2")
  }

  @Test func ticketsOutliveAReload() async throws {
    let rig = try await TLSRig()
    #expect(try await Self.resumes(rig))
    #expect(try await Self.resumes(rig) { try await rig.reload { $0 } })
    #expect(try await Self.resumes(rig) { try await rig.reload { $0.replacing("/b.", with: "/c.") } })
    #expect(try await rig.handshake(.names, host: "c.example").contains("CN = weir test c\n"))
  }

  @Test func ticketsDoNotOutliveTheAuthoritiesOfClients() async throws {
    let rig = try await TLSRig()
    let resumes = try await Self.resumes(rig) {
      try await rig.reload { $0.replacing("/authority.pem", with: "/other-authority.pem") }
    }
    #expect(!resumes)
    #expect(try await rig.curl(.mutual, rig.client("other-client")).hasPrefix("here\n200"))
    #expect(try await rig.curl(.mutual, rig.client("client")).hasPrefix("exited(56)"))
  }

  @Test func instancesShareTheTicketsOfOneKeyFile() async throws {
    let one = try await TLSRig()
    let other = try await TLSRig(certificates: one.certificates)
    #expect(try await !Self.resumes(one, other))
    let keys = "\(one.directory.path)/tickets"
    try Data((0..<160).map { UInt8($0) }).write(to: URL(fileURLWithPath: keys))
    for rig in [one, other] {
      try await rig.reload { $0.replacing("clientAuth: optional", with: "clientAuth: optional, ticketKeys: \(keys)") }
    }
    #expect(try await Self.resumes(one, other))
    try Data((80..<160).map { UInt8($0) }).write(to: URL(fileURLWithPath: keys))
    #expect(
      try await Self.resumes(one, other) { try await other.reload { $0 } } == false, "the first key is gone there")
  }

  @Test func aReloadKeepsConnections() async throws {
    let rig = try await TLSRig()
    let url = "https://a.example:\(rig.port(.strict))/"
    // Three requests over one connection, a second apart.
    let arguments = [
      "-sS", "--max-time", "20", "--noproxy", "*", "--cacert", rig.certificates.authority.certificate, "--resolve",
      "a.example:\(rig.port(.strict)):127.0.0.1", "--rate", "1/s", "-o", "/dev/null", "-o", "/dev/null", "-o",
      "/dev/null", "-w", "%{http_code} %{num_connects}\n", url, url, url,
    ]
    async let output = Tool.curl.run(arguments)
    #expect(eventually { rig.gateway.count("answered") ?? 0 >= 1 })
    try await rig.reload { $0.replacing("/b.", with: "/c.").replacing("strictNames: true", with: "strictNames: false") }
    #expect(try await output == "200 1\n200 0\n200 0\n", "only what new connections get has changed")
    #expect(try await rig.curl(.strict, ["-H", "Host: b.example"]).hasPrefix("here\n200"))
    try await rig.reload { $0.replacing("X-Client-Subject", with: "X-Subject") }
    #expect(try await rig.curl(.names).hasPrefix("here\n200"))
  }

  @Test func aBrokenPairRefusesTheReload() async throws {
    let rig = try await TLSRig()
    await #expect(throws: ConfigurationError.self) {
      try await rig.reload {
        $0.replacing("key: \(rig.certificates.path)/b.key", with: "key: \(rig.certificates.path)/a.key")
      }
    }
    #expect(try await rig.handshake(.names, host: "b.example").contains("CN = weir test b\n"))
  }
}
