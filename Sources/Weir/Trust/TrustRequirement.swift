import WeirCurl

/// The proof that a server must give before anything is sent to it; a value. Requests with different requirements don't
/// share connections.
///
/// It takes precedence over the session's ``TLSConfiguration``. Of that, only the client certificate and the oldest
/// version still count, and the trust roots and pins if the requirement leaves them open.
public struct TrustRequirement: Hashable, Sendable {
  /// The certificate authorities that a certificate must lead to.
  public enum Roots: Hashable, Sendable {
    /// The session's ``TLSConfiguration/trustRoots``.
    case session
    /// These roots, in place of the session's.
    case custom(TLSConfiguration.TrustRoots)
  }

  /// The roots that the certificate's chain must lead to; empty means the session's. Two different sets can't be
  /// required at once, so that fails the request.
  public var roots: Set<Roots> = []
  /// Whether the certificate must be for the host.
  public var validatesHost = true
  /// Whether the certificate must lead to a root and be valid now.
  public var validatesChain = true
  /// The keys of which the server must have one; nil means that the session's ``TLSConfiguration/pinnedPublicKeys``
  /// apply.
  public var pinnedPublicKeys: Set<TLSConfiguration.PublicKeyPin>?

  /// Requires a certificate for the host that leads to one of the session's roots.
  public init() {}

  init(
    roots: Set<Roots> = [], validatesHost: Bool, validatesChain: Bool = true,
    pinnedPublicKeys: Set<TLSConfiguration.PublicKeyPin>? = nil
  ) {
    self.roots = roots
    self.validatesHost = validatesHost
    self.validatesChain = validatesChain
    self.pinnedPublicKeys = pinnedPublicKeys
  }

  /// Requires nothing; only a session with ``TLSConfiguration/allowsInsecureServers`` accepts it.
  public static var disabled: TrustRequirement { TrustRequirement(validatesHost: false, validatesChain: false) }

  /// Whether anyone could pose as the server.
  var isInsecure: Bool { !validatesChain && pinnedPublicKeys == nil }

  /// The requirement that demands both. A server shows one key, so it must be one that both have pinned.
  public func combined(with other: TrustRequirement) -> TrustRequirement {
    var both = self
    both.roots.formUnion(other.roots)
    both.validatesHost = validatesHost || other.validatesHost
    both.validatesChain = validatesChain || other.validatesChain
    if let pins = other.pinnedPublicKeys { both.pinnedPublicKeys = pinnedPublicKeys?.intersection(pins) ?? pins }
    return both
  }
}

/// The requirement for one host, with its form for the engine.
struct HostTrust {
  let host: String
  let requirement: TrustRequirement
  let trust: TransferTrust
}

/// A session's evaluators and the engine's form of their requirements.
struct TrustRules {
  private let manager: ServerTrustManager
  private let tls: TLSConfiguration
  /// Cached, since making a `TransferTrust` copies the roots.
  private var known: [TrustRequirement: TransferTrust] = [:]
  private static let knownLimit = 64

  init(_ manager: ServerTrustManager, _ tls: TLSConfiguration) {
    self.manager = manager
    self.tls = tls
  }

  /// The trust settings for a host; nil means that the session's own apply.
  mutating func trust(ofHost host: String) throws(WeirError) -> HostTrust? {
    guard let requirement = try requirement(forHost: host) else { return nil }
    if let trust = known[requirement] { return HostTrust(host: host, requirement: requirement, trust: trust) }
    let options = try requirement.options(for: host, in: tls)
    let trust = TransferTrust(options)
    if known.count >= Self.knownLimit { known.removeAll() }
    known[requirement] = trust
    return HostTrust(host: host, requirement: requirement, trust: trust)
  }

  private func requirement(forHost host: String) throws(WeirError) -> TrustRequirement? {
    do {
      return try manager.serverTrustEvaluator(forHost: host)?.requirement(forHost: host)
    } catch {
      throw error.asWeirError ?? .serverTrustEvaluationFailed(reason: .customEvaluationFailed(error: error))
    }
  }
}

/// The error of a requirement that no server could meet.
struct ConflictingTrustRoots: Error, CustomStringConvertible {
  var description: String { "a certificate can't be demanded to lead to two sets of roots" }
}

extension TrustRequirement {
  /// The settings of a transfer to the host; the session's apply where the requirement says nothing.
  func options(for host: String, in tls: TLSConfiguration) throws(WeirError) -> TLSOptions {
    if isInsecure, !tls.allowsInsecureServers {
      throw .serverTrustEvaluationFailed(reason: .insecureEvaluatorNotAllowed(host: host))
    }
    if pinnedPublicKeys?.isEmpty == true { throw .serverTrustEvaluationFailed(reason: .noPublicKeysFound) }
    var tls = tls
    tls.allowsInsecureServers = false
    if let roots = try trustRoots(tls.trustRoots) { tls.trustRoots = roots }
    if let pins = pinnedPublicKeys { tls.pinnedPublicKeys = pins.sorted { $0.sha256 < $1.sha256 } }
    var options = TLSOptions(tls)
    options.verifiesHost = validatesHost
    options.verifiesPeer = validatesChain
    return options
  }

  /// The required roots; nil means the session's.
  private func trustRoots(_ session: TLSConfiguration.TrustRoots) throws(WeirError) -> TLSConfiguration.TrustRoots? {
    let all = Set(
      roots.map { roots in
        switch roots {
        case .session: session
        case .custom(let custom): custom
        }
      })
    guard all.count < 2 else {
      throw .serverTrustEvaluationFailed(reason: .certificateAuthorityInvalid(error: ConflictingTrustRoots()))
    }
    if case .pem(let data)? = all.first, let defect = PEM.defect(ofCertificates: data, areRoots: true) {
      throw .serverTrustEvaluationFailed(
        reason: defect == .noCertificate ? .noCertificatesFound : .certificateAuthorityInvalid(error: defect))
    }
    return all.first
  }
}

extension WeirError.ServerTrustFailureReason {
  /// The reason why the trust evaluation of a host failed; nil if the transfer failed for another reason.
  init?(_ error: TransferError, at trust: HostTrust, url: URL?, advice: TransferAdvice) {
    guard error.kind == .curl else { return nil }
    let output = Output(host: trust.host, message: error.message, code: Int(error.code.rawValue))
    switch error.code {
    case .peerFailedVerification where error.certificateDefect == .wrongHost:
      self = .hostValidationFailed(output: output)
    case .peerFailedVerification, .tlsIssuerError, .invalidCertificateStatus:
      self = .defaultEvaluationFailed(output: output)
    case .pinnedPublicKeyMismatch:
      self = .publicKeyPinningFailed(host: trust.host, pinnedKeys: trust.trust.tls.pinnedPublicKeys)
    case .badTrustRoots:
      self = .certificateAuthorityInvalid(error: URLError(TransferFailure(error, advice: advice), url: url))
    default: return nil
    }
  }
}
