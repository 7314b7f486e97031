import Synchronization
import WeirIO

/// What a process keeps per destination. Sessions of one process may share it, so it is locked, not loop-confined.
final class DestinationState: Sendable {
  /// Tells a waiter that it has a slot: by a job for its loop, never at once. Slots are given up in the middle of other
  /// steps, and of thousands of waiters that end as soon as they are let through each would do so inside the one before.
  typealias Waiter = @Sendable () -> Void

  let destination: Destination
  private let admission: Mutex<Admission<Waiter>>
  /// Nil, and not asked for, until somebody hedges by a quantile.
  private let latencies = Mutex<RecentLatencies?>(nil)
  private let isWatched = Atomic(false)

  init(destination: Destination, slots: Int, maximumWaiting: Int) {
    self.destination = destination
    admission = Mutex(Admission(slots: slots, maximumWaiting: maximumWaiting))
  }

  /// Slots taken, transfers parked, attempts waiting for their first slot.
  var occupancy: [Int] { admission.withLock { [$0.taken, $0.parked, $0.waiting] } }

  func ask(_ waiter: @autoclosure () -> Waiter) -> Admission<Waiter>.Answer {
    admission.withLock { $0.ask(waiter()) }
  }

  func askAgain(_ waiter: @autoclosure () -> Waiter) -> Admission<Waiter>.Answer {
    admission.withLock { $0.askAgain(waiter()) }
  }

  func takeFreeSlot() -> Bool { admission.withLock { $0.take() } }

  /// Whether the slot was given up; if not, the transfer keeps it.
  func park() -> Bool {
    switch admission.withLock({ $0.park() }) {
    case .parked(let next):
      next?.waiter()
      return true
    case .refused: return false
    }
  }

  func unpark() {
    admission.withLock { $0.unpark() }
  }

  func release() {
    admission.withLock { $0.release() }?.waiter()
  }

  func withdraw(_ ticket: Admission<Waiter>.Ticket) {
    admission.withLock { $0.withdraw(ticket) }
  }

  func withdrawAgain(_ ticket: Admission<Waiter>.Ticket) {
    admission.withLock { $0.withdrawAgain(ticket) }
  }
}

// How long responses take, for those who hedge by that.
extension DestinationState {
  /// Whether latencies are to be noted.
  var watchesLatency: Bool { isWatched.load(ordering: .relaxed) }

  func note(latency seconds: Double) {
    latencies.withLock { $0?.note(seconds, at: .now) }
  }

  /// The latency that this share of the recent responses did not exceed, in seconds; nil when too few are known. From
  /// the first question on they are noted.
  func latency(quantile share: Double) -> Double? {
    if isWatched.exchange(true, ordering: .relaxed) { return latencies.withLock { $0?.quantile(share, at: .now) } }
    latencies.withLock { $0 = $0 ?? RecentLatencies() }
    return nil
  }
}

/// The destinations of a process. Made by a session for itself, or by the gateway for all its sessions.
///
/// Those that nobody else holds are let go when there are too many: to them nothing is under way, so that nothing would
/// have to be remembered. They are found by looking, since a weak reference would make each retain of a state, of which
/// every request does several, take the slow way.
package final class DestinationTable: Sendable {
  private struct Entries: Sendable {
    var states: [Destination: DestinationState] = [:]
    /// At how many entries those that nobody holds are looked for: twice as many as were held the last time.
    var limit = 64

    mutating func sweep() {
      var kept: [Destination: DestinationState] = [:]
      var index = states.startIndex
      while index < states.endIndex {
        if !isKnownUniquelyReferenced(&states.values[index]) { kept[states[index].key] = states[index].value }
        states.formIndex(after: &index)
      }
      states = kept
      limit = max(64, 2 * kept.count)
    }
  }

  private let entries = Mutex(Entries())

  package init() {}

  package var count: Int { entries.withLock { $0.states.count } }

  func state(for destination: Destination, configuration: SessionConfiguration) -> DestinationState {
    entries.withLock { entries in
      if let state = entries.states[destination] { return state }
      if entries.states.count >= entries.limit { entries.sweep() }
      let state = DestinationState(
        destination: destination, slots: configuration.httpMaximumConnectionsPerHost,
        maximumWaiting: configuration.maximumPendingRequestsPerHost)
      entries.states[destination] = state
      return state
    }
  }
}
