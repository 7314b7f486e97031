internal import WeirIO

/// Bounds the handshakes of a server: those under way, as each has memory, and the steps of a turn, as each may take a
/// millisecond. Confined to the server's loop.
///
/// A handshake that waits for its client keeps no other waiting: if there are too many, it is given up for a new one.
/// A new one waits only for the processor's work. In both cases a client with fewer handshakes under way comes first, so
/// that no address can have them all.
final class Handshakes {
  /// The steps of one turn.
  private static let stepsPerTurn = 8

  private struct Place {
    let connection: Connection
    let since: MonotonicTime
  }

  private let loop: EventLoop
  /// Connections in the midst of a handshake, by their clients' addresses, in the order in which they began.
  private var underWay: [IPAddress?: [Place]] = [:]
  private var count = 0
  /// Connections whose first bytes have come and are not read yet.
  private var waiting: [Connection] = []
  private var toStep: [Connection] = []
  private var turn = MonotonicTime.distantFuture
  private var stepsInTurn = 0
  private let stepTimer = LoopTimer()

  init(on loop: EventLoop) {
    self.loop = loop
  }

  /// Returns whether the connection may begin its handshake. Otherwise `handshakeMayBegin` is called later.
  func begin(_ connection: Connection, limit: Int) -> Bool {
    if isUnderWay(connection) { return true }
    if count < limit {
      add(connection)
      return true
    }
    insert(connection, into: &waiting)
    makePlaces()
    // A place may have become free at once, and nothing else would have it begin.
    return isUnderWay(connection)
  }

  /// The handshake of a connection is over, or the connection is.
  func end(_ connection: Connection) {
    guard remove(connection) else { return waiting.removeAll { $0 === connection } }
    guard !waiting.isEmpty else { return }
    let next = waiting.removeFirst()
    add(next)
    next.handshakeMayBegin()
  }

  /// Has the connection do a step of its handshake: now, or in a later turn, in which those that wait come first.
  func step(_ connection: Connection) {
    if connection.awaitsStep { return }
    if toStep.isEmpty, hasRoomInTurn { return stepNow(connection) }
    connection.awaitsStep = true
    insert(connection, into: &toStep)
    continueNextTurn()
  }

  private func stepNow(_ connection: Connection) {
    stepsInTurn += 1
    connection.step()
    // It may wait for its client now, and so make place for another.
    makePlaces()
  }

  private var hasRoomInTurn: Bool {
    if turn != loop.turnTime { (turn, stepsInTurn) = (loop.turnTime, 0) }
    return stepsInTurn < Self.stepsPerTurn
  }

  /// Gives up handshakes for connections that wait, as long as there are some that can be spared.
  private func makePlaces() {
    while let next = waiting.first, let spared = leastNeeded(for: next) { spared.preludeTimedOut() }
  }

  /// The oldest handshake that waits for its client, of the client that has the most; nil if all the others have fewer
  /// than the newcomer's client.
  private func leastNeeded(for newcomer: Connection) -> Connection? {
    var found: (of: Int, place: Place)?
    let least = max(1, share(of: newcomer))
    for places in underWay.values where places.count >= least {
      if let found, places.count < found.of { continue }
      // Whether it waits for its client costs a system call.
      if let found, places.count == found.of, places[0].since >= found.place.since { continue }
      guard let oldest = places.first(where: { $0.connection.awaitsClient }) else { continue }
      if let found, places.count == found.of, oldest.since >= found.place.since { continue }
      found = (places.count, oldest)
    }
    return found?.place.connection
  }

  /// Adds a connection behind all whose clients have no more handshakes under way.
  private func insert(_ connection: Connection, into line: inout [Connection]) {
    let share = share(of: connection)
    let last = line.lastIndex { self.share(of: $0) <= share }
    line.insert(connection, at: last.map { $0 + 1 } ?? 0)
  }

  /// The handshakes under way of the connection's client.
  private func share(of connection: Connection) -> Int { underWay[IPAddress(connection.peer)]?.count ?? 0 }

  private func isUnderWay(_ connection: Connection) -> Bool {
    underWay[IPAddress(connection.peer)]?.contains { $0.connection === connection } ?? false
  }

  private func add(_ connection: Connection) {
    underWay[IPAddress(connection.peer), default: []].append(Place(connection: connection, since: loop.turnTime))
    count += 1
  }

  /// Returns whether it was under way.
  private func remove(_ connection: Connection) -> Bool {
    let client = IPAddress(connection.peer)
    guard let index = underWay[client]?.firstIndex(where: { $0.connection === connection }) else { return false }
    underWay[client]?.remove(at: index)
    if underWay[client]?.isEmpty == true { underWay[client] = nil }
    count -= 1
    return true
  }

  private func continueNextTurn() {
    // A timer for the time of this turn might fire in it, when its steps are used up.
    if !stepTimer.isArmed { loop.schedule(stepTimer, at: .now, handler: self) }
  }
}

extension Handshakes: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    while !toStep.isEmpty, hasRoomInTurn {
      let connection = toStep.removeFirst()
      connection.awaitsStep = false
      stepNow(connection)
    }
    if !toStep.isEmpty { continueNextTurn() }
  }
}
