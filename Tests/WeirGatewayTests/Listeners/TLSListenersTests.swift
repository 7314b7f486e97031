import Foundation
import Testing
import WeirServer
import WeirTestSupport

@testable import WeirGateway

/// Listeners with TLS: openssl and curl over a table of names, keys, versions, protocols and clients' certificates.
@Suite(
  .slow, .timeLimit(.minutes(5)),
  .disabled(if: !Tool.curl.isInstalled || !Tool.openssl.isInstalled, "curl and openssl are not installed"))
struct TLSListenersTests {
  /// A handshake of openssl's client.
  struct Handshake: Sendable, CustomTestStringConvertible {
    let what: String
    var listener = TLSRig.Listener.names
    /// The name in the first message; nil for none.
    var host: String? = "a.example"
    var arguments: [String] = []
    /// Texts that openssl prints.
    let prints: [String]
    /// The result in the metric; `success` has a version beside it.
    var result = "success"

    var testDescription: String { what }
  }

  private static let rsaOnly = ["-sigalgs", "RSA-PSS+SHA256:RSA+SHA256"]

  private static let handshakes = [
    Handshake(what: "exact name", prints: ["CN = weir test a\n", "id-ecPublicKey", "TLSv1.3"]),
    Handshake(what: "another exact name", host: "b.example", prints: ["CN = weir test b\n"]),
    Handshake(what: "name in capitals", host: "B.EXAMPLE", prints: ["CN = weir test b\n"]),
    Handshake(what: "wildcard", host: "y.wild.example", prints: ["CN = weir test a\n"]),
    Handshake(what: "exact name before wildcard", host: "x.wild.example", prints: ["CN = weir test b\n"]),
    Handshake(what: "wildcard is one label", host: "z.y.wild.example", prints: ["CN = weir test a\n"]),
    Handshake(what: "unknown name", host: "unknown.example", prints: ["CN = weir test a\n"]),
    Handshake(what: "no name", host: nil, prints: ["CN = weir test a\n"]),
    Handshake(what: "RSA in TLS 1.3", arguments: rsaOnly, prints: ["CN = weir test a-rsa\n", "rsaEncryption"]),
    Handshake(
      what: "RSA in TLS 1.2", arguments: ["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"],
      prints: ["CN = weir test a-rsa\n", "TLSv1.2"]),
    Handshake(
      what: "ECDSA in TLS 1.2", arguments: ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"],
      prints: ["CN = weir test a\n", "TLSv1.2"]),
    Handshake(
      what: "RSA for a name without such a certificate", host: "b.example", arguments: rsaOnly,
      prints: ["alert handshake failure"], result: "no_shared_cipher"),
    Handshake(what: "TLS 1.3 alone", arguments: ["-tls1_3"], prints: ["TLSv1.3", "Verify return code: 0 (ok)"]),
    Handshake(
      what: "TLS 1.1", arguments: ["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"], prints: ["alert protocol version"],
      result: "version"),
    Handshake(
      what: "TLS 1.2 where 1.3 is needed", listener: .modern, arguments: ["-tls1_2"],
      prints: ["alert protocol version"],
      result: "version"),
    Handshake(what: "TLS 1.3 where it is needed", listener: .modern, prints: ["TLSv1.3"]),
    Handshake(what: "no ALPN", prints: ["No ALPN negotiated"]),
    Handshake(what: "ALPN http/1.1", arguments: ["-alpn", "http/1.1"], prints: ["ALPN protocol: http/1.1"]),
    Handshake(what: "ALPN both", arguments: ["-alpn", "h2,http/1.1"], prints: ["ALPN protocol: http/1.1"]),
    Handshake(
      what: "ALPN h2 alone", arguments: ["-alpn", "h2"], prints: ["no application protocol"],
      result: "application_protocol"),
    Handshake(what: "strict: known", listener: .strict, host: "b.example", prints: ["CN = weir test b\n"]),
    Handshake(
      what: "strict: unknown", listener: .strict, host: "unknown.example", prints: ["unrecognized name"],
      result: "unknown_name"),
    Handshake(what: "strict: none", listener: .strict, host: nil, prints: ["CN = weir test a\n"]),
    Handshake(
      what: "no certificate in TLS 1.2", listener: .mutual, arguments: ["-tls1_2"],
      prints: ["alert handshake failure"], result: "client_certificate_missing"),
  ]

