internal import Glibc
package import WeirCurl
package import WeirIO

/// Runs requests on HTTP/1.1 connections, which libcurl opens and this engine uses and keeps. Confined to its loop.
///
/// A delegate's calls (cancel, resume, close) become errands, run at the end of the turn.
package final class HTTP1Engine {
  static let bufferSize = 65_536

  package let loop: EventLoop
  let options: TransportOptions
  let dialler: Dialler
  @exclusivity(unchecked) var origins: OriginTable
  @exclusivity(unchecked) var pool: ConnectionPool
  /// The open connections, by their numbers in the pool.
  @exclusivity(unchecked) var connections: [HTTP1Connection?] = []
  @exclusivity(unchecked) var transfers: [HTTP1Transfer] = []
  @exclusivity(unchecked) private var errands = Deque<HTTP1Transfer>()
  /// Connections with bytes to be read that the poller will not report again.
  @exclusivity(unchecked) private var unfinished: [HTTP1Connection] = []
  @exclusivity(unchecked) private var isFlushScheduled = false
  @exclusivity(unchecked) private var isClosed = false
  private let idleTimer = LoopTimer()
  private let nextTurnTimer = LoopTimer()
  /// The most bytes of a read.
  @exclusivity(unchecked) private var pieceBytes = HTTP1Engine.bufferSize
  /// The memory that every read goes to, and that bodies are sent from.
  private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: HTTP1Engine.bufferSize, alignment: 16)
  let outgoing = UnsafeMutableRawBufferPointer.allocate(byteCount: HTTP1Engine.bufferSize, alignment: 16)
  /// The memory that heads are written to.
  @exclusivity(unchecked) var head: [UInt8] = []

  /// - Parameter dialler: Opens the connections, and tells its observer of them.
  package init(options: TransportOptions, dialler: Dialler) {
    loop = dialler.main.loop
    self.options = options
    self.dialler = dialler
    // A socket of the whole transport leads past all proxies.
    origins = OriginTable(proxies: options.unixSocketPath == nil ? options.proxy : .none)
    pool = ConnectionPool(
      idleLifetime: options.idleConnectionLifetime.rounded(.up), limit: options.maximumPooledConnections)
  }

  deinit {
    memory.deallocate()
    outgoing.deallocate()
  }

  /// Transfers that have not finished.
  package var activeTransfers: Int { transfers.count }

  /// The memory for the next read.
  var received: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[..<pieceBytes]) }

  /// Reads so many bytes at a time from now on, at most.
  package func limitPieces(to bytes: Int) { pieceBytes = min(max(bytes, 1024), Self.bufferSize) }

  package var openConnections: Int { pool.openCount }

  package var idleConnections: Int { pool.idleCount }
}

extension HTTP1Engine {
  /// The place to which a request goes; nil if its URL is libcurl's to read.
  package func place(of spec: TransferSpec) -> RequestPlace? { origins.find(spec) }

  /// Starts a transfer. Before this call has returned its delegate hears at most that the request leaves, which
  /// ``TransferDelegate/transferHasSentBody(_:)`` says of one through a proxy.
  package func start(
    _ spec: consuming TransferSpec, at place: consuming RequestPlace, headers: PreparedHeaders,
    delegate: any TransferDelegate
  ) -> HTTP1Transfer {
    loop.preconditionCurrent()
    let mayBegin = spec.body.leavesWithHead && !spec.opensTunnel && !dialler.isEntered && !isClosed
    let transfer = HTTP1Transfer(spec, at: place, headers: headers, delegate: delegate, engine: self)
    transfer.slot = transfers.count
    transfers.append(transfer)
    transfer.origin.uses += 1
    if isClosed { transfer.fail(.engineClosed) } else if let defect = transfer.defect() { transfer.fail(defect) }
    if transfer.failure != nil {
      need(.end, for: transfer)
    } else if !mayBegin || !takeIdleConnection(transfer) {
      need(.begin, for: transfer)
    }
    return transfer
  }

