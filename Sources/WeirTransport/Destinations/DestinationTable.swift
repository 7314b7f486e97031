import Synchronization
import WeirIO

/// The destinations of a process. Made by a session for itself, or by the gateway for all its sessions.
///
/// What they remember survives that nothing is under way there. When there are too many, those go that were asked for a
/// slot longest ago, an eighth at once, so that a new one costs little on average. Who is held by somebody stays: two
/// states of one destination would give away twice its slots. Who holds one is found by looking, since a weak reference
/// would make each retain of a state, of which every request does several, take the slow way.
package final class DestinationTable: Sendable {
  private struct Entries: Sendable {
    var states: [Destination: DestinationState] = [:]
    /// At how many entries some are let go: more than the capacity only while more are held.
    var limit: Int
    let capacity: Int

    init(capacity: Int) {
      self.capacity = max(1, capacity)
      limit = self.capacity
    }

    var share: Int { max(1, capacity / 8) }

    mutating func letGo() {
      let idle = idleLongestFirst()
      for destination in idle.prefix(max(share, states.count - capacity + share)) { states[destination] = nil }
      limit = max(capacity, states.count + share)
    }

    private mutating func idleLongestFirst() -> [Destination] {
      var idle: [(destination: Destination, lastAsked: MonotonicTime)] = []
      var index = states.startIndex
      while index < states.endIndex {
        if isKnownUniquelyReferenced(&states.values[index]) {
          idle.append((states[index].key, states[index].value.lastAsked))
        }
        states.formIndex(after: &index)
      }
      return idle.sorted { $0.lastAsked < $1.lastAsked }.map(\.destination)
    }
  }

  /// How many destinations are remembered.
  static let capacity = 4_096

  private let entries: Mutex<Entries>

  package convenience init() {
    self.init(capacity: Self.capacity)
  }

  init(capacity: Int) {
    entries = Mutex(Entries(capacity: capacity))
  }

  /// Has all destinations find their adaptive limits anew, as those who ask for one may have changed.
  package func forgetLimits() {
    let states = entries.withLock { Array($0.states.values) }
    for state in states { state.forgetLimit() }
  }

  package var count: Int { entries.withLock { $0.states.count } }

  /// - Parameter limits: For a destination that is new.
  package func state(for destination: Destination, limits: TransportLimits) -> DestinationState {
    entries.withLock { entries in
      if let state = entries.states[destination] { return state }
      if entries.states.count >= entries.limit { entries.letGo() }
      let state = DestinationState(
        destination: destination, slots: limits.slots, maximumWaiting: limits.waiting)
      entries.states[destination] = state
      return state
    }
  }
}
