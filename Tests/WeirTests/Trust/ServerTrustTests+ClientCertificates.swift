import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirCurl
import WeirTestSupport

@testable import Weir

// Client certificates.
extension ServerTrustTests {
  @Test("A client shows its certificate, in whatever form")
  func clientCertificates() async throws {
    let fixture = try await TrustFixture.shared.value
    let files = try await ClientFiles(fixture.certificates.client)
    for (name, certificate) in try files.right {
      let session = fixture.session { $0.tls.clientCertificate = certificate }
      let response = await session.request(fixture.url("client")).plainResponse()
      #expect(
        response.data.map { String(decoding: $0, as: UTF8.self) } == "CN=weir test client", "\(name): \(response)")
    }
  }

  @Test(
    "The text of an untrusted certificate says what to change",
    arguments: [
      (
        "self-signed",
        "SSL certificate problem: self-signed certificate "
          + "(tls.trustRoots: .system; put the certificate of the server's authority there)"
      ),
      (
        "foreign",
        "SSL certificate problem: unable to get local issuer certificate "
          + "(tls.trustRoots: .file(\"CA\"); put the certificate of the server's authority there)"
      ),
      (
        "wrong host",
        "SSL: no alternative certificate subject name matches target "
          + (CurlLibrary.version.hasPrefix("7.") ? "host name" : "ipv4 address") + " '127.0.0.1' "
          + "(the URL has to name the server as its certificate does; resolveOverrides gives the address)"
      ),
      (
        "expired",
        "SSL certificate problem: certificate has expired "
          + "(the server needs another certificate, or this machine's clock is wrong)"
      ),
      (
        "future",
        "SSL certificate problem: certificate is not yet valid "
          + "(the server needs another certificate, or this machine's clock is wrong)"
      ),
    ])
  func texts(site: String, text: String) async throws {
    let fixture = try await TrustFixture.shared.value
    let session = fixture.session { $0.tls.trustRoots = site == "self-signed" ? .system : $0.tls.trustRoots }
    let url = fixture.url(site)
    let error = try #require(await session.request(url).plainResponse().error)
    let port = try #require(URL(string: url)?.port)
    let place = "(GET https://127.0.0.1:\(port), attempt 1, after T s)"
    let told = error.localizedDescription.replacing(/after \d+\.\d{3} s\)$/, with: "after T s)")
      .replacing(fixture.certificates.authority.certificate, with: "CA")
    #expect(told == "The transfer failed: \(text) \(place)")
  }

  @Test("A pin that does not match says so")
  func textOfAPin() async throws {
    let fixture = try await TrustFixture.shared.value
    let session = fixture.session { $0.tls.pinnedPublicKeys = [fixture.otherPin] }
    let error = try #require(await session.request(fixture.url("valid")).plainResponse().error)
    let text = "SSL: public key does not match pinned public key (tls.pinnedPublicKeys: 1) (GET https://127.0.0.1:"
    #expect(error.localizedDescription.hasPrefix("The transfer failed: \(text)"), "\(error)")
  }

  @Test("A certificate that is of no use has an error that says so")
  func wrongClientCertificates() async throws {
    let fixture = try await TrustFixture.shared.value
    let files = try await ClientFiles(fixture.certificates.client)
    for (name, certificate) in try files.wrong(otherKey: fixture.certificates.server.key) {
      let session = fixture.session { $0.tls.clientCertificate = certificate }
      let response = await session.request(fixture.url("client")).plainResponse()
      guard case .sessionTaskFailed(let error)? = response.error else {
        #expect(Bool(false), "\(name): \(response)")
        continue
      }
      #expect((error as? URLError)?.code == .clientCertificateRejected, "\(name): \(error)")
      let text = response.error?.errorDescription ?? ""
      #expect(text.contains("tls.clientCertificate"), "\(name): \(text)")
      #expect(!text.contains("s3cret") && !text.contains("wr0ng"))
    }
  }
}

/// One client certificate in several forms.
private struct ClientFiles {
  typealias Certificate = TLSConfiguration.ClientCertificate

  let pair: TestCertificates.Pair
  let bundle: String
  let lockedKey: String
  private let directory: TemporaryDirectory

  init(_ pair: TestCertificates.Pair) async throws {
    self.pair = pair
    directory = try TemporaryDirectory()
    bundle = "\(directory.path)/client.p12"
    lockedKey = "\(directory.path)/locked.key"
    try await Tool.openssl.run([
      "pkcs12", "-export", "-in", pair.certificate, "-inkey", pair.key, "-out", bundle, "-passout", "pass:s3cret",
    ])
    try await Tool.openssl.run([
      "pkey", "-in", pair.key, "-aes256", "-passout", "pass:s3cret", "-out", lockedKey,
    ])
  }

  private func data(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

  var right: [(String, Certificate)] {
    get throws {
      let (certificate, key) = (try data(pair.certificate), try data(pair.key))
      return [
        ("files", Certificate(certificate: .file(pair.certificate), privateKey: .file(pair.key))),
        ("data", Certificate(certificate: .data(certificate), privateKey: .data(key))),
        ("data in one", Certificate(certificate: .data(certificate + key))),
        (
          "locked",
          Certificate(certificate: .file(pair.certificate), privateKey: .file(lockedKey), passphrase: "s3cret")
        ),
        (
          "locked data",
          Certificate(certificate: .data(certificate), privateKey: .data(try data(lockedKey)), passphrase: "s3cret")
        ),
        ("PKCS #12", Certificate(certificate: .file(bundle), format: .pkcs12, passphrase: "s3cret")),
        ("PKCS #12 data", Certificate(certificate: .data(try data(bundle)), format: .pkcs12, passphrase: "s3cret")),
      ]
    }
  }

  func wrong(otherKey: String) throws -> [(String, Certificate)] {
    [
      ("no file", Certificate(certificate: .file("/nonexistent/client.pem"))),
      ("no key", Certificate(certificate: .file(pair.certificate))),
      ("no key file", Certificate(certificate: .file(pair.certificate), privateKey: .file("/nonexistent/client.key"))),
      ("another's key", Certificate(certificate: .file(pair.certificate), privateKey: .file(otherKey))),
      (
        "wrong passphrase",
        Certificate(certificate: .file(pair.certificate), privateKey: .file(lockedKey), passphrase: "wr0ng")
      ),
      ("no passphrase", Certificate(certificate: .file(pair.certificate), privateKey: .file(lockedKey))),
      ("no PEM", Certificate(certificate: .data(Data("nothing".utf8)))),
      ("wrong passphrase of PKCS #12", Certificate(certificate: .file(bundle), format: .pkcs12, passphrase: "wr0ng")),
      ("no PKCS #12", Certificate(certificate: .file(pair.certificate), format: .pkcs12)),
    ]
  }
}