  /// Closes the idle connections to an endpoint that is gone.
  package func closeIdleConnections(to endpoint: TransferEndpoint) {
    loop.preconditionCurrent()
    for origin in origins.all where origin.key.endpoint == endpoint { closeIdleConnections(of: origin) }
  }

  /// Closes the idle connections to origins that are reached by their own hosts and ports.
  ///
  /// - Parameter names: Such as `https://host:8443/`: without the scheme's own port.
  package func closeIdleConnections(toOrigins names: Set<String>) {
    loop.preconditionCurrent()
    for origin in origins.all where origin.key.endpoint == nil && !origin.key.isForwarding {
      if names.contains(origin.name) { closeIdleConnections(of: origin) }
    }
  }

  private func closeIdleConnections(of origin: Origin) {
    while let number = pool.take(for: origin.number), let connection = connections[number] { drop(connection) }
  }

  /// Fails all transfers and closes all connections. Delegates hear the end by the end of this turn.
  package func close() {
    loop.preconditionCurrent()
    guard !isClosed else { return }
    isClosed = true
    scheduleFlush()
  }
}

// MARK: - Connections for transfers

extension HTTP1Engine {
  /// Takes an idle connection, or opens one.
  private func begin(_ transfer: HTTP1Transfer) {
    if transfer.spec.opensTunnel { return open(transfer, isFresh: true) }
    if !takeIdleConnection(transfer) { open(transfer) }
  }

  /// Runs the transfer on an idle connection; false if there is none that can serve it.
  private func takeIdleConnection(_ transfer: HTTP1Transfer) -> Bool {
    while let number = pool.take(for: transfer.origin.number), let connection = connections[number] {
      // Asked first, as a call copies the pool.
      if pool.hasOwnTerms, pool.isOver(number, at: loop.turnTime) {
        drop(connection)
        continue
      }
      if connection.isUsable {
        run(transfer, on: connection)
        return true
      }
      transfer.tally.staleRetries += 1
      drop(connection)
    }
    return false
  }

  /// Opens a connection for the transfer, or waits for one that is being opened and that nobody waits for. The transfer
  /// takes one that becomes idle meanwhile as well.
  ///
  /// - Parameter isFresh: Whether the transfer must have a connection that has served nobody.
  func open(_ transfer: HTTP1Transfer, isFresh: Bool = false) {
    transfer.state = .connecting
    transfer.opening = Opening.spare(for: transfer)
    if transfer.opening == nil { dial(for: transfer) }
    transfer.takesIdle = !isFresh
    if !isFresh { transfer.origin.waiting.append(transfer) }
  }

  func dial(for transfer: HTTP1Transfer) {
    let opening = Opening(for: transfer)
    transfer.opening = opening
    opening.dial = dialler.dial(transfer.spec, receiver: opening)
  }

  /// If a connection is still being opened for the transfer, that goes on, for others.
  func run(_ transfer: HTTP1Transfer, on connection: HTTP1Connection) {
    transfer.opening?.becomeSpare()
    transfer.opening = nil
    connection.serve(transfer)
  }

  /// The connection has served its transfer, and can serve another one.
  func release(_ connection: HTTP1Connection) {
    if isClosed || pool.hasOwnTerms && pool.isTooOld(connection.number, at: loop.turnTime) { return drop(connection) }
    connection.origin.forgetServed()
    if !connection.origin.waiting.isEmpty {
      // Bytes may be there that came behind the response.
      guard connection.isUsable else { return drop(connection) }
      if let waiting = connection.origin.waiting.popFirst() { return run(waiting, on: connection) }
    }
    pool.release(connection.number, at: loop.turnTime)
    if !idleTimer.isArmed || pool.openCount + dialler.main.openConnections > options.maximumPooledConnections
      || pool.hasOwnTerms && pool.end(of: connection.number) < idleTimer.due
    {
      trim()
    }
  }

  /// Closes the connection.
  func drop(_ connection: HTTP1Connection) {
    guard connections[connection.number] === connection else { return }
    connections[connection.number] = nil
    pool.close(connection.number)
    connection.origin.uses -= 1
    connection.close()
  }

