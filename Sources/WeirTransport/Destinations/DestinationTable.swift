import Synchronization
import WeirIO

/// The destinations of a process. A session makes a table for itself, and the gateway one for all its sessions.
///
/// A state is kept after its destination's last request. When there are too many states, those whose last request for a
/// slot is oldest are dropped, an eighth at once, so that a new state costs little on average. A state that is referred
/// to elsewhere stays: two states of one destination would give away twice its slots. Reference counts show whether a
/// state is in use. A weak reference would make each retain of a state slow, and every request does several.
package final class DestinationTable: Sendable {
  private struct Entries: Sendable {
    var states: [Destination: DestinationState] = [:]
    /// The number of states at which some are dropped; it exceeds the capacity only while more states are in use.
    var limit: Int
    let capacity: Int

    init(capacity: Int) {
      self.capacity = max(1, capacity)
      limit = self.capacity
    }

    var share: Int { max(1, capacity / 8) }

    mutating func letGo() {
      let idle = idle().prefix(max(share, states.count - capacity + share))
      for destination in idle { states[destination] = nil }
      limit = max(capacity, states.count + share)
    }

    /// The destinations whose states nothing else refers to, the longest idle first.
    mutating func idle() -> [Destination] {
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

  /// The number of destinations that are remembered.
  package static let capacity = 4_096

  private let entries: Mutex<Entries>

  package init(capacity: Int = DestinationTable.capacity) {
    entries = Mutex(Entries(capacity: capacity))
  }

  package var count: Int { entries.withLock { $0.states.count } }

  /// Drops the states of all other destinations, as no more requests will go there; but for those in use, which a later
  /// call drops. These are reported on no more once their last attempts have ended.
  package func keep(_ destinations: Set<Destination>) {
    let used = entries.withLock { entries in
      for destination in entries.idle() where !destinations.contains(destination) { entries.states[destination] = nil }
      return entries.states.filter { !destinations.contains($0.key) }
    }
    for state in used.values { state.retire() }
  }

  /// - Parameter limits: The limits of a new destination; a known one keeps its own.
  package func state(for destination: Destination, limits: TransportLimits) -> DestinationState {
    entries.withLock { entries in
      if let state = entries.states[destination] { return state }
      if entries.states.count >= entries.limit { entries.letGo() }
      let state = DestinationState(destination, limits: limits)
      entries.states[destination] = state
      return state
    }
  }
}
