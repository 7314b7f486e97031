import Synchronization
import WeirIO

/// Who may come in at this moment, for all who ask: set from any thread, read on the exporter's loop.
final class AccessPolicy: Sendable {
  private struct State {
    var rules: AccessRules?
    var version = 0
  }

  private let state: Mutex<State>

  init(_ rules: AccessRules?) {
    state = Mutex(State(rules: rules))
  }

  /// The same rules again are no change: a new version would have every password hashed anew.
  func set(_ rules: AccessRules?) {
    state.withLock { state in
      guard state.rules != rules else { return }
      state.rules = rules
      state.version += 1
    }
  }

  /// The rules and their version, if it is another than that one.
  func rules(since version: Int) -> (rules: AccessRules?, version: Int)? {
    state.withLock { $0.version == version ? nil : ($0.rules, $0.version) }
  }
}

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
