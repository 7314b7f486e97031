import Foundation
import Testing
import Weir
import WeirCurl
import WeirTestSupport

@testable import WeirGateway

/// The TLS of a route's upstream: its keys, its files, and what becomes of them.
@Suite(
  "§23 The gateway's TLS", .enabled(if: Tool.openssl.isInstalled && Tool.nginx.isInstalled), .timeLimit(.minutes(5)))
struct UpstreamTLSTests {
  private func problems(_ tls: String, url: String = "https://h") -> [String] {
    let text = "routes:\n- name: a\n  upstream:\n    url: \(url)\n    tls: {\(tls)}"
    do {
      _ = try Configuration(parsing: Array(text.utf8), file: "weir.yml")
      return []
    } catch {
      return error.problems.map { $0.description(file: error.file) }
    }
  }

  @Test func saysWhatIsWrong() async throws {
    let certificates = try await TestCertificates()
    let directory = try TemporaryDirectory()
    let (server, client) = (certificates.server, certificates.client)
    let locked = "\(directory.path)/locked.key", old = "\(directory.path)/old.key"
    try await Tool.openssl.run(["pkey", "-in", client.key, "-aes256", "-passout", "pass:x", "-out", locked])
    try await Tool.openssl.run(["ec", "-in", client.key, "-aes256", "-passout", "pass:x", "-out", old])
    let empty = try directory.file("empty", "")
    let garbled = try directory.file("garbled", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n")
    // A file that is being written: of the second certificate there is a part.
    let whole = try String(contentsOfFile: client.certificate, encoding: .utf8)
    let half = try directory.file("half", whole + whole.prefix(whole.count / 2))
    let broken = "holds a certificate that is broken off or can't be read"
    let (head, place) = ("weir.yml:5:", "routes[0].upstream.tls")
    let table: [(String, [String])] = [
      ("", []), ("ca: \(certificates.authority.certificate)", []),
      ("serverName: api.internal, minimumVersion: 1.3", []),
      ("certificate: \(client.certificate), key: \(client.key), minimumVersion: '1.2'", []),
      ("ca: roots.pem", ["\(head)15: \(place).ca: give an absolute path"]),
      ("ca: /nonexistent", ["\(head)15: \(place).ca: \"/nonexistent\" can't be read: No such file or directory"]),
      ("ca: /dev/null", ["\(head)15: \(place).ca: \"/dev/null\" is a device; give a regular file"]),
      ("ca: '\(empty)'", ["\(head)15: \(place).ca: \(quoted(empty)) holds no certificate in PEM"]),
      ("ca: \(server.key)", ["\(head)15: \(place).ca: \(quoted(server.key)) holds no certificate in PEM"]),
      (
        "certificate: \(garbled)",
        ["\(head)24: \(place).certificate: \(quoted(garbled)) \(broken)"]
      ),
      ("ca: \(garbled)", ["\(head)15: \(place).ca: \(quoted(garbled)) \(broken)"]),
      ("ca: \(half)", ["\(head)15: \(place).ca: \(quoted(half)) \(broken)"]),
      (
        "certificate: \(half), key: \(client.key)",
        ["\(head)24: \(place).certificate: \(quoted(half)) \(broken)"]
      ),
      (
        "certificate: \(client.certificate)",
        ["\(head)24: \(place).certificate: holds no private key in PEM; give its key as well"]
      ),
      ("key: \(client.key)", ["\(head)16: \(place).key: is of no use without a certificate"]),
      ("serverName: 'a b'", ["\(head)23: \(place).serverName: \"a b\" is not a host name"]),
      ("minimumVersion: 1.1", ["\(head)27: \(place).minimumVersion: expected 1.2 or 1.3, found the number 1.1"]),
      (
        "cert: 1",
        [
          "\(head)11: \(place).cert: unknown key; "
            + "known keys are ca, certificate, key, minimumVersion, pins, serverName"
        ]
      ),
    ]
    for (tls, expected) in table { #expect(problems(tls) == expected, "\(tls)") }
    for key in [locked, old] {
      #expect(problems("certificate: \(client.certificate), key: \(key)").first?.contains("with a passphrase") == true)
    }
    #expect(
      problems("serverName: h", url: "http://h") == ["\(head)10: \(place): needs an https:// upstream"])
  }

  @Test func nothingPrintsKeys() {
    var tls = UpstreamTLS()
    (tls.certificate, tls.key, tls.serverName) = (Array("public".utf8), Array("hunter2".utf8), "api.internal")
    for value in [tls, Optional(tls), tls.trust, tls.trust.tls, tls.trust.tls.clientCertificate] as [Any?] {
      var dumped = ""
      dump(value, to: &dumped)
      for text in [String(describing: value), String(reflecting: value), dumped] {
        #expect(!text.contains("104, 117, 110") && !text.contains("- 104\n"), "\(text)")
      }
    }
    #expect(
      "\(tls)" == "UpstreamTLS(certificate: 6 bytes, key: 7 bytes, serverName: api.internal, minimumVersion: tls12)")
  }

  /// Mutual TLS, a name that the URL doesn't have, and files that a reload replaces.
  @Test func forwardsByIt() async throws {
    let certificates = try await TestCertificates()
    let nginx = try await NginxServer(
      .init(
        "tls", listen: "ssl",
        certificates.wrongHost.directives + "ssl_client_certificate \(certificates.authority.certificate);"
          + "ssl_verify_client optional; location / { return 200 \"$ssl_client_s_dn $ssl_server_name $request_uri\"; }")
    )
    let directory = try TemporaryDirectory()
    let ca = "\(directory.path)/ca.pem"
    func configuration(_ authority: TestCertificates.Pair, _ tls: String) throws -> Configuration {
      try Data(contentsOf: URL(fileURLWithPath: authority.certificate)).write(to: URL(fileURLWithPath: ca))
      let text = """
        routes:
        - name: r
          upstream:
            url: https://127.0.0.1:\(nginx.port("tls"))/base
            tls: {ca: \(ca), \(tls)}
        """
      return try Configuration(parsing: Array(text.utf8), file: "weir.yml")
    }
    let (name, client) = ("serverName: weir.example", certificates.client)
    let pair = "certificate: \(client.certificate), key: \(client.key)"
    let rig = try GatewayRig(try #require(configuration(certificates.authority, name).routes.first))
    let gateway = try rig.client()
    func get() -> (status: Int?, text: String?) {
      gateway.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = gateway.response()
      return (response?.status, response?.text)
    }
    #expect(get().text == " weir.example /base/x")
    // Before a connection stands that was made with this certificate.
    let wrongKey = "certificate: \(client.certificate), key: \(certificates.server.key)"
    try await rig.gateway.reload(try configuration(certificates.authority, "\(name), \(wrongKey)"))
    #expect(get().status == 502)
    try await rig.gateway.reload(try configuration(certificates.authority, "\(name), \(pair), minimumVersion: 1.2"))
    #expect(get().text == "CN=weir test client weir.example /base/x")
    try await rig.gateway.reload(try configuration(certificates.authority, pair))
    #expect(get().status == 502, "the URL's host is not the certificate's")
    // The same path, another authority in it.
    try await rig.gateway.reload(try configuration(certificates.otherAuthority, name))
    #expect(get().status == 502)
    try await rig.gateway.reload(try configuration(certificates.authority, name))
    #expect(get().status == 200)
    #expect(eventually { rig.count("tls_error") == 3 })
  }
}
