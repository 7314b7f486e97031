import Foundation
import Weir
import WeirTestSupport

/// weir's probe page and blackbox_exporter with the same modules, and servers to ask.
struct ProbeFixture {
  static let shared = Task { try await ProbeFixture() }

  let weir: WeirProgram
  let certificates: TestCertificates
  private let blackboxPort: Int
  private let blackbox: Peer
  private let directory: TemporaryDirectory
  private let nginx: NginxServer
  private let scripted: [String: ScriptedServer]
  private let closedPort = LoopbackPort.free()

  init() async throws {
    let certificates = try await TestCertificates()
    self.certificates = certificates
    directory = try TemporaryDirectory()
    let subject = try await Self.certificateWithLongSubject(in: directory.path)
    let modules = Self.modules(authority: certificates.authority.certificate)
    let file = try directory.file("modules.yml", modules)
    let weirFile = try directory.file("weir.yml", modules + "targets: { otherwise: any }\n")
    blackboxPort = LoopbackPort.free()
    blackbox = try Peer(
      .blackboxExporter,
      ["--config.file=\(file)", "--web.listen-address=127.0.0.1:\(blackboxPort)", "--log.level=warn"])
    weir = try await WeirProgram(["--probe.config.file=\(weirFile)", "--log.level=warn"])
    nginx = try await NginxServer(
      .init("plain", Self.plain),
      .init(
        "tls", listen: "ssl",
        certificates.server.directives + "ssl_protocols TLSv1.2 TLSv1.3;" + Self.plain
          + "location /downgrade { return 302 http://127.0.0.1:1/; }"),
      .init("1.2", listen: "ssl", certificates.server.directives + "ssl_protocols TLSv1.2;" + Self.plain),
      .init("wrong host", listen: "ssl", certificates.wrongHost.directives + Self.plain),
      .init("expired", listen: "ssl", certificates.expired.directives + Self.plain),
      .init("subject", listen: "ssl", subject + Self.plain),
      .init("h2", listen: "ssl http2", certificates.server.directives + Self.plain))
    scripted = try Self.scripts.mapValues { try ScriptedServer(Script(.forever([.request] + $0))) }
    try await blackbox.waitForPort(blackboxPort)
  }

  /// The URL of a target. Its host stands for a server: a site of nginx, or a script.
  func url(_ target: String) -> String {
    var url = target
    for site in ["plain", "tls", "1.2", "wrong host", "expired", "h2", "subject"] {
      url = url.replacing("{\(site)}", with: "127.0.0.1:\(nginx.port(site))")
      url = url.replacing("{\(site) by name}", with: "localhost:\(nginx.port(site))")
    }
    for (name, server) in scripted { url = url.replacing("{\(name)}", with: "127.0.0.1:\(server.port)") }
    return url.replacing("{closed}", with: "127.0.0.1:\(closedPort)")
  }

  /// What the two say of a target, and what weir logged.
  func pages(_ probe: ProbeCase) async throws -> (weir: String, blackbox: String) {
    async let weir = page(weir.metricsPort, probe)
    async let blackbox = page(blackboxPort, probe)
    return (try await weir, try await blackbox)
  }

  func log(_ probe: ProbeCase) async throws -> String {
    try await page(weir.metricsPort, probe, ["debug=true"])
  }

  private func page(_ port: Int, _ probe: ProbeCase, _ more: [String] = []) async throws -> String {
    let items = ["target=\(url(probe.target))", "module=\(probe.name)"] + more
    return try await Tool.curl.run(
      ["-sS", "-G", "--max-time", "30"] + items.flatMap { ["--data-urlencode", $0] } + [
        "http://127.0.0.1:\(port)/probe"
      ])
  }

  /// Makes a certificate whose names are hard to spell, and returns nginx's lines for it.
  private static func certificateWithLongSubject(in folder: String) async throws -> String {
    let certificate = "\(folder)/subject.pem", key = "\(folder)/subject.key"
    let subject =
      "/street=S/postalCode=P/CN=#x ü /OU=b/OU=a/O=Weir, \"A\"/O=+<>;/C=DE/C=FR/ST=Land/L=Q"
      + "/emailAddress=a@b.c/serialNumber=5/DC=d"
    try await Tool.openssl.run([
      "req", "-x509", "-utf8", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "90", "-subj",
      subject, "-keyout", key, "-out", certificate, "-addext",
      "subjectAltName=DNS:b.example,IP:127.0.0.1,email:a@b.c,DNS:*.a.example",
    ])
    return "ssl_certificate \(certificate); ssl_certificate_key \(key);"
  }

  private static func modules(authority: String) -> String {
    var text = "modules:\n"
    for probe in ProbeCase.all {
      text += "  \(probe.name):\n    prober: http\n    timeout: \(probe.timeout)\n    http:\n"
      text += "      preferred_ip_protocol: ip4\n"
      let tls = probe.trusts ? "tls_config: { ca_file: \(authority) }" : nil
      for line in [tls].compactMap(\.self) + probe.http {
        text += "      \(line.replacing("{authority}", with: authority))\n"
      }
    }
    return text
  }

  /// The locations of each site of nginx.
  private static let plain = """
    default_type text/plain;
    gzip_types text/plain; gzip_min_length 1;
    location = /ok { return 200 "Welcome to weir\\nversion 12\\n"; }
    location = /dated { add_header Last-Modified "Tue, 15 Nov 1994 12:45:26 GMT"; return 200 dated; }
    location = /missing { return 404 gone; }
    location = /broken { return 500 broken; }
    location = /empty { return 204; }
    location = /to { absolute_redirect off; return 302 /ok; }
    location = /twice { absolute_redirect off; return 301 /to; }
    location = /around { absolute_redirect off; return 302 /around; }
    location = /away { return 302 http://$http_host/ok; }
    location = /nowhere { return 302 http://127.0.0.1:1/; }
    location = /basic { if ($http_authorization != "Basic YWxpY2U6c2VjcmV0") { return 401; } return 200 ok; }
    location = /bearer { if ($http_authorization != "Bearer abc") { return 401; } return 200 ok; }
    location = /post { if ($request_method != POST) { return 405; } return 200 posted; }
    location = /again { absolute_redirect off; return 307 /post; }
    location = /other { absolute_redirect off; return 303 /ok; }
    location = /host { if ($host != "weir.example") { return 421; } return 200 $host; }
    location = /gzip { gzip on; return 200 "Welcome to weir, compressed. Welcome to weir, compressed.\\n"; }
    location = /login { absolute_redirect off; add_header Set-Cookie "seen=1; Path=/" always; return 302 /inside; }
    location = /inside { if ($cookie_seen != "1") { return 403; } return 200 inside; }
    """

  /// Responses in octets.
  private static let scripts: [String: [Script.Step]] = [
    "old": [.send(Array("HTTP/1.0 200 OK\r\n\r\nold".utf8)), .close],
    "chunks": [.send(Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n".utf8))],
    "cut": [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbody".utf8)), .close],
    "fields": [
      .send(Array("HTTP/1.1 200 OK\r\nX-A: one\r\nX-A: two\r\nX-Empty:\r\nContent-Length: 2\r\n\r\nok".utf8))
    ],
    "two locations": [
      .send(
        Array(
          "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n".utf8))
    ],
    "empty location": [.send(Array("HTTP/1.1 302 Found\r\nLocation:\r\nContent-Length: 0\r\n\r\n".utf8))],
    "nothing": [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))],
    "silent": [.awaitClose],
    "gone": [.close],
    "octets": [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\na".utf8) + [0, 0xff] + Array("bc".utf8))],
  ]
}
