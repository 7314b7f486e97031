import Synchronization
import WeirIO

/// The access rules in force, set from any thread and read on the exporter's loop.
final class AccessPolicy: Sendable {
  private struct State {
    var rules: AccessRules?
    var version = 0
  }

  private let state: Mutex<State>

  init(_ rules: AccessRules?) {
    state = Mutex(State(rules: rules))
  }

  /// Sets the rules. Setting equal rules changes nothing: a new version would have every password hashed anew.
  func set(_ rules: AccessRules?) {
    state.withLock { state in
      guard state.rules != rules else { return }
      state.rules = rules
      state.version += 1
    }
  }

  /// The rules and their version; nil if `version` is still the present one.
  func rules(since version: Int) -> (rules: AccessRules?, version: Int)? {
    state.withLock { $0.version == version ? nil : ($0.rules, $0.version) }
  }
}

/// Applies the present access rules to requests. Confined to its loop.
final class Authorizer {
  private let policy: AccessPolicy
  private let loop: EventLoop
  private var version = -1
  private var gatekeeper: Gatekeeper?
  /// The challenges for clients that have to log in (RFC 9110 §11.6.1).
  private(set) var challenges: [String] = []
  private var excludedPaths: Set<String> = []

  init(_ policy: AccessPolicy, on loop: EventLoop) {
    self.policy = policy
    self.loop = loop
  }

  /// Decides by the present rules, as ``Gatekeeper/admit(_:of:on:_:)`` does, and always calls `completion`. Requests that
  /// already wait are judged by the rules under which they came.
  func admit(
    to path: String, _ authorization: @autoclosure () -> String?,
    _ completion: @escaping (Gatekeeper.Verdict) -> Void
  ) {
    if let (rules, version) = policy.rules(since: version) {
      self.version = version
      gatekeeper = rules.map { Gatekeeper($0, limits: .exporter) }
      challenges = rules?.challenges(realm: "metrics") ?? []
      excludedPaths = rules?.excludedPaths ?? []
    }
    guard let gatekeeper, !excludedPaths.contains(path) else { return completion(.granted(user: nil)) }
    if let verdict = gatekeeper.admit(authorization(), of: nil, on: loop, completion) { completion(verdict) }
  }
}
