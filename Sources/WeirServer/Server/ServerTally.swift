internal import Synchronization

/// Counts of one server's connections, for metrics. Only the server's loop changes them, so that no change has to be
/// atomic as a whole; any thread may read. A server that follows another on the same loop may go on with its counts.
package final class ServerTally: Sendable {
  private let openCount = Atomic(0)
  private let preludeCount = Atomic(0)
  private let activeCount = Atomic(0)
  private let acceptedCount = Atomic(0)
  private let ended: [Count] = ConnectionEnding.allCases.map { _ in Count() }

  private final class Count: Sendable {
    let value = Atomic(0)
  }

  package init() {}

  /// Open connections.
  package var open: Int { openCount.load(ordering: .relaxed) }
  /// Open connections whose PROXY header or handshake is not complete.
  package var handshaking: Int { preludeCount.load(ordering: .relaxed) }
  /// Open connections on which a request is under way.
  package var active: Int { activeCount.load(ordering: .relaxed) }
  /// Connections that were accepted.
  package var accepted: Int { acceptedCount.load(ordering: .relaxed) }

  /// Connections that ended so.
  package func ended(_ ending: ConnectionEnding) -> Int {
    ConnectionEnding.allCases.firstIndex(of: ending).map { ended[$0].value.load(ordering: .relaxed) } ?? 0
  }

  func opens() {
    Self.add(1, to: acceptedCount)
    Self.add(1, to: openCount)
  }

  func closes(_ ending: ConnectionEnding) {
    Self.add(-1, to: openCount)
    note(ending)
  }

  /// A connection that was accepted ends without having been one of the server's.
  func turnsAway() {
    Self.add(1, to: acceptedCount)
    note(.refused)
  }

  func beginsPrelude() { Self.add(1, to: preludeCount) }

  func endsPrelude() { Self.add(-1, to: preludeCount) }

  func begins() { Self.add(1, to: activeCount) }

  func ends() { Self.add(-1, to: activeCount) }

  private func note(_ ending: ConnectionEnding) {
    if let index = ConnectionEnding.allCases.firstIndex(of: ending) { Self.add(1, to: ended[index].value) }
  }

  private static func add(_ change: Int, to count: borrowing Atomic<Int>) {
    count.store(count.load(ordering: .relaxed) &+ change, ordering: .relaxed)
  }
}

/// How a client's connection came to its end.
package enum ConnectionEnding: String, CaseIterable, Sendable {
  /// The client closed it, asked for that, or left; also when a handler ended it.
  case client
  /// It waited too long for another request.
  case idle
  /// It was closed to make place for a new one.
  case evicted
  /// Its request's head took too long.
  case slowHeader = "slow_header"
  /// A part of its request's body took too long.
  case slowBody = "slow_body"
  /// It took none of its response for too long.
  case slowRead = "slow_read"
  /// Its request was refused, or its client had too many connections.
  case refused
  /// Its PROXY header was missing, malformed or late.
  case proxyProtocol = "proxy_protocol"
  /// Its TLS handshake failed or took too long, or it broke TLS later.
  case tls
  /// It was as old as a connection may become.
  case age
  /// The server stops.
  case drain
}
