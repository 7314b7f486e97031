import Synchronization
import WeirIO
import WeirServer

/// Logs why clients of a listener wait or were closed. Shared by the loops of the listener.
final class CrowdLog: Sendable {
  private let listener: String
  private let connections: Atomic<Int>
  private let log: Logger
  private let notice = Mutex(CrowdNotice())

  /// - Parameter connections: The number of connections that the listener may have.
  init(listener: String, connections: Int, log: Logger) {
    self.listener = listener
    self.connections = Atomic(connections)
    self.log = log
  }

  /// - Parameter connections: The number of connections that the listener may have from now on.
  func limit(connections: Int) { self.connections.store(connections, ordering: .relaxed) }

  func note(_ event: ServerEvent) {
    guard let tally = notice.withLock({ $0.note(event, at: .now) }) else { return }
    log.warn(
      "clients wait to be accepted, or were closed for others",
      [
        "listener": .string(listener), "connections": .integer(connections.load(ordering: .relaxed)),
        "reason": .string(tally.reason),
        "closed": .integer(tally.evicted), "waits": .integer(tally.waits), "failures": .integer(tally.failures),
      ])
  }
}
