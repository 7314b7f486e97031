import Foundation
import Testing
import WeirTestSupport

@testable import Weir

/// Pins made of certificates and keys, whoever wrote these.
@Suite("§23 Pins", .enabled(if: Tool.openssl.isInstalled), .timeLimit(.minutes(5)))
struct PublicKeyPinTests {
  private typealias Pin = TLSConfiguration.PublicKeyPin

  @Test("The prefix of libcurl may stand before a digest")
  func prefix() {
    #expect(Pin(sha256: "sha256//abc=") == Pin(sha256: "abc="))
  }

  @Test(
    "A certificate's key and the key itself have the digest that openssl gives them",
    arguments: [
      ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"], ["ec", "-pkeyopt", "ec_paramgen_curve:secp384r1"],
      ["rsa:2048"], ["ed25519"],
    ])
  func digests(kind: [String]) async throws {
    let directory = try TemporaryDirectory()
    let files = KeyFiles(directory.path)
    try await files.make(kind)
    let expected = Pin(sha256: try await files.digest())
    #expect(try Pin(pem: files.text("cert.pem")) == expected)
    #expect(try Pin(pem: files.text("key.pub")) == expected)
    #expect(try Pin(der: files.data("cert.der")) == expected)
    #expect(try Pin(der: files.data("key.der")) == expected)
    // Of several the first; lines before it, of whatever kind, and line ends don't matter.
    let others = try await TestCertificates()
    let other = try String(contentsOfFile: others.server.certificate, encoding: .utf8)
    let both = "subject=CN\n" + (try files.text("cert.pem")) + other
    #expect(try Pin(pem: both.replacing("\n", with: "\r\n")) == expected)
  }

  @Test(
    "What holds no public key has no pin",
    arguments: [
      "", "no PEM", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
      "-----BEGIN CERTIFICATE-----\nMAA=\n", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END PUBLIC KEY-----\n",
      "-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----\n",
      "-----BEGIN PUBLIC KEY-----\n####\n-----END PUBLIC KEY-----\n",
      "-----BEGIN ------END -----", "-----BEGIN -----\n-----END -----",
    ])
  func none(text: String) {
    #expect(throws: WeirError.self) { try Pin(pem: text) }
    #expect(throws: WeirError.self) { try Pin(der: Data(text.utf8)) }
  }

  @Test("A private key is none, whatever public key could be made of it")
  func privateKey() async throws {
    let certificates = try await TestCertificates()
    let text = try String(contentsOfFile: certificates.server.key, encoding: .utf8)
    #expect { try Pin(pem: text) } throws: { error in
      if case .serverTrustEvaluationFailed(.noPublicKeysFound)? = error.asWeirError { true } else { false }
    }
  }

  /// Each prefix of a certificate, and each with some of its bytes changed: no pin, or one; never a trap.
  @Test("Hostile encodings are read within their bounds")
  func hostile() async throws {
    let directory = try TemporaryDirectory()
    let files = KeyFiles(directory.path)
    try await files.make(["rsa:2048"])
    let whole = [UInt8](try files.data("cert.der"))
    #expect(DERReader.publicKey(in: whole) != nil)
    for count in 0..<whole.count { #expect(DERReader.publicKey(in: Array(whole[..<count])) == nil) }
    #expect(DERReader.publicKey(in: whole + [0]) == nil)
    var random = SeededRandom(seed: 23)
    var found = 0
    for _ in 0..<20_000 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if let key = DERReader.publicKey(in: bytes) {
        found += 1
        #expect(key.count <= bytes.count && key.first == DERReader.sequence)
      }
    }
    #expect(found > 0 && found < 20_000)
    let likely: [UInt8] = [0x30, 0x30, 0x82, 0x84, 0xff, 0x03, 0x06, 0x02, 0xa0, 0x00]
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in likely.randomElement(using: &random) ?? 0 }
      if let key = DERReader.publicKey(in: bytes) { #expect(key.startIndex >= 0 && key.endIndex <= bytes.count) }
    }
  }

  @Test(
    "Lengths are what DER says, and never more than there is",
    arguments: [
      ([0x04, 0x00], 2), ([0x04, 0x02, 1, 2], 4), ([0x04, 0x81, 0x01, 9], 4), ([0x04, 0x82, 0x00, 0x01, 9], 5),
      ([0x04, 0x83, 0x00, 0x00, 0x01, 9], 6), ([0x04], nil), ([0x04, 0x01], nil), ([0x04, 0x80, 0, 0], nil),
      ([0x04, 0x81], nil), ([0x04, 0x82, 0x01], nil), ([0x04, 0x84, 0, 0, 0, 1, 9], nil), ([0x04, 0xff], nil),
      ([0x04, 0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], nil), ([0x1f, 0x01, 0x00], nil), ([], nil),
    ] as [([UInt8], Int?)])
  func lengths(bytes: [UInt8], end: Int?) {
    var reader = DERReader(bytes)
    #expect(reader.next()?.whole.upperBound == end)
  }
}

/// A key of some kind, and a certificate of it.
private struct KeyFiles {
  let directory: String

  init(_ directory: String) {
    self.directory = directory
  }

  func path(_ name: String) -> String { "\(directory)/\(name)" }
  func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }
  func data(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }

  func make(_ kind: [String]) async throws {
    try await Tool.openssl.run(
      ["req", "-x509", "-subj", "/CN=weir test", "-noenc", "-keyout", path("key.pem"), "-out", path("cert.pem")]
        + ["-newkey"] + kind)
    try await Tool.openssl.run(["x509", "-in", path("cert.pem"), "-outform", "DER", "-out", path("cert.der")])
    try await Tool.openssl.run(["pkey", "-in", path("key.pem"), "-pubout", "-out", path("key.pub")])
    try await Tool.openssl.run(["pkey", "-in", path("key.pem"), "-pubout", "-outform", "DER", "-out", path("key.der")])
  }

  func digest() async throws -> String {
    try await Tool.openssl.run(["dgst", "-sha256", "-binary", "-out", path("digest"), path("key.der")])
    return try data("digest").base64EncodedString()
  }
}
