import Foundation
import Testing
import WeirCurl
import WeirTransport

@testable import Weir

/// What is demanded, as a value: how demands add up, and what libcurl is told.
@Suite("§23 Requirements") struct TrustRequirementTests {
  private let advice = TransferAdvice(options: TransportOptions(SessionConfiguration()))

  private typealias Pin = TLSConfiguration.PublicKeyPin

  private static let roots = TLSConfiguration.TrustRoots.file("/ours.pem")
  private static let (a, b, c) = (Pin(sha256: "a"), Pin(sha256: "b"), Pin(sha256: "c"))

  @Test("What each evaluator demands")
  func evaluators() throws {
    let plain = DefaultTrustEvaluator().requirement(forHost: "h")
    #expect(plain.roots == [.session] && plain.validatesHost && plain.validatesChain && plain.pinnedPublicKeys == nil)
    #expect(!DefaultTrustEvaluator(validateHost: false).requirement(forHost: "h").validatesHost)
    let pins = try PublicKeysTrustEvaluator(keys: [Self.a]).requirement(forHost: "h")
    #expect(pins.validatesChain && pins.validatesHost && pins.pinnedPublicKeys == [Self.a] && pins.roots.isEmpty)
    let pinsOnly = try PublicKeysTrustEvaluator(keys: [Self.a], performDefaultValidation: false, validateHost: false)
      .requirement(forHost: "h")
    #expect(!pinsOnly.validatesChain && !pinsOnly.validatesHost && !pinsOnly.isInsecure)
    #expect(CustomCATrustEvaluator(Self.roots).requirement(forHost: "h").roots == [.custom(Self.roots)])
    #expect(DisabledTrustEvaluator().requirement(forHost: "h") == .disabled && TrustRequirement.disabled.isInsecure)
    #expect(throws: WeirError.self) { try PublicKeysTrustEvaluator(keys: []).requirement(forHost: "h") }
  }

