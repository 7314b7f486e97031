import CTLS
import Testing
import WeirTLS

@Suite struct ProblemTests {
  private let one: MadeCertificate
  private let two: MadeCertificate

  init() throws {
    one = try MadeCertificate("one", alternatives: "DNS:one.example")
    two = try MadeCertificate("two", alternatives: "DNS:two.example")
  }

  private func problem(_ settings: TLSSettings) throws -> TLSProblem? {
    do {
      _ = try TLSServerContext(settings)
      return nil
    } catch {
      // A sentence tells what to do after what is wrong.
      #expect(error.description.count > 20)
      return error
    }
  }

  private func problem(chain: [UInt8]? = nil, key: [UInt8]? = nil) throws -> TLSProblem? {
    let pair = TLSCertificate(chain: chain ?? one.certificatePEM, key: key ?? one.keyPEM)
    return try problem(TLSSettings(certificates: [two.pair(), pair]))
  }

  @Test func certificatesAreChecked() throws {
    #expect(try problem() == nil)
    #expect(try problem(chain: []) == .notPEM(.chain(1)))
    #expect(try problem(chain: [0x30, 0x82, 1, 2, 0, 0xff]) == .notPEM(.chain(1)))
    #expect(try problem(chain: one.keyPEM) == .noCertificate(.chain(1)))
    #expect(try problem(key: []) == .notPEM(.key(1)))
    #expect(try problem(key: one.encryptedKeyPEM) == .keyEncrypted(index: 1))
    #expect(try problem(key: one.encryptedKeyPEMOfOld) == .keyEncrypted(index: 1))
    let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
    #expect(try problem(key: Array(parameters.utf8) + one.keyPEM) == nil)
    #expect(try problem(key: one.certificatePEM + one.keyPEM) == nil)
    #expect(try problem(key: two.keyPEM) == .keyMismatch(index: 1))
    #expect(try problem(key: try MadeCertificate("rsa", kind: .rsa).keyPEM) == .keyMismatch(index: 1))
    #expect(try problem(chain: two.certificatePEM + one.certificatePEM) == .chainOrder(index: 1))
    // A file may hold both, and text around them.
    #expect(try problem(chain: Array("text\r\n".utf8) + one.keyPEM + one.certificatePEM + two.certificatePEM) == nil)

    guard case .damaged(.key(1), _) = try problem(key: one.certificatePEM) else {
      Issue.record("a certificate is no key")
      return
    }
    var damaged = one.certificatePEM
    damaged[60] = UInt8(ascii: "!")
    guard case .damaged(.chain(1), _) = try problem(chain: damaged) else {
      Issue.record("the certificate is damaged")
      return
    }
    // One that breaks off after a good one isn't left out.
    guard case .damaged(.chain(1), _) = try problem(chain: one.certificatePEM + damaged) else {
      Issue.record("the chain is damaged")
      return
    }
  }

  @Test func everyPrefixOfAFileIsAProblem() throws {
    let chain = one.certificatePEM
    for count in 0..<(chain.count - 1) { #expect(try problem(chain: Array(chain[..<count])) != nil, "\(count)") }
  }

  @Test func numbersAreChecked() throws {
    #expect(try problem(TLSSettings(certificates: [])) == .noCertificates)
    let many = [TLSCertificate](repeating: one.pair(), count: 101)
    #expect(try problem(TLSSettings(certificates: many)) == .tooManyCertificates(101))
    #expect(try problem(TLSSettings(certificates: Array(many.dropLast()))) == nil)

    func problemOfKeys(_ keys: [Int]) throws -> TLSProblem? {
      let keys = keys.map { [UInt8](repeating: 1, count: $0) }
      return try problem(TLSSettings(certificates: [one.pair()], ticketKeys: keys))
    }
    #expect(try problemOfKeys([]) == .ticketKeyCount(0))
    #expect(try problemOfKeys([80, 80, 80, 80, 80]) == .ticketKeyCount(5))
    #expect(try problemOfKeys([80, 48]) == .ticketKeyLength(index: 1, length: 48))
    #expect(try problemOfKeys([80, 80, 80, 80]) == nil)
  }

  @Test func authoritiesAreChecked() throws {
    func problemOfAuthorities(_ authorities: [UInt8]) throws -> TLSProblem? {
      try problem(TLSSettings(certificates: [one.pair()], clientCA: authorities))
    }
    #expect(try problemOfAuthorities([]) == .notPEM(.clientCA))
    #expect(try problemOfAuthorities(one.keyPEM) == .noCertificate(.clientCA))
    #expect(try problemOfAuthorities(two.certificatePEM) == nil)
    #expect(try problemOfAuthorities(two.certificatePEM + two.certificatePEM) == nil)
  }
}