  func add(_ stream: SocketStream, to origin: Origin) -> HTTP1Connection {
    let number = pool.open(to: origin.number, at: loop.turnTime, under: terms(of: origin))
    let connection = HTTP1Connection(stream, number: number, origin: origin, engine: self)
    while connections.count <= number { connections.append(nil) }
    connections[number] = connection
    origin.uses += 1
    return connection
  }

  /// The terms for an origin's connections; nil for the pool's own.
  private func terms(of origin: Origin) -> ConnectionPool.Terms? {
    guard origin.key.idleTimeout != nil || origin.key.maximumAge != nil else { return nil }
    var terms = pool.terms
    if let idle = origin.key.idleTimeout { terms.idleLifetime = idle }
    if let age = origin.key.maximumAge { terms.maximumAge = age }
    return terms
  }

  /// Closes idle connections that have reached the end of their lifetime, or are too many.
  fileprivate func trim() {
    let now = loop.turnTime
    while let number = pool.surplus(at: now, others: dialler.main.openConnections), let connection = connections[number]
    {
      drop(connection)
    }
    guard let due = pool.nextEnd, !idleTimer.isArmed || due < idleTimer.due else { return }
    loop.schedule(idleTimer, at: due, handler: self)
  }
}

// MARK: - Errands and timers

extension HTTP1Engine: TimerHandler {
  func need(_ errand: HTTP1Transfer.Errands, for transfer: HTTP1Transfer) {
    if transfer.errands.isEmpty { errands.append(transfer) }
    transfer.errands.insert(errand)
    scheduleFlush()
  }

  /// Reads on from the connection in the next turn.
  func continueNextTurn(_ connection: HTTP1Connection) {
    if connection.isUnfinished { return }
    connection.isUnfinished = true
    unfinished.append(connection)
    // A timer for the time of this turn would fire in it once more.
    loop.schedule(nextTurnTimer, at: .now, handler: self)
  }

  package func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if timer === idleTimer { return trim() }
    let connections = unfinished
    unfinished.removeAll()
    for connection in connections {
      connection.isUnfinished = false
      connection.receive()
    }
  }

  private func scheduleFlush() {
    guard !isFlushScheduled else { return }
    isFlushScheduled = true
    loop.atEndOfTurn { [self] in flush() }
  }

  private func flush() {
    isFlushScheduled = false
    var budget = 4096
    // Errands that are added meanwhile are run as well, up to a bound: a transfer that ends may start the next one.
    while budget > 0, !isClosed, let transfer = errands.popFirst() {
      budget -= 1
      let wanted = transfer.errands
      transfer.errands = []
      run(wanted, of: transfer)
    }
    if isClosed { shutDown() } else if !errands.isEmpty { scheduleFlush() }
  }

  private func run(_ wanted: HTTP1Transfer.Errands, of transfer: HTTP1Transfer) {
    guard transfer.state != .finished else { return }
    if wanted.contains(.end) || transfer.failure != nil { return transfer.end() }
    if wanted.contains(.begin) { return begin(transfer) }
    guard let connection = transfer.connection else { return }
    if wanted.contains(.send) { connection.sendBody() }
    if wanted.contains(.receive), connection.transfer === transfer { connection.receive() }
  }

  private func shutDown() {
    errands = Deque()
    while let transfer = transfers.last {
      transfer.fail(.engineClosed)
      transfer.end()
    }
    for connection in connections { if let connection { drop(connection) } }
    for origin in origins.all {
      origin.waiting = Deque()
      origin.spareOpenings = []
    }
    unfinished.removeAll()
    for timer in [idleTimer, nextTurnTimer] { loop.cancel(timer) }
    dialler.close()
  }

  /// The transfer has finished.
  func remove(_ transfer: HTTP1Transfer) {
    let slot = transfer.slot
    guard transfers.indices.contains(slot), transfers[slot] === transfer else { return }
    let last = transfers.removeLast()
    if last !== transfer {
      transfers[slot] = last
      last.slot = slot
    }
    transfer.slot = -1
    transfer.origin.uses -= 1
    transfer.origin.forgetServed()
  }
}
