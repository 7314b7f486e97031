import WeirIO
import WeirServer
import WeirTransport

/// The clients of one worker that take less of their responses than there is: what is held for all of them, and how much
/// each takes whose response has given up its slot. Confined to the loop.
final class SlowClients {
  /// Seconds for which a response keeps its slot while it waits for its client.
  static let patience = 0.1
  /// The bytes that are held for all clients from which on less is read at a time.
  static let crowdedBytes = 32 << 20
  /// The most bytes that are read at a time. No more of them are read while some of them wait for the client.
  static let pieceBytes = 64 << 10
  static let crowdedPieceBytes = 16 << 10

  private struct Parked {
    let exchange: Exchange
    let reader: SlowReader
    var recent: RecentBytes
  }

  private let transport: LoopBound<Transport>
  private var heldBytes = 0
  private var isCrowded = false
  private var parked: [ObjectIdentifier: Parked] = [:]
  private let timer = LoopTimer()

  init(_ transport: LoopBound<Transport>) {
    self.transport = transport
  }

  /// So many bytes more are held for a client, or less.
  func holds(_ change: Int) {
    heldBytes += change
    guard isCrowded != (heldBytes >= Self.crowdedBytes) else { return }
    isCrowded.toggle()
    transport.value.limitPieces(to: isCrowded ? Self.crowdedPieceBytes : Self.pieceBytes)
  }

  /// A response is about to give up its slot.
  ///
  /// - Parameter end: Ends it, as it is the slowest and there are too many. Called on any thread.
  func park(_ exchange: Exchange, since began: MonotonicTime, end: @escaping @Sendable () -> Void) -> SlowReader {
    let recent = RecentBytes(sum: exchange.takenBytes, since: began, at: exchange.loop.turnTime)
    let reader = SlowReader(recent: recent.count, end: end)
    parked[ObjectIdentifier(reader)] = Parked(exchange: exchange, reader: reader, recent: recent)
    if !timer.isArmed { schedule() }
    return reader
  }

  /// The response has ended.
  func forget(_ reader: SlowReader) { parked[ObjectIdentifier(reader)] = nil }

  private func schedule() {
    let loop = transport.loop
    loop.schedule(timer, at: loop.turnTime.advanced(bySeconds: RecentBytes.interval), handler: self)
  }
}

extension SlowClients: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    for index in parked.values.indices {
      let exchange = parked.values[index].exchange
      parked.values[index].recent.look(sum: exchange.takenBytes)
      parked.values[index].reader.recent = exchange.bufferedBytes > 0 ? parked.values[index].recent.count : .max
    }
    if !parked.isEmpty { schedule() }
  }
}

/// The wait of one response for its client, from the first on. An object, so that a response that never waits stays
/// small.
final class ClientWait {
  /// Nil while the client takes what there is.
  @exclusivity(unchecked) var since: MonotonicTime?
  @exclusivity(unchecked) var heldBytes = 0
  /// Set once the response has given up its slot.
  @exclusivity(unchecked) var reader: SlowReader?
  let timer = LoopTimer()
}

// The client's side of the response, where it is slower than the upstream's.
extension Forwarding {
  /// The client has not taken all that there is: reads no more until it has.
  func awaitClient(_ attempt: Attempt) {
    if exchange.onWritable == nil { exchange.onWritable = { [self] in clientTakesMore() } }
    attempt.hold(.sink)
    let wait = clientWait ?? ClientWait()
    clientWait = wait
    noteHeld(exchange.bufferedBytes, wait)
    if wait.since != nil { return }
    wait.since = exchange.loop.turnTime
    if wait.reader == nil, !wait.timer.isArmed { schedule(wait, since: exchange.loop.turnTime) }
  }

  private func noteHeld(_ bytes: Int, _ wait: ClientWait) {
    plan.slowClients.holds(bytes - wait.heldBytes)
    wait.heldBytes = bytes
  }

  private func schedule(_ wait: ClientWait, since: MonotonicTime) {
    exchange.loop.schedule(wait.timer, at: since.advanced(bySeconds: SlowClients.patience), handler: self)
  }

  private func clientTakesMore() {
    if let clientWait {
      clientWait.since = nil
      // It is not slow while it has taken all that there is. If it waits again, the next look tells.
      clientWait.reader?.recent = .max
      noteHeld(0, clientWait)
    }
    guard let attempt else { return }
    attempt.release(.sink)
    if let coder, coder.hasPending { awaitTurn(coder, attempt) }
  }

  /// The client may have been waited for long enough.
  func clientWaitIsOver(_ wait: ClientWait, at now: MonotonicTime) {
    guard let since = wait.since, let attempt, !machine.stage.isEnding, attempt.machine.place == .slot else { return }
    if now < since.advanced(bySeconds: SlowClients.patience) { return schedule(wait, since: since) }
    let bound = LoopBound(confining: self, on: exchange.loop)
    let reader = plan.slowClients.park(exchange, since: began) {
      bound.loop.post { bound.value.clientIsTooSlow() }
    }
    wait.reader = reader
    attempt.drain(to: reader)
  }

  private func clientIsTooSlow() {
    if !isOver { exchange.resetSlowReader() }
  }

  /// The response has ended, or was taken back.
  func forgetClientWait() {
    guard let wait = clientWait else { return }
    clientWait = nil
    noteHeld(0, wait)
    exchange.loop.cancel(wait.timer)
    if let reader = wait.reader { plan.slowClients.forget(reader) }
  }
}
