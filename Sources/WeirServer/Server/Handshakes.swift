internal import WeirIO

/// Bounds the handshakes of a server: those under way, as each has memory, and the steps of a turn, as each may take a
/// millisecond. Confined to the server's loop.
final class Handshakes {
  /// The steps of one turn.
  private static let stepsPerTurn = 8
  /// The seconds after which a handshake gives way if others wait.
  private static let patience = 2.0

  private let loop: EventLoop
  /// Connections in the midst of a handshake, in the order in which they began, with the time at which they did.
  private var underWay: [(connection: Connection, since: MonotonicTime)] = []
  /// Connections whose first bytes have come and are not read yet.
  private var waiting: [Connection] = []
  private var toStep: [Connection] = []
  private var turn = MonotonicTime.distantFuture
  private var stepsInTurn = 0
  private let stepTimer = LoopTimer()
  private let patienceTimer = LoopTimer()

  init(on loop: EventLoop) {
    self.loop = loop
  }

  /// Returns whether the connection may begin its handshake. Otherwise `handshakeMayBegin` is called later.
  func begin(_ connection: Connection, limit: Int) -> Bool {
    if underWay.contains(where: { $0.connection === connection }) { return true }
    guard underWay.count < limit else {
      waiting.append(connection)
      endImpatiently()
      // A place may have become free at once, and nothing else would have it begin.
      return underWay.contains { $0.connection === connection }
    }
    underWay.append((connection, loop.turnTime))
    return true
  }

  /// The handshake of a connection is over, or the connection is.
  func end(_ connection: Connection) {
    if let index = underWay.firstIndex(where: { $0.connection === connection }) {
      underWay.remove(at: index)
      guard !waiting.isEmpty else { return }
      let next = waiting.removeFirst()
      underWay.append((next, loop.turnTime))
      next.handshakeMayBegin()
    } else {
      waiting.removeAll { $0 === connection }
    }
  }

  /// Has the connection do a step of its handshake: now, or in a later turn.
  func step(_ connection: Connection) {
    if turn != loop.turnTime { (turn, stepsInTurn) = (loop.turnTime, 0) }
    guard stepsInTurn < Self.stepsPerTurn else {
      toStep.append(connection)
      if !stepTimer.isArmed { loop.schedule(stepTimer, at: loop.turnTime, handler: self) }
      return
    }
    stepsInTurn += 1
    connection.step()
  }

  /// Ends the oldest handshakes that take long, one for each connection that waits. Those that wait for this server, as
  /// their clients have answered, get the time once more.
  private func endImpatiently() {
    while !waiting.isEmpty, let oldest = underWay.first {
      let due = oldest.since.advanced(bySeconds: Self.patience)
      guard due <= loop.turnTime else { return loop.schedule(patienceTimer, at: due, handler: self) }
      if oldest.connection.hasUnseenRequest || toStep.contains(where: { $0 === oldest.connection }) {
        underWay.append((underWay.removeFirst().connection, loop.turnTime))
      } else {
        oldest.connection.preludeTimedOut()
      }
    }
  }
}

extension Handshakes: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if timer === patienceTimer { return endImpatiently() }
    let connections = toStep
    toStep = []
    for connection in connections { step(connection) }
  }
}
