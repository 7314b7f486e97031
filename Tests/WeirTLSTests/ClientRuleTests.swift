import CTLS
import Testing
import WeirTLS

/// Rules for clients' certificates beyond those of an authority.
@Suite struct ClientRuleTests {
  private let authority: MadeCertificate
  private let settings: TLSSettings

  init() throws {
    authority = try MadeCertificate("authority", isAuthority: true)
    settings = TLSSettings(certificates: [try MadeCertificate("server", alternatives: "DNS:server.example").pair()])
  }

  private func connect(
    _ settings: TLSSettings, _ certificate: MadeCertificate?, _ check: (Connection) throws -> Void
  ) throws {
    for maximum in [TLS1_2_VERSION, TLS1_3_VERSION] {
      let context = try TLSServerContext(settings)
      let connection = try Connection.opened(context, .init(maximum: maximum, certificate: certificate))
      try check(connection)
      guard connection.state == .done else {
        #expect(connection.client.failure?.contains("alert") == true)
        continue
      }
      let again = try Connection.opened(context, .init(maximum: maximum, session: connection.client.session))
      #expect(again.stream.isResumed)
      #expect(again.stream.clientCertificate == connection.stream.clientCertificate)
    }
  }

  @Test func anyCertificateIsTakenUnverified() throws {
    var settings = settings
    for (rule, isRequired) in [(TLSSettings.ClientAuth.requiredUnverified, true), (.optionalUnverified, false)] {
      settings.clientAuth = rule
      // Authorities mean nothing then.
      for trusted in [nil, authority.certificatePEM] {
        settings.clientCA = trusted
        try connect(settings, nil) {
          #expect($0.failure == (isRequired ? .clientCertificateMissing : nil))
          #expect($0.stream.clientCertificate == nil)
        }
        for certificate in [try MadeCertificate("self-signed"), try MadeCertificate("known", by: authority)] {
          try connect(settings, certificate) {
            #expect($0.state == .done, "\($0.state)")
            #expect($0.stream.clientCertificate != nil)
          }
        }
        let expired = try Connection.opened(
          try TLSServerContext(settings), .init(certificate: try MadeCertificate("expired", seconds: -60)))
        #expect(expired.state == .done)
      }
    }
  }

  /// A client can't show a certificate whose key it does not have. In TLS 1.2 the proof can be seen, and spoilt.
  @Test func possessionIsProven() throws {
    var settings = settings
    settings.clientAuth = .requiredUnverified
    let stream = try TLSStream(try TLSServerContext(settings))
    let client = try TestClient(.init(maximum: TLS1_2_VERSION, certificate: try MadeCertificate("client")))
    client.handshake()
    stream.take(client.takeOutput())
    #expect(stream.step() == .needsInput)
    client.take(stream.takeOutput())
    client.handshake()
    var flight = client.takeOutput(), place = 0, hasProof = false
    while place < flight.count {
      let end = place + 5 + Int(flight[place + 3]) << 8 + Int(flight[place + 4])
      // The message CertificateVerify ends with the signature.
      if flight[place] == 22, flight[place + 5] == 15 {
        flight[end - 1] ^= 1
        hasProof = true
      }
      place = end
    }
    try #require(hasProof)
    stream.take(flight)
    guard case .failed = stream.step() else {
      Issue.record("the signature is not checked")
      return
    }
  }

  @Test(
    arguments: [
      ("DNS:a.example", "a.example", true), ("DNS:a.example", "A.example", false),
      ("DNS:a.example", "b.example", false),
      ("DNS:a.example,DNS:b.example", "b.example", true), ("DNS:*.example", "a.example", false),
      ("email:a@b.example", "a@b.example", true), ("IP:192.0.2.7", "192.0.2.7", true),
      ("IP:192.0.2.7", "192.0.2.70", false), ("IP:2001:db8::1", "2001:db8::1", true),
      ("IP:::ffff:192.0.2.7", "192.0.2.7", true), ("URI:spiffe://a/b", "spiffe://a/b", true),
      ("URI:spiffe://a/b", "spiffe://a", false), ("RID:1.2.3", "1.2.3", false), (nil, "client", false),
    ] as [(String?, String, Bool)])
  func oneOfTheNamesIsAllowed(alternatives: String?, allowed: String, isGood: Bool) throws {
    var settings = settings
    settings.clientCA = authority.certificatePEM
    settings.allowedClientNames = [allowed, "other.example"]
    let certificate = try MadeCertificate("client", alternatives: alternatives, by: authority)
    for rule in [TLSSettings.ClientAuth.required, .requiredUnverified] {
      settings.clientAuth = rule
      try connect(settings, certificate) {
        #expect(($0.state == .done) == isGood, "\($0.state)")
        guard case .failed(let failure) = $0.state else { return }
        #expect(failure.reason == .clientCertificateBad)
        #expect(failure.description.contains("none of its subject alternative names is allowed"))
        #expect($0.client.failure?.contains("bad certificate") == true, "\($0.client.failure ?? "")")
      }
    }
  }

  @Test func aNameIsNotEnough() throws {
    var settings = settings
    settings.clientCA = authority.certificatePEM
    settings.allowedClientNames = ["a.example"]
    try connect(settings, nil) { #expect($0.failure == .clientCertificateMissing) }
    try connect(settings, try MadeCertificate("client", alternatives: "DNS:a.example")) {
      #expect($0.failure == .clientCertificateBad)
      #expect($0.client.failure?.contains("unknown ca") == true, "\($0.client.failure ?? "")")
    }
  }

  /// A ticket of earlier rules lets no client in.
  @Test func ticketsEndWithTheRules() throws {
    var first = settings
    first.clientCA = authority.certificatePEM
    first.allowedClientNames = ["a.example"]
    var others = [first, first, first]
    others[0].allowedClientNames = ["b.example"]
    others[1].allowedClientNames = nil
    others[2].clientAuth = .requiredUnverified
    let certificate = try MadeCertificate("client", alternatives: "DNS:a.example", by: authority)
    for maximum in [TLS1_2_VERSION, TLS1_3_VERSION] {
      let before = try TLSServerContext(first)
      let connection = try Connection.opened(before, .init(maximum: maximum, certificate: certificate))
      try #require(connection.state == .done)
      for other in others {
        let after = try TLSServerContext(other, keysOf: before)
        let again = try Connection.opened(after, .init(maximum: maximum, session: connection.client.session))
        #expect(!again.stream.isResumed)
        #expect(again.failure == .clientCertificateMissing)
      }
    }
  }
}
