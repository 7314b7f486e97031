import Foundation
import Testing
import Weir
import WeirTestSupport

/// The example of docs/trust.md, run.
@Suite(.needs(.nginx, .openssl)) struct PayrollClientTests {
  @Test func itKnowsItsServerAndShowsWhoItIs() async throws {
    let certificates = try await TestCertificates()
    let directory = try TemporaryDirectory()
    let bundle = "\(directory.path)/client.p12"
    let client = certificates.client
    try await Tool.openssl.run([
      "pkcs12", "-export", "-in", client.certificate, "-inkey", client.key, "-out", bundle, "-passout", "pass:s3cret",
    ])
    let users = try directory.file("users", "anna:{PLAIN}pass\n")
    let nginx = try await NginxServer(
      .init(
        "tls", listen: "ssl",
        certificates.server.directives + "ssl_client_certificate \(certificates.authority.certificate);"
          + "ssl_verify_client on; auth_basic payroll; auth_basic_user_file \(users);"
          + "location / { try_files /none @answer; } location @answer { return 200 \"$remote_user $ssl_client_s_dn\"; }"
      ))
    func salaries(key: String, password: String) async throws -> String {
      try await PayrollClient(
        host: "127.0.0.1", port: nginx.port("tls"), authority: certificates.authority.certificate,
        key: try String(contentsOfFile: key, encoding: .utf8), bundle: bundle, passphrase: "s3cret"
      ).salaries(user: "anna", password: password)
    }
    #expect(try await salaries(key: certificates.server.certificate, password: "pass") == "anna CN=weir test client")
    await #expect(throws: PayrollClient.Impostor.self) {
      try await salaries(key: client.certificate, password: "pass")
    }
    let error = try await #require(throws: WeirError.self) {
      try await salaries(key: certificates.server.certificate, password: "wrong")
    }
    #expect(error.responseCode == 401)
  }

  @Test func theDocumentShowsIt() throws {
    let example = try PackageRoot.example("docs/trust.md", of: "Tests/EndToEndTests/Readme/PayrollClient.swift")
    #expect(try PackageRoot.text(of: "docs/trust.md").contains("```swift\n\(example)```\n"))
  }
}
