import Synchronization

/// Limits what may be under way at once, of all workers together.
final class Gate: Sendable {
  private struct State {
    var limit: Int
    var count = 0
  }

  private let state: Mutex<State>

  init(limit: Int) {
    state = Mutex(State(limit: limit))
  }

  var isEmpty: Bool { state.withLock { $0.count == 0 } }

  /// Whether so many places are taken that slow ones hinder others.
  var isCrowded: Bool { state.withLock { $0.count > $0.limit / 2 } }

  /// Takes a place. Returns false if all are taken.
  func enter() -> Bool {
    state.withLock { state in
      guard state.count < state.limit else { return false }
      state.count += 1
      return true
    }
  }

  func leave() { state.withLock { $0.count -= 1 } }

  /// Takes another limit, which is asked for under the lock: of threads that resize at once, the last one takes the
  /// latest. Nil if nothing changes. Places beyond the limit stay taken.
  func resize(_ limit: () -> Int?) {
    state.withLock { state in
      if let present = limit() { state.limit = present }
    }
  }
}

/// The gates of the present configuration, by what they are for. A reload keeps those that it names again, since what is
/// under way may outlive the previous configuration. A gate that has left stays until a reload finds it empty, since it
/// may be back before that.
final class Gates<Key: Hashable & Sendable>: Sendable {
  private let gates = Mutex<[Key: Gate]>([:])

  func follow(_ limits: [Key: Int]) -> [Key: Gate] {
    gates.withLock { gates in
      var present: [Key: Gate] = [:]
      for (key, limit) in limits {
        let gate = gates[key] ?? Gate(limit: limit)
        gate.resize { limit }
        present[key] = gate
      }
      gates = gates.filter { !$0.value.isEmpty }.merging(present) { $1 }
      return present
    }
  }
}
