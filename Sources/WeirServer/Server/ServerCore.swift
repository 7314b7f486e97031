internal import WeirIO

/// The part of a server that lives on its loop. Confined.
final class ServerCore {
  /// The length of a pause in accepting, in seconds, while the process or the system has no descriptors left.
  private static let acceptPause = 0.1

  private enum State {
    case idle
    case accepting
    /// The listener is not registered with the loop, until the timer fires or a connection closes.
    case paused
    case stopping
  }

  let listener: Listener
  let loop: EventLoop
  @exclusivity(unchecked) var limits: ServerLimits
  let handler: any RequestHandler
  let tally: ServerTally
  private let refuses: (@Sendable (SocketAddress) -> Bool)?
  private let expectsProxyHeader: (@Sendable (SocketAddress) -> Bool)?
  let secure: (@Sendable () -> (any SecureChannel)?)?
  lazy var handshakes = Handshakes(on: loop)
  /// The buffer into which each connection receives its input; input that must stay is copied.
  let scratch: UnsafeMutableBufferPointer<UInt8>
  @exclusivity(unchecked) var date = DateField()
  let onEvent: (@Sendable (ServerEvent) -> Void)?
  private var state = State.idle
  private var hasLeftListener = false
  private var connections: [Connection] = []
  /// Connections that discard what their clients still send, in the order in which they began.
  private var lingering: [Connection] = []
  private var resuming: [Connection] = []
  @exclusivity(unchecked) private var flushing: [Connection] = []
  private var drained: [@Sendable () -> Void] = []
  private let resumeTimer = LoopTimer()
  private let acceptTimer = LoopTimer()
  private let graceTimer = LoopTimer()

  init(
    listener: Listener, loop: EventLoop, limits: ServerLimits, handler: any RequestHandler,
    refuses: (@Sendable (SocketAddress) -> Bool)?, expectsProxyHeader: (@Sendable (SocketAddress) -> Bool)?,
    secure: (@Sendable () -> (any SecureChannel)?)?,
    tally: ServerTally, onEvent: (@Sendable (ServerEvent) -> Void)?
  ) {
    self.listener = listener
    self.loop = loop
    self.limits = limits
    self.handler = handler
    self.refuses = refuses
    self.expectsProxyHeader = expectsProxyHeader
    self.secure = secure
    self.tally = tally
    self.onEvent = onEvent
    scratch = .allocate(capacity: 64 * 1024)
  }

  deinit {
    scratch.deallocate()
  }

  func start() {
    guard state == .idle, listener.enter() else { return }
    resumeAccepting()
  }

  /// Stops because nobody refers to the server any more. One that never began leaves the listener alone.
  func abandon() {
    if state != .idle { stop(grace: 0, completion: nil) }
  }

  /// - Parameter leavesListener: Whether the listener and the connections that wait there stay for other servers.
  func stop(grace: Double, leavesListener: Bool = false, completion: (@Sendable () -> Void)?) {
    if let completion { drained.append(completion) }
    let isServing = state == .accepting || state == .paused
    // A server that has left its listener to others never touches it again, not even when it goes.
    hasLeftListener = hasLeftListener || leavesListener
    if !hasLeftListener {
      // Other processes accept what waits at a shared socket.
      if isServing, !listener.isShared { acceptWaiting() }
      listener.close()
    }
    if state == .accepting { loop.unregister(listener.socket.descriptor) }
    if isServing { listener.leave() }
    state = .stopping
    loop.cancel(acceptTimer)
    for connection in connections { connection.stop() }
    if connections.isEmpty {
      reportDrained()
    } else {
      loop.schedule(graceTimer, at: loop.turnTime.advanced(bySeconds: grace), handler: self)
    }
  }

  var connectionCount: Int { connections.count }
  var isSecure: Bool { secure != nil }

  func remove(_ connection: Connection, _ ending: ConnectionEnding) {
    guard let last = connections.popLast() else { return }
    listener.noteConnections(-1)
    tally.closes(ending)
    if connection.isCounted, let client = IPAddress(connection.peer) { listener.clients.closes(client) }
    if connection.isLingering { lingering.removeAll { $0 === connection } }
    if last !== connection {
      connections[connection.slot] = last
      last.slot = connection.slot
    }
    notePlace()
    if state == .stopping, connections.isEmpty { reportDrained() }
  }

  /// Called when a connection has closed or can now be closed for another.
  func notePlace() {
    if state == .paused, !acceptTimer.isArmed, listener.isOpen { resumeAccepting() }
  }

  /// Notes that a connection begins to discard input. Beyond their number the oldest one ends.
  func noteLingering(_ connection: Connection) {
    connection.isLingering = true
    lingering.append(connection)
    if lingering.count > max(1, limits.connections / 4) { lingering[0].finish(.close, .evicted) }
  }

  /// Has the connection go on once the callers on the stack have returned.
  func resumeSoon(_ connection: Connection) {
    resuming.append(connection)
    if !resumeTimer.isArmed { loop.schedule(resumeTimer, at: loop.turnTime, handler: self) }
  }

  func flushAtEndOfTurn(_ connection: Connection) {
    flushing.append(connection)
    if flushing.count == 1 { loop.atEndOfTurn { [self] in flushAll() } }
  }

  func noteTimeout(_ action: ConnectionMachine.Action) {
    switch action {
    case .refuse(let refusal): onEvent?(.timedOut(status: refusal.status))
    case .reset: onEvent?(.timedOut(status: nil))
    default: break
    }
  }

  private func flushAll() {
    let waiting = flushing
    flushing.removeAll(keepingCapacity: true)
    for connection in waiting {
      connection.isFlushScheduled = false
      if connection.machine.output == .unsent { connection.flush() }
    }
  }

