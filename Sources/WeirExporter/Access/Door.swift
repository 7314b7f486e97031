import WeirIO

/// Where requests come in. Confined to its loop.
final class Door {
  private let policy: AccessPolicy
  private let loop: EventLoop
  private var version = -1
  private var gatekeeper: Gatekeeper?
  /// How to log in, if one has to (RFC 9110 §11.6.1).
  private(set) var challenges: [String] = []

  init(_ policy: AccessPolicy, on loop: EventLoop) {
    self.policy = policy
    self.loop = loop
  }

  /// As ``Gatekeeper/admit(_:_:)``, by the rules of this moment. Those who wait are judged by the rules they came under.
  func admit(_ authorization: @autoclosure () -> String?, _ completion: @escaping (Gatekeeper.Verdict) -> Void) {
    if let (rules, version) = policy.rules(since: version) {
      self.version = version
      gatekeeper = rules.map { Gatekeeper($0, on: loop) }
      challenges = rules?.challenges ?? []
    }
    guard let gatekeeper else { return completion(.granted) }
    gatekeeper.admit(authorization(), completion)
  }
}
