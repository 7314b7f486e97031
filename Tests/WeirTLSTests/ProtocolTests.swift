import CTLS
import Testing
import WeirTLS
import WeirTestSupport

/// Versions, cipher suites and groups.
@Suite(.slow) struct ProtocolTests {
  private let settings: TLSSettings

  init() throws {
    let names = "DNS:server.example"
    settings = TLSSettings(certificates: [
      try MadeCertificate("server", alternatives: names).pair(),
      try MadeCertificate("server", alternatives: names, kind: .rsa).pair(),
    ])
  }

  private func connect(
    _ options: TestClient.Options = .init(), _ change: (inout TLSSettings) -> Void
  ) throws -> Connection {
    var settings = settings
    change(&settings)
    return try Connection.opened(try TLSServerContext(settings), options)
  }

  private func problem(_ change: (inout TLSSettings) -> Void) throws -> TLSProblem? {
    var settings = settings
    change(&settings)
    do {
      _ = try TLSServerContext(settings)
      return nil
    } catch {
      #expect(error.description.count > 20)
      #expect(error.subject == .other)
      return error
    }
  }

  @Test func newestVersionIsObeyed() throws {
    let old = try connect { $0.maximumVersion = .v1_2 }
    #expect(old.state == .done)
    #expect(old.stream.version == "1.2")
    let none = try connect(.init(minimum: TLS1_3_VERSION)) { $0.maximumVersion = .v1_2 }
    #expect(none.failure == .version)
    let only = try connect {
      $0.minimumVersion = .v1_3
      $0.maximumVersion = .v1_3
    }
    #expect(only.stream.version == "1.3")
  }

  @Test(arguments: TLSCipherSuite.allCases) func everySuiteIsSpoken(suite: TLSCipherSuite) throws {
    let connection = try connect { $0.cipherSuites = [suite] }
    #expect(connection.state == .done, "\(connection.state)")
    let isNew = [.aes128GCM, .aes256GCM, .chaCha20].contains(suite)
    if isNew {
      #expect(connection.client.cipherSuite == suite.rawValue)
      // Without a suite of TLS 1.2 that version isn't spoken.
      let old = try connect(.init(maximum: TLS1_2_VERSION)) { $0.cipherSuites = [suite] }
      #expect(old.failure == .version)
    } else {
      #expect(connection.stream.version == "1.3")
      let old = try connect(.init(maximum: TLS1_2_VERSION)) { $0.cipherSuites = [suite] }
      #expect(old.state == .done, "\(old.state)")
      #expect(old.client.cipherSuite == suite.rawValue)
      let other = suite == .rsaAES128GCM ? "ECDHE-RSA-AES256-GCM-SHA384" : "ECDHE-RSA-AES128-GCM-SHA256"
      let without = try connect(.init(maximum: TLS1_2_VERSION, ciphers: other)) { $0.cipherSuites = [suite] }
      #expect(without.failure == .noSharedCipher)
    }
  }

  @Test(arguments: [false, true]) func orderOfSuitesIsTheServersOrTheClients(prefersServerOrder: Bool) throws {
    let options = TestClient.Options(
      maximum: TLS1_2_VERSION, ciphers: "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384")
    let connection = try connect(options) {
      $0.cipherSuites = [.rsaAES256GCM, .rsaAES128GCM]
      $0.prefersServerOrder = prefersServerOrder
    }
    let expected: TLSCipherSuite = prefersServerOrder ? .rsaAES256GCM : .rsaAES128GCM
    #expect(connection.client.cipherSuite == expected.rawValue)
  }

  @Test(arguments: [(TLSGroup.p256, "P-256"), (.p384, "P-384"), (.p521, "P-521"), (.x25519, "X25519")])
  func onlyTheGroupsOfTheListAreSpoken(group: TLSGroup, name: String) throws {
    for maximum in [TLS1_2_VERSION, TLS1_3_VERSION] {
      for offered in ["P-256", "P-384", "P-521", "X25519"] {
        // With certificates of RSA alone: one of P-256 asks the client for that group.
        let connection = try connect(
          .init(maximum: maximum, ciphers: "ECDHE-RSA-AES128-GCM-SHA256", groups: offered)
        ) {
          $0.certificates.removeFirst()
          $0.groups = [group]
        }
        #expect((connection.state == .done) == (offered == name), "\(connection.state)")
        if offered != name { #expect(connection.failure == .noSharedCipher) }
      }
    }
    let several = try connect { $0.groups = group == .p521 ? [group] : [group, .p521] }
    #expect(several.state == .done)
  }

  @Test func contradictionsAreProblems() throws {
    #expect(
      try problem {
        $0.minimumVersion = .v1_3
        $0.maximumVersion = .v1_2
      } == .versionsReversed)
    #expect(
      try problem {
        $0.cipherSuites = [.aes128GCM]
        $0.maximumVersion = .v1_2
      } == .noCipherSuiteForVersion)
    #expect(try problem { $0.allowedClientNames = ["a"] } == .namesWithoutCertificates)
    #expect(
      try problem {
        $0.allowedClientNames = ["a"]
        $0.clientAuth = .optionalUnverified
      } == .namesWithoutCertificates)
    // It depends on OpenSSL's version.
    let problem = try problem { $0.groups = [.x25519MLKEM768, .p256] }
    #expect(problem == nil || problem == .unknownGroup(.x25519MLKEM768))
  }

  @Test func ticketsEndWithTheirSuite() throws {
    var settings = settings
    settings.cipherSuites = [.rsaAES256GCM, .rsaAES128GCM]
    let before = try TLSServerContext(settings)
    let old = TestClient.Options(maximum: TLS1_2_VERSION)
    let first = try Connection.opened(before, old)
    var again = old
    again.session = first.client.session
    #expect(try Connection.opened(before, again).stream.isResumed)
    settings.cipherSuites = [.rsaAES128GCM]
    let second = try Connection.opened(try TLSServerContext(settings, keysOf: before), again)
    #expect(second.state == .done)
    #expect(!second.stream.isResumed)
  }
}