  private func reportDrained() {
    loop.cancel(graceTimer)
    let completions = drained
    drained = []
    for completion in completions { completion() }
  }
}

extension ServerCore: EventHandler, TimerHandler {
  func descriptorReady(_ fd: CInt, events: IOEvents) {
    for _ in 0..<acceptShare.connections {
      guard state == .accepting, acceptNext() else { break }
    }
    if state == .accepting, acceptShare.isAhead { letOthersAccept() }
  }

  private var acceptShare: AcceptShare {
    AcceptShare(
      ready: loop.readyCount, own: connections.count, all: listener.connectionCount, servers: listener.serverCount)
  }

  /// The kernel wakes the loop that registered first, as long as that loop sleeps. So this server registers again, as
  /// the last.
  private func letOthersAccept() {
    loop.unregister(listener.socket.descriptor)
    resumeAccepting()
  }

  /// Returns whether to accept another one in this turn. At the limit it is not, since each costs a search for a
  /// connection to close.
  private func acceptNext() -> Bool {
    if connections.count < limits.connections { return accept(mayEvict: true) }
    switch evict() {
    case .done: _ = accept(mayEvict: true)
    case .soon: break
    case .impossible:
      onEvent?(.connectionsWait)
      pauseAccepting()
    }
    return false
  }

  /// Returns whether there was a connection to accept.
  private func accept(mayEvict: Bool) -> Bool {
    do {
      let (socket, peer) = try listener.socket.accept()
      admit(socket, peer)
      return true
    } catch {
      acceptFailed(error, mayEvict: mayEvict)
      return false
    }
  }

  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if timer === resumeTimer {
      let waiting = resuming
      resuming.removeAll(keepingCapacity: true)
      for connection in waiting { connection.resume() }
    } else if timer === acceptTimer {
      if state == .paused { resumeAccepting() }
    } else {
      for connection in connections { connection.finish(connection.machine.isIdle ? .close : .reset, .drain) }
    }
  }

  /// Accepts the waiting connections, whose clients regard them as open; closing the listener would reset them. Up to a
  /// backlog of them may exceed the limit: no connection that may have sent a request is closed for them.
  private func acceptWaiting() {
    for _ in 0..<Listener.backlog where listener.isOpen {
      do {
        let (socket, peer) = try listener.socket.accept()
        admit(socket, peer)
      } catch {
        switch AcceptFailure(error, isListening: listener.isOpen, mayEvict: true) {
        case .nothing where error == .connectionAborted: continue
        case .evict where evict() == .done: continue
        default: return
        }
      }
    }
  }

  private func admit(_ socket: Socket, _ peer: SocketAddress) {
    if refuses?(peer) == true {
      tally.turnsAway()
      return socket.close()
    }
    let first: ConnectionPrelude = secure == nil ? .none : .handshake
    let prelude = expectsProxyHeader?(peer) ?? false ? .proxyHeader : first
    let connection = Connection(server: self, socket: socket, peer: peer, prelude: prelude)
    if prelude != .proxyHeader, !countsClient(of: connection) {
      tally.turnsAway()
      return socket.close()
    }
    do {
      try connection.open()
    } catch {
      socket.close()
      if connection.isCounted, let client = IPAddress(peer) { listener.clients.closes(client) }
      onEvent?(.acceptFailed(error))
      return
    }
    tally.opens()
    if prelude != .none { tally.beginsPrelude() }
    connection.slot = connections.count
    connections.append(connection)
    listener.noteConnections(1)
  }

  /// Counts the connection for its client's address. Returns false if the client has as many as it may have.
  func countsClient(of connection: Connection) -> Bool {
    guard let limit = limits.connectionsPerClient, let client = IPAddress(connection.peer) else { return true }
    connection.isCounted = listener.clients.opens(client, limit: limit)
    return connection.isCounted
  }

  private func acceptFailed(_ error: Errno, mayEvict: Bool) {
    switch AcceptFailure(error, isListening: listener.isOpen, mayEvict: mayEvict) {
    case .nothing: return
    case .end: return pauseAccepting()
    case .evict where evict() == .done:
      _ = accept(mayEvict: false)
      return
    case .evict, .pause: break
    }
    onEvent?(.acceptFailed(error))
    pauseAccepting()
    loop.schedule(acceptTimer, at: loop.turnTime.advanced(bySeconds: Self.acceptPause), handler: self)
  }

  private enum Eviction {
    case done
    /// Requests have arrived on the connections that would be closed: ask again when they have been read.
    case soon
    /// All connections are at work.
    case impossible
  }

  /// Closes the connection that can best be spared, but never one whose request has just arrived: it would be reset. A
  /// scan is cheap compared with the accept that it makes place for.
  private func evict() -> Eviction {
    var victim: Connection?
    var isSoon = false
    var least = (rank: Int.max, since: MonotonicTime.distantFuture)
    for connection in connections {
      guard let rank = connection.machine.evictionRank, !connection.awaitsStep else { continue }
      let candidate = (rank: rank, since: connection.machine.since)
      guard candidate < least else { continue }
      if connection.hasUnseenRequest { isSoon = true } else { (victim, least) = (connection, candidate) }
    }
    guard let victim else { return isSoon ? .soon : .impossible }
    onEvent?(.connectionEvicted)
    victim.finish(.close, .evicted)
    return .done
  }

  private func pauseAccepting() {
    loop.unregister(listener.socket.descriptor)
    state = .paused
  }

  private func resumeAccepting() {
    do {
      try loop.register(listener.socket.descriptor, for: [.read, .exclusive], handler: self)
      state = .accepting
    } catch {
      onEvent?(.acceptFailed(error))
      state = .paused
      loop.schedule(acceptTimer, at: loop.turnTime.advanced(bySeconds: Self.acceptPause), handler: self)
    }
  }
}
