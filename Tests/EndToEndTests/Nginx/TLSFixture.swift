import Weir
import WeirTestSupport

/// An nginx with a site per certificate and setting, shared by all tests that need TLS.
struct TLSFixture {
  let certificates: TestCertificates
  let nginx: NginxServer

  static let shared = Task { try await TLSFixture() }

  init() async throws {
    let certificates = try await TestCertificates()
    self.certificates = certificates
    let valid = certificates.server.directives
    let answer = "location / { return 200 $ssl_protocol; }"
    nginx = try await NginxServer(
      .init(
        "valid", listen: "ssl",
        valid + "ssl_protocols TLSv1.2 TLSv1.3;" + answer + "location /to { return 302 $arg_url; }"),
      .init("wrong host", listen: "ssl", certificates.wrongHost.directives + answer),
      .init("expired", listen: "ssl", certificates.expired.directives + answer),
      .init("1.1", listen: "ssl", valid + "ssl_protocols TLSv1.1; ssl_ciphers ALL:@SECLEVEL=0;" + answer),
      .init("1.2", listen: "ssl", valid + "ssl_protocols TLSv1.2;" + answer),
      .init("1.3", listen: "ssl", valid + "ssl_protocols TLSv1.3;" + answer),
      .init("plain", answer),
      .init("h2", listen: "ssl http2", valid + "location / { return 200 $server_protocol; }"),
      .init(
        "client", listen: "ssl",
        valid + "ssl_client_certificate \(certificates.authority.certificate); ssl_verify_client on;"
          + "location / { return 200 $ssl_client_s_dn; }"))
  }

  /// A session that trusts our authority, and only it.
  func session(_ configure: (inout SessionConfiguration) -> Void = { _ in }) throws -> MeasuredSession {
    try MeasuredSession {
      $0.tls.trustRoots = .file(certificates.authority.certificate)
      configure(&$0)
    }
  }
}
