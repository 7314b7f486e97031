import Foundation
import Testing
import WeirTestSupport

@testable import Weir

/// Which texts hold certificates, all of which can be used.
@Suite("§23 PEM", .enabled(if: Tool.openssl.isInstalled), .timeLimit(.minutes(5)))
struct PEMTests {
  private func defect(_ text: String, areRoots: Bool = true) -> CertificatesDefect? {
    PEM.defect(ofCertificates: text.utf8, areRoots: areRoots)
  }

  @Test("Each certificate is whole, or the text is of no use")
  func certificates() async throws {
    let files = try await TestCertificates()
    let one = try String(contentsOfFile: files.authority.certificate, encoding: .utf8)
    let two = try String(contentsOfFile: files.server.certificate, encoding: .utf8)
    let key = try String(contentsOfFile: files.server.key, encoding: .utf8)
    let garbled = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
    for text in [one, one + two, "# an authority\n\(one)\n---\n\(two)", key + two, two.replacing("\n", with: "\r\n")] {
      #expect(defect(text) == nil && defect(text, areRoots: false) == nil, "\(text)")
    }
    for text in ["", "none", key, "----- BEGIN -----"] { #expect(defect(text) == .noCertificate, "\(text)") }
    for text in [
      garbled, one + garbled, garbled + one, one + "-----BEGIN CERTIFICATE-----\n", one + "-----BEGIN CERT",
      one + "-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\n" + one,
      one.replacing("END CERTIFICATE", with: "END X509 CERTIFICATE"),
      one.replacing("CERTIFICATE", with: "PUBLIC KEY").replacing("END PUBLIC", with: "END PRIVATE"),
      one + "-----BEGIN CERTIFICATE-----\n####\n-----END CERTIFICATE-----\n",
    ] {
      #expect(defect(text) == .brokenCertificate, "\(text)")
      #expect(defect(text, areRoots: false) == .brokenCertificate, "\(text)")
    }
    // From the first byte of its second certificate's first line on.
    for count in 11..<(two.utf8.count - 1) {
      #expect(defect(one + two.prefix(count)) == .brokenCertificate, "\(count)")
    }
  }

  @Test("A certificate with OpenSSL's remarks is a root, and nothing to show to servers")
  func trusted() async throws {
    let files = try await TestCertificates()
    let path = files.authority.certificate + ".trusted"
    try await Tool.openssl.run([
      "x509", "-in", files.authority.certificate, "-trustout", "-setalias", "a", "-out", path,
    ])
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.hasPrefix("-----BEGIN TRUSTED CERTIFICATE-----"))
    #expect(defect(text) == nil)
    #expect(defect(text, areRoots: false) == .noCertificate)
    #expect(defect(text.replacing("TRUSTED ", with: "")) == .brokenCertificate)
  }

  @Test("A public key is no certificate, whatever it is called")
  func publicKey() async throws {
    let files = try await TestCertificates()
    let path = files.server.key + ".pub"
    try await Tool.openssl.run(["pkey", "-in", files.server.key, "-pubout", "-out", path])
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(defect(text) == .noCertificate)
    #expect(defect(text.replacing("PUBLIC KEY", with: "CERTIFICATE")) == .brokenCertificate)
  }

  /// What is on every machine must not be refused.
  @Test("The system's roots are read", .enabled(if: FileManager.default.fileExists(atPath: systemRoots)))
  func system() throws {
    let data = try Data(contentsOf: URL(filePath: systemRoots))
    #expect(PEM.pieces(of: data).count > 50)
    #expect(PEM.defect(ofCertificates: data, areRoots: true) == nil)
  }
}

private let systemRoots = "/etc/ssl/certs/ca-certificates.crt"
