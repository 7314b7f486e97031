/// Decides what a host has to prove.
@preconcurrency
public protocol ServerTrustEvaluating: Sendable {
  /// Called on the event loop before each request to the host is sent; it must not block.
  ///
  /// - Throws: An error fails the request before a connection is made. Unless it is a ``WeirError``, it becomes a
  ///   ``WeirError/ServerTrustFailureReason/customEvaluationFailed(error:)``.
  func requirement(forHost host: String) throws -> TrustRequirement
}

/// Requires that the certificate leads to one of the session's roots.
public struct DefaultTrustEvaluator: ServerTrustEvaluating {
  private let validateHost: Bool

  /// - Parameter validateHost: Whether the certificate must also be for the host.
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

/// Requires that the server's key is one of the known keys.
public struct PublicKeysTrustEvaluator: ServerTrustEvaluating {
  private let keys: [TLSConfiguration.PublicKeyPin]
  private let performDefaultValidation: Bool
  private let validateHost: Bool

  /// - Parameters:
  ///   - keys: One match is enough. An empty list fails each request with
  ///     ``WeirError/ServerTrustFailureReason/noPublicKeysFound``.
  ///   - performDefaultValidation: Whether the certificate must also lead to a root.
  ///   - validateHost: Whether the certificate must also be for the host.
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

/// Requires that the certificate is issued by the given authority; the session's roots don't count.
public struct CustomCATrustEvaluator: ServerTrustEvaluating {
  private let roots: TLSConfiguration.TrustRoots
  private let validateHost: Bool

  /// - Parameters:
  ///   - roots: The authority's certificates.
  ///   - validateHost: Whether the certificate must also be for the host.
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

/// Requires everything that several evaluators require.
public struct CompositeTrustEvaluator: ServerTrustEvaluating {
  private let evaluators: [any ServerTrustEvaluating]

  /// - Parameter evaluators: Called in order; the first that throws fails the request.
  public init(evaluators: [any ServerTrustEvaluating]) {
    self.evaluators = evaluators
  }

  public func requirement(forHost host: String) throws -> TrustRequirement {
    guard var all = try evaluators.first?.requirement(forHost: host) else { return TrustRequirement() }
    for evaluator in evaluators.dropFirst() { all = all.combined(with: try evaluator.requirement(forHost: host)) }
    return all
  }
}

/// Requires nothing, so that any server is accepted: for tests. Needs ``TLSConfiguration/allowsInsecureServers``.
public struct DisabledTrustEvaluator: ServerTrustEvaluating {
  /// Creates an evaluator.
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
