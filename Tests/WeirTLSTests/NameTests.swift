import CTLS
import Glibc
import Testing
import WeirTLS
import WeirTestSupport

@Suite(.slow) struct NameTests {
  private let certificates: [MadeCertificate]
  private let settings: TLSSettings

  init() throws {
    certificates = [
      try MadeCertificate("first", alternatives: "DNS:first.example,IP:127.0.0.1,IP:2001:db8::1"),
      try MadeCertificate("wild", alternatives: "DNS:*.wild.example"),
      try MadeCertificate("exact", alternatives: "DNS:Exact.Wild.example"),
      try MadeCertificate("rsa", alternatives: "DNS:both.example", kind: .rsa),
      try MadeCertificate("ecdsa", alternatives: "DNS:both.example"),
    ]
    settings = TLSSettings(certificates: certificates.map { $0.pair() })
  }

  @Test(arguments: [
    (nil, "first"), ("first.example", "first"), ("FIRST.example", "first"), ("a.wild.example", "wild"),
    ("A.WILD.EXAMPLE", "wild"), ("exact.wild.example", "exact"), ("a.b.wild.example", "first"),
    ("wild.example", "first"), ("\u{212A}.wild.example", "wild"), ("exact.\u{175}ild.example", "first"),
    ("unknown.example", "first"), ("127.0.0.1", "first"),
  ])
  func certificateIsChosenByName(name: String?, expected: String) throws {
    let context = try TLSServerContext(settings)
    for maximum in [TLS1_2_VERSION, TLS1_3_VERSION] {
      let connection = try Connection.opened(context, .init(serverName: name, maximum: maximum))
      #expect(connection.state == .done)
      #expect(connection.client.serverCommonName == expected)
      #expect(connection.stream.serverName == name)
    }
  }

  @Test(arguments: [
    ("ecdsa_secp256r1_sha256:rsa_pss_rsae_sha256", "ecdsa"), ("rsa_pss_rsae_sha256", "rsa"),
    ("ecdsa_secp256r1_sha256", "ecdsa"),
  ])
  func kindOfKeyIsChosenBySignatures(signatures: String, expected: String) throws {
    let context = try TLSServerContext(settings)
    for maximum in [TLS1_2_VERSION, TLS1_3_VERSION] {
      let connection = try Connection.opened(
        context, .init(serverName: "both.example", maximum: maximum, signatures: signatures))
      #expect(connection.client.serverCommonName == expected)
      #expect(connection.stream.certificateCovers(host: "both.example"))
    }
  }

  @Test func otherNamesCertificateIsNotShownForItsKindOfKey() throws {
    // The first certificate has an ECDSA key, and no RSA key stands beside it.
    let connection = try Connection.opened(
      try TLSServerContext(settings), .init(serverName: "first.example", signatures: "rsa_pss_rsae_sha256"))
    #expect(connection.failure == .noSharedCipher)
  }

  @Test(arguments: [
    ("unknown.example", false), ("a.b.wild.example", false), ("first.example", true), ("a.wild.example", true),
    (nil, true),
  ])
  func strictNamesRefuseOthers(name: String?, isGood: Bool) throws {
    var settings = settings
    settings.strictNames = true
    let connection = try Connection.opened(try TLSServerContext(settings), .init(serverName: name))
    #expect((connection.state == .done) == isGood)
    if !isGood {
      #expect(connection.failure == .unknownName)
      #expect(connection.client.failure?.contains("unrecognized name") == true)
    }
  }

  @Test func coveredHostsAreThoseOfTheCertificateShown() throws {
    let context = try TLSServerContext(settings)
    let first = try Connection.opened(context).stream
    for host in ["first.example", "FIRST.EXAMPLE", "first.example.", "127.0.0.1", "[2001:db8::1]", "2001:db8:0::1"] {
      #expect(first.certificateCovers(host: host), "\(host)")
    }
    for host in [
      "exact.wild.example", "fir\u{17F}t.example", "127.0.0.2", "[::1]", "", ".", ".example", "x.first.example",
    ] {
      #expect(!first.certificateCovers(host: host), "\(host)")
    }
    let wild = try Connection.opened(context, .init(serverName: "a.wild.example")).stream
    #expect(wild.certificateCovers(host: "b.wild.example"))
    #expect(!wild.certificateCovers(host: "wild.example"))
    #expect(!wild.certificateCovers(host: ".wild.example"))
  }

  @Test func certificatesAreListed() throws {
    let context = try TLSServerContext(
      TLSSettings(certificates: [
        certificates[2].pair(), try MadeCertificate("only a common name", seconds: 100).pair(),
      ]))
    #expect(context.certificates.map(\.name) == ["exact.wild.example", "only a common name"])
    let now = Int64(time(nil))
    #expect(abs(context.certificates[0].notAfter - now - 86_400) < 60)
    #expect(abs(context.certificates[1].notAfter - now - 100) < 60)
  }
}
