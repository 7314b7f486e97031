import Synchronization

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