  @Test("A composite demands all")
  func composite() throws {
    func demand(_ evaluators: any ServerTrustEvaluating...) throws -> TrustRequirement {
      try CompositeTrustEvaluator(evaluators: evaluators).requirement(forHost: "h")
    }
    #expect(try demand() == TrustRequirement())
    #expect(
      try demand(.publicKeys(keys: [Self.a, Self.b]), .publicKeys(keys: [Self.b, Self.c])).pinnedPublicKeys == [Self.b])
    #expect(try demand(.publicKeys(keys: [Self.a]), .publicKeys(keys: [Self.b])).pinnedPublicKeys == [])
    let both = try demand(.publicKeys(keys: [Self.a], performDefaultValidation: false), .customCA(Self.roots))
    #expect(both.validatesChain && both.pinnedPublicKeys == [Self.a] && both.roots == [.custom(Self.roots)])
    #expect(
      try demand(DisabledTrustEvaluator(), DefaultTrustEvaluator()) == DefaultTrustEvaluator().requirement(forHost: "h")
    )
    #expect(
      try demand(.composite(evaluators: [.publicKeys(keys: [Self.a])]), DisabledTrustEvaluator()).pinnedPublicKeys == [
        Self.a
      ])
    #expect(throws: WeirError.self) { try demand(DefaultTrustEvaluator(), .publicKeys(keys: [])) }
  }

  @Test("Demands become libcurl's settings, the session's where there is none")
  func options() throws {
    var tls = TLSConfiguration()
    tls.trustRoots = Self.roots
    tls.pinnedPublicKeys = [Self.c]
    tls.minimumVersion = .tls13
    tls.allowsInsecureServers = true
    let plain = try TrustRequirement().options(for: "h", in: tls)
    #expect(plain.roots == .file("/ours.pem") && plain.verifiesHost && plain.verifiesPeer)
    #expect(plain.pinnedPublicKeys == ["c"] && plain.minimumVersion == .tls13)
    var pinned = TrustRequirement()
    pinned.pinnedPublicKeys = [Self.b, Self.a]
    pinned.roots = [.custom(.system)]
    let options = try pinned.options(for: "h", in: tls)
    #expect(options.pinnedPublicKeys == ["a", "b"] && options.roots == .system)
    let disabled = try TrustRequirement.disabled.options(for: "h", in: tls)
    #expect(!disabled.verifiesHost && !disabled.verifiesPeer && disabled.pinnedPublicKeys == ["c"])
    // The same roots twice are one demand.
    var twice = TrustRequirement()
    twice.roots = [.session, .custom(Self.roots)]
    #expect(try twice.options(for: "h", in: tls).roots == .file("/ours.pem"))
  }

  @Test(
    "What can't be fulfilled, or must not be, is refused",
    arguments: [
      ("insecure_evaluator_not_allowed", TrustRequirement.disabled), ("no_public_keys_found", pinned([])),
      ("certificate_authority_invalid", rooted([.session, .custom(roots)])),
      ("no_certificates_found", rooted([.custom(.pem(Data("none".utf8)))])),
      ("certificate_authority_invalid", rooted([.custom(.pem(Data("-----BEGIN CERTIFICATE-----\nMAA=".utf8)))])),
    ])
  func refusals(label: String, requirement: TrustRequirement) throws {
    let error = try #require(throws: WeirError.self) { try requirement.options(for: "h", in: TLSConfiguration()) }
    #expect(error.label == label)
    #expect(error.isServerTrustEvaluationError)
  }

  private static func pinned(_ pins: Set<Pin>) -> TrustRequirement {
    var requirement = TrustRequirement()
    requirement.pinnedPublicKeys = pins
    return requirement
  }

  private static func rooted(_ roots: Set<TrustRequirement.Roots>) -> TrustRequirement {
    var requirement = TrustRequirement()
    requirement.roots = roots
    return requirement
  }

  // MARK: Hosts

  @Test("Lookup is by exact name, in whatever case, with a dot at the end or none")
  func lookup() throws {
    let manager = ServerTrustManager(evaluators: [
      "Api.Example.com": DefaultTrustEvaluator(), "::1": DisabledTrustEvaluator(),
    ])
    for host in ["api.example.com", "API.EXAMPLE.COM", "api.example.com."] {
      #expect(try manager.serverTrustEvaluator(forHost: host) is DefaultTrustEvaluator)
    }
    for host in ["[::1]", "[0:0:0:0:0:0:0:1]", "0::1"] {
      #expect(try manager.serverTrustEvaluator(forHost: host) is DisabledTrustEvaluator)
    }
    for host in ["example.com", "x.api.example.com", "api.example.com..", "", "xapi.example.com"] {
      let error = try #require(throws: WeirError.self) { try manager.serverTrustEvaluator(forHost: host) }
      #expect(error.label == "no_required_evaluator")
    }
    let lax = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: manager.evaluators)
    #expect(try lax.serverTrustEvaluator(forHost: "example.com") == nil)
    #expect(try lax.serverTrustEvaluator(forHost: "api.example.com") != nil)
  }

  @Test("Spellings of one host demand all that any of them does")
  func spellings() throws {
    let pins: (Pin...) -> PublicKeysTrustEvaluator = { .publicKeys(keys: $0) }
    for _ in 0..<20 {
      let manager = ServerTrustManager(evaluators: [
        "A.example": pins(Self.a, Self.b), "a.example.": CustomCATrustEvaluator(Self.roots),
        "a.example": pins(Self.b, Self.c), "A.EXAMPLE": DisabledTrustEvaluator(), "b.example": pins(Self.c),
      ])
      let requirement = try #require(try manager.serverTrustEvaluator(forHost: "a.example")).requirement(forHost: "h")
      #expect(requirement.roots == [.custom(Self.roots)] && requirement.pinnedPublicKeys == [Self.b])
      #expect(requirement.validatesHost && requirement.validatesChain)
    }
  }

  @Test("Of those the first by spelling that throws says why")
  func throwing() throws {
    struct Refusing: ServerTrustEvaluating {
      let reason: WeirError.ServerTrustFailureReason
      func requirement(forHost host: String) throws -> TrustRequirement {
        throw WeirError.serverTrustEvaluationFailed(reason: reason)
      }
    }
    for _ in 0..<20 {
      let manager = ServerTrustManager(evaluators: [
        "a.example": Refusing(reason: .noPublicKeysFound), "A.example": Refusing(reason: .noCertificatesFound),
      ])
      let evaluator = try #require(try manager.serverTrustEvaluator(forHost: "a.example"))
      let error = try #require(throws: WeirError.self) { try evaluator.requirement(forHost: "a.example") }
      #expect(error.label == "no_certificates_found")
    }
  }

  // MARK: Failures

  @Test(
    "libcurl's results, at a host with an evaluator",
    arguments: [
      (CurlCode.peerFailedVerification, 0, "host_validation_failed" as String?),
      (.peerFailedVerification, 1, "host_validation_failed"),
      (.peerFailedVerification, 62, "host_validation_failed"), (.peerFailedVerification, 64, "host_validation_failed"),
      (.peerFailedVerification, 10, "default_evaluation_failed"),
      (.peerFailedVerification, 18, "default_evaluation_failed"),
      (.peerFailedVerification, 23, "default_evaluation_failed"), (.tlsIssuerError, 0, "default_evaluation_failed"),
      (.pinnedPublicKeyMismatch, 0, "public_key_pinning_failed"), (.badTrustRoots, 0, "certificate_authority_invalid"),
      (.tlsConnect, 0, nil), (.couldNotConnect, 0, nil), (.clientCertificateProblem, 0, nil), (.timedOut, 0, nil),
    ])
  func failures(code: CurlCode, result: Int, label: String?) throws {
    let defect = code == .peerFailedVerification ? CertificateDefect(verifyResult: result) : nil
    let error = TransferError(.curl, code: code, message: "said libcurl", certificateDefect: defect)
    let trust = HostTrust(host: "h.example", requirement: TrustRequirement(), trust: TransferTrust(TLSOptions()))
    let reason = WeirError.ServerTrustFailureReason(error, at: trust, url: nil, advice: advice)
    #expect(reason?.summary.label == label)
    if let reason { #expect(WeirError.serverTrustEvaluationFailed(reason: reason).isServerTrustEvaluationError) }
    let silence = TransferError(.silence, message: "")
    #expect(WeirError.ServerTrustFailureReason(silence, at: trust, url: nil, advice: advice) == nil)
  }

  @Test(
    "libcurl's results, without one",
    arguments: [
      (0, URLError.Code.serverCertificateUntrusted), (1, .serverCertificateUntrusted),
      (2, .serverCertificateHasUnknownRoot),
      (9, .serverCertificateNotYetValid), (10, .serverCertificateHasBadDate), (13, .serverCertificateNotYetValid),
      (14, .serverCertificateHasBadDate), (18, .serverCertificateHasUnknownRoot),
      (19, .serverCertificateHasUnknownRoot),
      (20, .serverCertificateHasUnknownRoot), (21, .serverCertificateHasUnknownRoot), (23, .serverCertificateUntrusted),
      (62, .serverCertificateUntrusted), (64, .serverCertificateUntrusted), (9_999, .serverCertificateUntrusted),
    ])
  func codes(result: Int, code: URLError.Code) {
    let defect = CertificateDefect(verifyResult: result)
    // Whatever the text says.
    let error = TransferError(
      .curl, code: .peerFailedVerification, message: "certificate has expired, self-signed", certificateDefect: defect)
    #expect(URLError(TransferFailure(error, advice: advice), url: nil).code == code)
    #expect(CertificateDefect(verifyResult: result, isOpenSSL: false) == .other)
  }
}
