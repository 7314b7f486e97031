/// Which host has to prove what.
public final class ServerTrustManager: Sendable {
  /// Whether a host without an evaluator is not requested at all.
  public let allHostsMustBeEvaluated: Bool
  /// By host.
  public let evaluators: [String: any ServerTrustEvaluating]
  private let byName: [String: any ServerTrustEvaluating]

  /// - Parameters:
  ///   - allHostsMustBeEvaluated: If not, hosts without an evaluator are left to the session's ``TLSConfiguration``.
  ///   - evaluators: By the host's exact name, without wildcards; upper case and a dot at the end make no difference, as
  ///     they make none to whom a URL leads to. Of a host that is there under several spellings all is demanded.
  public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
    self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
    self.evaluators = evaluators
    // In an order of their own, since the first that throws says why.
    let all = evaluators.sorted { $0.key < $1.key }.map { (Self.name(of: $0), $1) }
    byName = Dictionary(all) { CompositeTrustEvaluator(evaluators: [$0, $1]) }
  }

  /// Who evaluates a host; nil: nobody has to.
  ///
  /// - Throws: ``WeirError/ServerTrustFailureReason/noRequiredEvaluator(host:)``.
  public func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
    if let evaluator = byName[Self.name(of: host)] { return evaluator }
    guard allHostsMustBeEvaluated else { return nil }
    throw WeirError.serverTrustEvaluationFailed(reason: .noRequiredEvaluator(host: host))
  }

  private static func name(of host: String) -> String {
    var name = host.lowercased()[...]
    if name.hasSuffix(".") { name = name.dropLast() }
    if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
    return String(name)
  }
}
