import WeirIO

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
  private let requirement: TrustRequirement

  /// - Parameter validateHost: Whether the certificate must also be for the host.
  public init(validateHost: Bool = true) {
    requirement = TrustRequirement(roots: [.session], validatesHost: validateHost)
  }

  public func requirement(forHost host: String) -> TrustRequirement { requirement }
}

/// Requires that the server's key is one of the known keys.
public struct PublicKeysTrustEvaluator: ServerTrustEvaluating {
  private let requirement: TrustRequirement

  /// - Parameters:
  ///   - keys: One match is enough. An empty list fails each request with
  ///     ``WeirError/ServerTrustFailureReason/noPublicKeysFound``.
  ///   - performDefaultValidation: Whether the certificate must also lead to a root.
  ///   - validateHost: Whether the certificate must also be for the host.
  public init(
    keys: [TLSConfiguration.PublicKeyPin], performDefaultValidation: Bool = true, validateHost: Bool = true
  ) {
    requirement = TrustRequirement(
      validatesHost: validateHost, validatesChain: performDefaultValidation, pinnedPublicKeys: Set(keys))
  }

  public func requirement(forHost host: String) throws -> TrustRequirement {
    if requirement.pinnedPublicKeys?.isEmpty == true {
      throw WeirError.serverTrustEvaluationFailed(reason: .noPublicKeysFound)
    }
    return requirement
  }
}

/// Requires that the certificate is issued by the given authority; the session's roots don't count.
public struct CustomCATrustEvaluator: ServerTrustEvaluating {
  private let requirement: TrustRequirement

  /// - Parameters:
  ///   - roots: The authority's certificates.
  ///   - validateHost: Whether the certificate must also be for the host.
  public init(_ roots: TLSConfiguration.TrustRoots, validateHost: Bool = true) {
    requirement = TrustRequirement(roots: [.custom(roots)], validatesHost: validateHost)
  }

  public func requirement(forHost host: String) -> TrustRequirement { requirement }
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

/// The evaluators of hosts.
public final class ServerTrustManager: Sendable {
  /// Whether requests to a host without an evaluator fail.
  public let allHostsMustBeEvaluated: Bool
  /// The evaluators, keyed by host.
  public let evaluators: [String: any ServerTrustEvaluating]
  private let byName: [String: any ServerTrustEvaluating]

  /// - Parameters:
  ///   - allHostsMustBeEvaluated: If false, the session's ``TLSConfiguration`` applies to hosts without an evaluator.
  ///   - evaluators: Evaluators by exact host name, without wildcards. Case, a dot at the end and the form of an address
  ///     make no difference, as in a URL's host. If a host occurs in several spellings, the requirements of all of them
  ///     apply.
  public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
    self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
    self.evaluators = evaluators
    // The order is fixed, since the first evaluator that throws determines the error.
    let all = evaluators.sorted { $0.key < $1.key }.map { (Self.name(of: $0), $1) }
    byName = Dictionary(all) { CompositeTrustEvaluator(evaluators: [$0, $1]) }
  }

  /// The evaluator of a host; nil if the host needs none.
  ///
  /// - Throws: ``WeirError/ServerTrustFailureReason/noRequiredEvaluator(host:)``.
  public func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
    if let evaluator = byName[Self.name(of: host)] { return evaluator }
    guard allHostsMustBeEvaluated else { return nil }
    throw WeirError.serverTrustEvaluationFailed(reason: .noRequiredEvaluator(host: host))
  }

  private static func name(of host: String) -> String { CanonicalHost(host).withoutFinalDot }
}
