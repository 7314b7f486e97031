/// Says what a host has to prove.
@preconcurrency
public protocol ServerTrustEvaluating: Sendable {
  /// Called on the event loop before each request to the host is sent; it must not block.
  ///
  /// - Throws: Fails the request with ``WeirError/ServerTrustFailureReason/customEvaluationFailed(error:)``, unless it is a
  ///   ``WeirError``, before anything is connected.
  func requirement(forHost host: String) throws -> TrustRequirement
}

/// The certificate must lead to one of the session's roots.
public struct DefaultTrustEvaluator: ServerTrustEvaluating {
  private let validateHost: Bool

  /// - Parameter validateHost: Whether it must be the host's, too.
  public init(validateHost: Bool = true) {
    self.validateHost = validateHost
  }

  public func requirement(forHost host: String) -> TrustRequirement {
    var requirement = TrustRequirement()
    requirement.roots = [.session]
    requirement.validatesHost = validateHost
    return requirement
  }
}

/// The server's key must be one of those that are known.
public struct PublicKeysTrustEvaluator: ServerTrustEvaluating {
  private let keys: [TLSConfiguration.PublicKeyPin]
  private let performDefaultValidation: Bool
  private let validateHost: Bool

  /// - Parameters:
  ///   - keys: One match is enough. None at all fails each request with
  ///     ``WeirError/ServerTrustFailureReason/noPublicKeysFound``.
  ///   - performDefaultValidation: Whether the certificate must lead to a root, too.
  ///   - validateHost: Whether it must be the host's, too.
  public init(
    keys: [TLSConfiguration.PublicKeyPin], performDefaultValidation: Bool = true, validateHost: Bool = true
  ) {
    self.keys = keys
    self.performDefaultValidation = performDefaultValidation
    self.validateHost = validateHost
  }

  public func requirement(forHost host: String) throws -> TrustRequirement {
    guard !keys.isEmpty else { throw WeirError.serverTrustEvaluationFailed(reason: .noPublicKeysFound) }
    var requirement = TrustRequirement()
    requirement.validatesChain = performDefaultValidation
    requirement.validatesHost = validateHost
    requirement.pinnedPublicKeys = Set(keys)
    return requirement
  }
}

/// The certificate must be issued by an authority of one's own; the session's roots don't count.
public struct CustomCATrustEvaluator: ServerTrustEvaluating {
  private let roots: TLSConfiguration.TrustRoots
  private let validateHost: Bool

  /// - Parameters:
  ///   - roots: The authority's certificates.
  ///   - validateHost: Whether the certificate must be the host's, too.
  public init(_ roots: TLSConfiguration.TrustRoots, validateHost: Bool = true) {
    self.roots = roots
    self.validateHost = validateHost
  }

  public func requirement(forHost host: String) -> TrustRequirement {
    var requirement = TrustRequirement()
    requirement.roots = [.custom(roots)]
    requirement.validatesHost = validateHost
    return requirement
  }
}

/// What several evaluators demand, all of it.
public struct CompositeTrustEvaluator: ServerTrustEvaluating {
  private let evaluators: [any ServerTrustEvaluating]

  /// - Parameter evaluators: Asked in order; the first that throws fails the request.
  public init(evaluators: [any ServerTrustEvaluating]) {
    self.evaluators = evaluators
  }

  public func requirement(forHost host: String) throws -> TrustRequirement {
    guard var all = try evaluators.first?.requirement(forHost: host) else { return TrustRequirement() }
    for evaluator in evaluators.dropFirst() { all = all.combined(with: try evaluator.requirement(forHost: host)) }
    return all
  }
}

/// Anybody is taken for the server: for tests. Needs ``TLSConfiguration/allowsInsecureServers``.
public struct DisabledTrustEvaluator: ServerTrustEvaluating {
  /// No settings.
  public init() {}

  public func requirement(forHost host: String) -> TrustRequirement { .disabled }
}

extension ServerTrustEvaluating where Self == PublicKeysTrustEvaluator {
  /// ``PublicKeysTrustEvaluator``.
  public static func publicKeys(
    keys: [TLSConfiguration.PublicKeyPin], performDefaultValidation: Bool = true, validateHost: Bool = true
  ) -> PublicKeysTrustEvaluator {
    PublicKeysTrustEvaluator(
      keys: keys, performDefaultValidation: performDefaultValidation, validateHost: validateHost)
  }
}

extension ServerTrustEvaluating where Self == CustomCATrustEvaluator {
  /// ``CustomCATrustEvaluator``.
  public static func customCA(
    _ roots: TLSConfiguration.TrustRoots, validateHost: Bool = true
  ) -> CustomCATrustEvaluator {
    CustomCATrustEvaluator(roots, validateHost: validateHost)
  }
}

extension ServerTrustEvaluating where Self == CompositeTrustEvaluator {
  /// ``CompositeTrustEvaluator``.
  public static func composite(evaluators: [any ServerTrustEvaluating]) -> CompositeTrustEvaluator {
    CompositeTrustEvaluator(evaluators: evaluators)
  }
}
