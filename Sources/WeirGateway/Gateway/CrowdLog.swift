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

/// Decides when to log that a listener has more clients than it can have connections: at once, then once a minute.
/// Counts the events since the last line. A value.
struct CrowdNotice {
  /// Seconds between two lines.
  static let interval = 60.0

  /// The events since the last line.
  struct Tally: Equatable {
    /// The number of connections closed to make place for others.
    var evicted = 0
    /// How often new clients had to wait, since all connections were at work.
    var waits = 0
    /// The number of failed accepts, and the error of the last.
    var failures = 0
    var error: Errno?

    var reason: String {
      if let error { return "\(error)" }
      return waits > 0
        ? "all connections that there may be are at work" : "there are as many connections as there may be"
    }
  }

  private var tally = Tally()
  private var due: MonotonicTime?

  /// The tally, if it is time for a line.
  mutating func note(_ event: ServerEvent, at now: MonotonicTime) -> Tally? {
    switch event {
    case .connectionEvicted: tally.evicted += 1
    case .connectionsWait: tally.waits += 1
    case .acceptFailed(let error):
      tally.failures += 1
      tally.error = error
    case .requestRefused, .timedOut, .proxyHeaderRefused, .handshakeFailed: return nil
    }
    if let due, now < due { return nil }
    due = now.advanced(bySeconds: Self.interval)
    defer { tally = Tally() }
    return tally
  }
}
