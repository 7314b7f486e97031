import Foundation
import Testing
import WeirTestSupport

/// The program's metrics address with the `tls_server_config` of its web configuration.
@Suite(.needs(.weir, .curl, .openssl)) struct MetricsTLSTests {
  private static let certificates = Task { try await TestCertificates() }

  private let certificates: TestCertificates
  private let directory: TemporaryDirectory

  init() async throws {
    certificates = try await Self.certificates.value
    directory = try TemporaryDirectory()
    try install(certificates.server)
    try FileManager.default.copyItem(
      atPath: certificates.authority.certificate, toPath: "\(directory.path)/authority.pem")
  }

  private func install(_ pair: TestCertificates.Pair) throws {
    try directory.file("it.pem", String(contentsOfFile: pair.certificate, encoding: .utf8))
    try directory.file("it.key", String(contentsOfFile: pair.key, encoding: .utf8))
  }

  /// Relative paths begin in the folder of the file.
  private func configuration(_ more: String = "") throws -> String {
    try directory.file("web.yml", "tls_server_config: {cert_file: it.pem, key_file: it.key\(more)}\n")
  }

  private func start(_ more: String = "") async throws -> WeirProgram {
    try await WeirProgram(["--web.config.file=\(try configuration(more))"])
  }

  private func url(_ weir: WeirProgram) -> String { "https://127.0.0.1:\(weir.metricsPort)/metrics" }

  /// The answer to curl without a proxy, with trust in the authority.
  private func curl(_ weir: WeirProgram, _ arguments: [String] = []) async throws -> (isGood: Bool, output: String) {
    let result = try await Tool.curl.runToEnd(
      ["-sS", "--fail", "--max-time", "60", "--noproxy", "*", "--cacert", certificates.authority.certificate]
        + arguments + [url(weir)])
    return (result.status == .exited(0), result.output)
  }

  private func shown(_ pair: TestCertificates.Pair) -> [String] { ["--cert", pair.certificate, "--key", pair.key] }

  @Test func pagesComeOverTLSAlone() async throws {
    let weir = try await start()
    let page = try await curl(weir)
    #expect(page.isGood && page.output.contains("weir_build_info"), "\(page.output)")
    #expect(try await curl(weir, ["--tls-max", "1.2", "--http2"]).isGood)
    try await eventually("the log has the URL") { weir.peer.output.contains("url=\(url(weir))") }
    let plain = try await CurlAnswer.get(weir.metricsURL("/metrics"), "--noproxy", "*")
    #expect(plain.status == 400)
    #expect(
      try await CurlAnswer.get(weir.url("/echo"), "--noproxy", "*").status == 200, "the gateway's own port is plain")
    let stranger = try await Tool.curl.runToEnd([
      "-sS", "--noproxy", "*", "--cacert", certificates.otherAuthority.certificate, url(weir),
    ])
    #expect(stranger.status == .exited(60))
  }

  @Test func rulesOfTheProtocolHold() async throws {
    let weir = try await start(
      ", max_version: TLS12, cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "
        + "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256], curve_preferences: [CurveP384, CurveP256]")
    #expect(try await curl(weir).isGood)
    #expect(try await curl(weir, ["--tlsv1.3"]).isGood == false)
    #expect(try await curl(weir, ["--ciphers", "ECDHE-ECDSA-CHACHA20-POLY1305"]).isGood == false)
    #expect(try await curl(weir, ["--curves", "X25519"]).isGood == false)
    let peer = try await Tool.openssl.runToEnd([
      "s_client", "-connect", "127.0.0.1:\(weir.metricsPort)", "-cipher",
      "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384",
    ])
    #expect(peer.output.contains("ECDHE-ECDSA-AES256-GCM-SHA384"), "the server's order counts: \(peer.output)")
    #expect(peer.output.contains("secp384r1") || peer.output.contains("P-384"), "\(peer.output)")
  }

  @Test func clientsNeedCertificates() async throws {
    let weir = try await start(", client_auth_type: RequireAndVerifyClientCert, client_ca_file: authority.pem")
    #expect(try await curl(weir).isGood == false)
    #expect(try await curl(weir, shown(certificates.client)).isGood)
    for pair in [certificates.foreign, certificates.selfSigned, certificates.expired] {
      #expect(try await curl(weir, shown(pair)).isGood == false)
    }
  }

  @Test func clientsNeedAnAllowedName() async throws {
    for (name, isGood) in [("weir.example", true), ("other.example", false)] {
      let weir = try await start(
        ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: authority.pem, client_allowed_sans: [\(name)]")
      #expect(try await curl(weir, shown(certificates.wrongHost)).isGood == isGood)
      #expect(try await curl(weir, shown(certificates.client)).isGood == false)
      let alert = try await curl(weir, shown(certificates.client) + ["--tls-max", "1.2"])
      #expect(alert.output.contains("bad certificate"), "\(alert.output)")
    }
  }

  @Test func anyCertificateWillDo() async throws {
    let weir = try await start(", client_auth_type: RequireAnyClientCert")
    #expect(try await curl(weir).isGood == false)
    #expect(try await curl(weir, shown(certificates.selfSigned)).isGood)
  }

  @Test func newFilesAreFollowedAtSIGHUPAndByThemselves() async throws {
    let weir = try await start()
    func subject() async throws -> String {
      let peer = try await Tool.openssl.runToEnd(["s_client", "-connect", "127.0.0.1:\(weir.metricsPort)"])
      return peer.output.split(separator: "\n").first { $0.hasPrefix("subject=") }.map(String.init) ?? ""
    }
    #expect(try await subject().hasSuffix("weir test server"))
    try install(certificates.wrongHost)
    weir.peer.send(signal: SIGHUP)
    try await eventually("the new certificate is shown") { try await subject().hasSuffix("weir test wrong-host") }
    try install(certificates.foreign)
    try await eventually("the next one is shown without a signal") {
      try await subject().hasSuffix("weir test foreign")
    }
    try await eventually("the log tells") { weir.peer.output.contains("the TLS files have changed, and") }

    // A pair that doesn't fit is refused, by a look and by a reload.
    try directory.file("it.key", String(contentsOfFile: certificates.client.key, encoding: .utf8))
    try await eventually("the log tells of the pair") {
      weir.peer.output.contains("level=warn msg=\"the TLS files have changed and can't be used")
    }
    weir.peer.send(signal: SIGHUP)
    try await eventually("the reload is refused") {
      weir.peer.output.contains("the configuration stays as it was")
    }
    #expect(weir.peer.output.contains("the key does not belong to the certificate"))
    #expect(try await subject().hasSuffix("weir test foreign"))
  }

  @Test func rulesChangeAtSIGHUP() async throws {
    let weir = try await start()
    #expect(try await curl(weir).isGood)
    _ = try configuration(", client_auth_type: RequireAndVerifyClientCert, client_ca_file: authority.pem")
    weir.peer.send(signal: SIGHUP)
    try await eventually("clients need certificates") { try await !curl(weir).isGood }
    #expect(try await curl(weir, shown(certificates.client)).isGood)
    // Users and tokens come and go beside it.
    try directory.file(
      "web.yml", "tls_server_config: {cert_file: it.pem, key_file: it.key}\nbearer_tokens: [t0ken]\n")
    weir.peer.send(signal: SIGHUP)
    try await eventually("clients need a token") { try await curl(weir).output.contains("401") }
    #expect(try await curl(weir, ["-H", "Authorization: Bearer t0ken"]).isGood)
  }

  @Test func tlsComesAndGoesWithARestart() async throws {
    let warning = "level=warn msg=\"TLS of the metrics address begins and ends with a restart\""
    let secure = try await start()
    try directory.file("web.yml", "")
    secure.peer.send(signal: SIGHUP)
    try await eventually("it warns") { secure.peer.output.contains(warning) }
    #expect(try await curl(secure).isGood)
    let plain = try await WeirProgram(["--web.config.file=\(directory.path)/web.yml"])
    _ = try configuration()
    plain.peer.send(signal: SIGHUP)
    try await eventually("it warns") { plain.peer.output.contains(warning) }
    #expect(try await CurlAnswer.get(plain.metricsURL("/metrics"), "--noproxy", "*").status == 200)
  }

  @Test func filesAreCheckedBeforeTheStart() async throws {
    let file = try configuration()
    let good = try await Tool.weir.run(["check", "--web.config.file=\(file)"])
    #expect(good == "\(file): TLS, 0 users, 0 tokens, no problems\n")
    try directory.file("it.key", String(contentsOfFile: certificates.client.key, encoding: .utf8))
    let expected =
      "\(file):1:50: tls_server_config.key_file: \"\(directory.path)/it.key\": the key does not belong to the "
      + "certificate; give the key that the certificate was made with"
    let bad = try await Tool.weir.runToEnd(["check", "--web.config.file=\(file)"])
    #expect(bad.status == .exited(1) && bad.output == expected + "\n", "\(bad.output)")
    let start = try await Tool.weir.runToEnd([
      "serve", "--web.config.file=\(file)", "--gateway.listen-address=127.0.0.1:0", "--web.listen-address=127.0.0.1:0",
    ])
    #expect(start.status == .exited(1))
    #expect(start.output.contains("it.key") && start.output.contains("weir can't start"), "\(start.output)")
  }

  @Test(.needs(.prometheus)) func prometheusScrapesWithACertificate() async throws {
    let weir = try await start(", client_auth_type: RequireAndVerifyClientCert, client_ca_file: authority.pem")
    let client = certificates.client
    let prometheus = try await PrometheusServer(
      jobs: ["weir": [weir.metricsPort]],
      settings: "scheme: https, tls_config: {ca_file: \(certificates.authority.certificate), "
        + "cert_file: \(client.certificate), key_file: \(client.key)}")
    try await eventually("the target is up") { try await prometheus.value("up{job=\"weir\"}") == 1 }
    try await eventually("its metrics are there") { try await prometheus.value("weir_build_info") == 1 }
  }
}