  @Test func handshakesOfOpenSSL() async throws {
    let rig = try await TLSRig()
    for row in Self.handshakes {
      let sample = { (version: String) in
        rig.gateway.sample(
          "weir_tls_handshakes_total{listener=\"\(row.listener)\",result=\"\(row.result)\",version=\"\(version)\","
            + "resumed=\"\(version.isEmpty ? "" : "false")\"}") ?? 0
      }
      let versions = row.result == "success" ? ["1.2", "1.3"] : [""]
      let before = versions.map(sample).reduce(0, +)
      let output = try await rig.handshake(row.listener, host: row.host, row.arguments)
      for text in row.prints { #expect(output.contains(text), "\(row.what): \(output)") }
      #expect(eventually { versions.map(sample).reduce(0, +) == before + 1 }, "\(row.what)")
    }
    #expect(
      eventually { rig.gateway.sample("weir_listener_connections{listener=\"names\",state=\"handshake\"}") == 0 })
  }

  /// A request of curl.
  struct Request: Sendable {
    let what: String
    var listener = TLSRig.Listener.names
    var host = "a.example"
    var arguments: [String] = []
    /// A client's certificate.
    var client: String?
    let begins: String
  }

  private static let requests = [
    Request(what: "HTTP/1.1", begins: "here\n200 names https"),
    Request(what: "HTTP/1.0", arguments: ["--http1.0"], begins: "here\n200 names https"),
    Request(what: "HTTP/2 is not spoken", arguments: ["--http2"], begins: "here\n200 names https"),
    Request(what: "TLS 1.2", arguments: ["--tls-max", "1.2"], begins: "here\n200 names https"),
    Request(what: "HEAD", arguments: ["-I", "-o", "/dev/null"], begins: "200 names https"),
    Request(what: "plain", listener: .plain, begins: "here\n200 plain http"),
    Request(
      what: "strict: Host of another certificate", listener: .strict, arguments: ["-H", "Host: b.example"],
      begins: "the certificate of this connection is not for this host\n421"),
    Request(
      what: "strict: Host of the same certificate", listener: .strict, arguments: ["-H", "Host: q.wild.example:1"],
      begins: "here\n200 strict https"),
    Request(
      what: "strict: absolute target", listener: .strict, arguments: ["--request-target", "http://b.example/"],
      begins: "the certificate of this connection is not for this host\n421"),
    Request(what: "needed: none", listener: .mutual, begins: "exited(56)"),
    Request(what: "needed: good", listener: .mutual, client: "client", begins: "here\n200 mutual https"),
    Request(what: "needed: foreign", listener: .mutual, client: "other-client", begins: "exited(56)"),
    Request(what: "needed: expired", listener: .mutual, client: "stale-client", begins: "exited(56)"),
    Request(what: "taken: none", listener: .optional, begins: "here\n200 optional https"),
    Request(what: "taken: good", listener: .optional, client: "client", begins: "here\n200 optional https"),
    Request(what: "taken: foreign", listener: .optional, client: "other-client", begins: "exited(56)"),
    Request(what: "taken: expired", listener: .optional, client: "stale-client", begins: "exited(56)"),
    Request(what: "not asked: foreign", client: "other-client", begins: "here\n200 names https"),
    Request(
      what: "good in TLS 1.2", listener: .mutual, arguments: ["--tls-max", "1.2"], client: "client",
      begins: "here\n200 mutual https"),
  ]

  @Test func requestsOfCurl() async throws {
    let rig = try await TLSRig()
    for row in Self.requests {
      let output = try await rig.curl(row.listener, host: row.host, row.arguments + (row.client.map(rig.client) ?? []))
      #expect(output.hasPrefix(row.begins), "\(row.what): \(output)")
    }
    #expect(Self.requests.count + Self.handshakes.count >= 40)
  }

  @Test func plainHTTPAtATLSAddressIsToldSo() async throws {
    let rig = try await TLSRig()
    let client = try RawClient(port: UInt16(rig.port(.names)))
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(client.response()?.status == 400)
    #expect(
      eventually {
        rig.gateway.sample("weir_listener_connections_closed_total{listener=\"names\",reason=\"tls\"}") == 1
      })
  }

  @Test func pipelinedAndLargeRequestsPass() async throws {
    let rig = try await TLSRig()
    let path = "\(rig.directory.path)/large"
    try Data(repeating: 0x61, count: 3 << 20).write(to: URL(fileURLWithPath: path))
    #expect(try await rig.curl(.names, ["--data-binary", "@\(path)"]).hasPrefix("here\n200"))
  }
}
