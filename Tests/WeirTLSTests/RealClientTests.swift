import Testing
import WeirTLS
import WeirTestSupport

/// curl and openssl as clients, over loopback.
@Suite(.disabled(if: !Tool.curl.isInstalled || !Tool.openssl.isInstalled, "curl and openssl are not installed"))
struct RealClientTests {
  private let authority: MadeCertificate
  private let server: LoopbackServer
  private let files: TemporaryDirectory

  init() throws {
    files = try TemporaryDirectory()
    authority = try MadeCertificate("authority", isAuthority: true)
    let names = "DNS:greet.example,DNS:server.example,IP:127.0.0.1"
    let settings = TLSSettings(
      certificates: [try MadeCertificate("server", alternatives: names, by: authority).pair(with: [authority])],
      clientCA: authority.certificatePEM, clientAuth: .optional)
    server = try LoopbackServer(try TLSServerContext(settings))
    let client = try MadeCertificate("client", by: authority)
    try files.file("authority.pem", String(decoding: authority.certificatePEM, as: UTF8.self))
    try files.file("client.pem", String(decoding: client.certificatePEM + client.keyPEM, as: UTF8.self))
  }

  private func curl(_ arguments: [String], host: String = "server.example") async throws -> String {
    try await Tool.curl.run(
      [
        "-sS", "--max-time", "10", "--noproxy", "*", "--cacert", "\(files.path)/authority.pem", "--resolve",
        "\(host):\(server.port):127.0.0.1",
      ] + arguments + ["https://\(host):\(server.port)/"])
  }

  @Test func curlGetsAnswers() async throws {
    #expect(try await curl([]) == "1.3 full server.example -\n")
    #expect(try await curl(["--tls-max", "1.2", "--http2"]) == "1.2 full server.example -\n")
    #expect(try await curl(["--no-alpn"]) == "1.3 full server.example -\n")
    #expect(try await curl([], host: "127.0.0.1") == "1.3 full - -\n")
    #expect(
      try await curl(["--cert", "\(files.path)/client.pem"])
        == "1.3 full server.example CN=client,O=Weir\\, Inc.\n")
    let plain = try await Tool.curl.run(
      ["-sS", "--max-time", "10", "--noproxy", "*", "http://127.0.0.1:\(server.port)/"])
    #expect(plain == "TLS\n")
  }

  @Test(arguments: ["-tls1_2", "-tls1_3"]) func opensslResumesItsSession(version: String) async throws {
    let session = "\(files.path)/session"
    let always = [
      "s_client", "-connect", "127.0.0.1:\(server.port)", "-servername", "greet.example", version, "-ign_eof",
      "-verify_return_error", "-CAfile", "\(files.path)/authority.pem",
    ]
    let number = version == "-tls1_2" ? "1.2" : "1.3"
    let first = try await Tool.openssl.run(always + ["-sess_out", session])
    #expect(first.contains("\(number) full greet.example -\n"))
    let second = try await Tool.openssl.run(always + ["-sess_in", session])
    #expect(second.contains("Reused"))
    #expect(second.contains("\(number) resumed greet.example -\n"))
  }

  @Test func opensslIsToldOfItsProtocols() async throws {
    let connect = ["s_client", "-connect", "127.0.0.1:\(server.port)", "-alpn", "h2"]
    let (status, output) = try await Tool.openssl.runToEnd(connect)
    #expect(status == .exited(1))
    #expect(output.contains("no application protocol"))
  }
}
