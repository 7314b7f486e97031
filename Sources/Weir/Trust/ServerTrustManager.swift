import WeirIO

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
