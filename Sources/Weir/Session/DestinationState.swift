import Synchronization
import WeirIO

/// What a process keeps per destination. Sessions of one process may share it, so it is locked, not loop-confined.
final class DestinationState: Sendable {
  /// Tells a waiter, on its own loop, that it has a slot.
  typealias Waiter = @Sendable () -> Void

  let destination: Destination
  private let admission: Mutex<Admission<Waiter>>

  init(destination: Destination, slots: Int, maximumWaiting: Int) {
    self.destination = destination
    admission = Mutex(Admission(slots: slots, maximumWaiting: maximumWaiting))
  }

  func ask(_ waiter: @autoclosure () -> Waiter) -> Admission<Waiter>.Answer {
    admission.withLock { $0.ask(waiter()) }
  }

  func retake() {
    admission.withLock { $0.retake() }
  }

  func release() {
    admission.withLock { $0.release() }?.waiter()
  }

  func withdraw(_ ticket: Admission<Waiter>.Ticket) {
    admission.withLock { $0.withdraw(ticket) }
  }
}

/// The destinations a process has spoken to. Made by a session for itself, or by the gateway for all its sessions.
package final class DestinationTable: Sendable {
  private let states = Mutex<[Destination: DestinationState]>([:])

  package init() {}

  func state(for destination: Destination, configuration: SessionConfiguration) -> DestinationState {
    states.withLock { states in
      if let state = states[destination] { return state }
      let state = DestinationState(
        destination: destination, slots: configuration.httpMaximumConnectionsPerHost,
        maximumWaiting: configuration.maximumPendingRequestsPerHost)
      states[destination] = state
      return state
    }
  }
}
