import CTLS
import Glibc
import Testing
import WeirTLS
import WeirTestSupport

@Suite struct ClientCertificateTests {
  private let authority: MadeCertificate
  private let other: MadeCertificate
  private let settings: TLSSettings

  init() throws {
    authority = try MadeCertificate("authority", isAuthority: true)
    other = try MadeCertificate("other", isAuthority: true)
    settings = TLSSettings(
      certificates: [try MadeCertificate("server", alternatives: "DNS:server.example").pair()],
      clientCA: authority.certificatePEM)
  }

  enum Shown: CaseIterable { case none, good, foreign, expired, selfSigned }

  private func make(_ shown: Shown) throws -> MadeCertificate? {
    switch shown {
    case .none: nil
    case .good: try MadeCertificate("client", by: authority)
    case .foreign: try MadeCertificate("client", by: other)
    case .expired: try MadeCertificate("client", by: authority, seconds: -60)
    case .selfSigned: try MadeCertificate("client")
    }
  }

  @Test(arguments: Shown.allCases, [TLSSettings.ClientAuth.required, .optional])
  func certificateIsJudged(shown: Shown, clientAuth: TLSSettings.ClientAuth) throws {
    var settings = settings
    settings.clientAuth = clientAuth
    let context = try TLSServerContext(settings)
    let isGood = shown == .good || shown == .none && clientAuth == .optional
    for maximum in [TLS1_2_VERSION, TLS1_3_VERSION] {
      let connection = try Connection.opened(context, .init(maximum: maximum, certificate: try make(shown)))
      #expect((connection.state == .done) == isGood, "\(connection.state)")
      #expect((connection.stream.clientCertificate != nil) == (shown == .good))
      if !isGood {
        #expect(connection.failure == (shown == .none ? .clientCertificateMissing : .clientCertificateBad))
        #expect(connection.client.failure?.contains("alert") == true)
      }
    }
  }

  @Test func certificateIsToldInWords() throws {
    let certificate = try MadeCertificate("Zoë \"x\"\r\n, y", by: authority)
    let connection = try Connection.opened(try TLSServerContext(settings), .init(certificate: certificate))
    let told = try #require(connection.stream.clientCertificate)
    #expect(told.subject == #"CN=Zo\C3\AB \"x\"\0D\0A\, y,O=Weir\, Inc."#)
    let pem = String(decoding: certificate.certificatePEM, as: UTF8.self)
    let base64 = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
    #expect(told.encoded == ":\(base64):")
  }

  @Test func resumedConnectionsKeepTheCertificate() throws {
    let context = try TLSServerContext(settings)
    for maximum in [TLS1_2_VERSION, TLS1_3_VERSION] {
      let first = try Connection.opened(context, .init(maximum: maximum, certificate: try make(.good)))
      let second = try Connection.opened(context, .init(maximum: maximum, session: first.client.session))
      #expect(second.stream.isResumed)
      #expect(second.stream.clientCertificate == first.stream.clientCertificate)
      #expect(second.stream.clientCertificate != nil)
    }
  }

  @Test func ticketsOfAnExpiredCertificateAreIgnored() throws {
    let context = try TLSServerContext(settings)
    // OpenSSL compares whole seconds.
    let certificate = try MadeCertificate("client", by: authority, seconds: 1)
    let first = try Connection.opened(context, .init(certificate: certificate))
    try #require(first.state == .done)
    #expect(eventually { X509_cmp_current_time(X509_get0_notAfter(certificate.x509)) <= 0 })
    let second = try Connection.opened(context, .init(certificate: try make(.good), session: first.client.session))
    #expect(second.state == .done)
    #expect(!second.stream.isResumed)
  }

  /// A client can't make the server hold what it likes before it is known.
  @Test func certificatesHaveALimit() throws {
    let context = try TLSServerContext(settings)
    for (count, isGood) in [(1500, true), (3000, false)] {
      let names = (0..<count).map { "DNS:\($0).a.example" }.joined(separator: ",")
      let certificate = try MadeCertificate("client", alternatives: names, by: authority)
      for maximum in [TLS1_2_VERSION, TLS1_3_VERSION] {
        let connection = try Connection.opened(context, .init(maximum: maximum, certificate: certificate))
        #expect((connection.state == .done) == isGood, "\(connection.state)")
        #expect(connection.failure == (isGood ? nil : .protocolError))
        guard isGood else { continue }
        let second = try Connection.opened(context, .init(maximum: maximum, session: connection.client.session))
        #expect(second.stream.isResumed)
      }
    }
  }

  @Test func ticketWithoutCertificateIsNoWayIn() throws {
    var optional = settings
    optional.clientAuth = .optional
    let before = try TLSServerContext(optional)
    let after = try TLSServerContext(settings, keysOf: before)
    for maximum in [TLS1_2_VERSION, TLS1_3_VERSION] {
      let first = try Connection.opened(before, .init(maximum: maximum))
      #expect(try Connection.opened(before, .init(maximum: maximum, session: first.client.session)).stream.isResumed)
      let second = try Connection.opened(after, .init(maximum: maximum, session: first.client.session))
      #expect(second.failure == .clientCertificateMissing)
    }
  }
}
