internal import Glibc
internal import WeirIO

/// One client's connection. It reads, asks its machine for the next action, and carries that out.
///
/// Run-time checks of exclusive access are off for the properties that every request touches, which saves an eighth of
/// the server's own work. They are not needed, since neither the machine nor the output buffer calls code that could
/// come back here.
final class Connection {
  /// The number of pipelined requests answered in one go, so that one client can't occupy a turn of the loop.
  private static let requestsPerTurn = 64

  let server: ServerCore
  let socket: Socket
  /// The client: the socket's peer, or the source that its PROXY header tells.
  @exclusivity(unchecked) var peer: SocketAddress
  /// What has to come before requests.
  @exclusivity(unchecked) var prelude: ConnectionPrelude
  /// The channel between the socket and HTTP; nil before the first byte, and for plain connections.
  @exclusivity(unchecked) var channel: (any SecureChannel)?
  /// Whether the connection counts for its client's limit.
  var isCounted = false
  /// Whether the server has it in its list of those that discard input.
  var isLingering = false
  /// The connection's index in the server's list.
  var slot = 0
  @exclusivity(unchecked) var machine: ConnectionMachine
  @exclusivity(unchecked) var output = OutputBuffer()
  @exclusivity(unchecked) var exchange: Exchange?
  @exclusivity(unchecked) var isProcessing = false
  @exclusivity(unchecked) var isBroken = false
  @exclusivity(unchecked) var isFlushScheduled = false
  /// The bytes of a first record from which on the socket tells of it.
  @exclusivity(unchecked) var awaitedHello = 1
  /// Whether the server owes its handshake a step.
  @exclusivity(unchecked) var awaitsStep = false
  @exclusivity(unchecked) private var isDeferred = false
  /// Whether `resume` must read the socket before the connection goes on.
  @exclusivity(unchecked) private var receivesFirst = false
  @exclusivity(unchecked) private(set) var isFinished = false
  @exclusivity(unchecked) private(set) var isReading = true
  @exclusivity(unchecked) private var isInputOver = false
  /// Whether the client has ended its side of the socket. Its channel may still hold input.
  @exclusivity(unchecked) var isSocketOver = false
  /// Whether the loop tells nothing of the socket, as both sides of a tunnel have ended and the client's is not read.
  @exclusivity(unchecked) private var isUnwatched = false
  /// Whether the client's side has ended in a way that a stream's end may not have been.
  @exclusivity(unchecked) var isInputCut = false
  /// Whether the response was cut, of which the client must not hear a clean end.
  @exclusivity(unchecked) var isCut = false
  @exclusivity(unchecked) var held: [UInt8] = []
  /// The octets of a PROXY header that are still to be dropped, once its source is known.
  @exclusivity(unchecked) var headerRest = 0
  /// The number of input bytes behind the action that is being carried out.
  @exclusivity(unchecked) private var unread = 0
  private let timer = LoopTimer()

  init(server: ServerCore, socket: Socket, peer: SocketAddress, prelude: ConnectionPrelude) {
    self.server = server
    self.socket = socket
    self.peer = peer
    self.prelude = prelude
    machine = ConnectionMachine(
      limits: server.limits, awaitsHandshake: prelude != .none, now: server.loop.turnTime)
  }

  var now: MonotonicTime { server.loop.turnTime }

  func open() throws(Errno) {
    try server.loop.register(socket.descriptor, for: .read, handler: self)
    armTimer()
  }

  /// Goes on with the held input: now, or soon if a handler may be on the stack.
  func proceed() {
    if isProcessing { return }
    if held.isEmpty, !isBroken { process(held: true) } else { proceedSoon() }
  }

  func proceedSoon() {
    guard !isDeferred, !isFinished else { return }
    isDeferred = true
    server.resumeSoon(self)
  }

  /// Continues for `proceedSoon`. Called by the loop.
  func resume() {
    isDeferred = false
    if isFinished { return }
    if isBroken { return die() }
    if receivesFirst {
      receivesFirst = false
      if isReading { receive() }
    }
    process(held: true)
  }

  /// Called when the server takes no more requests.
  func stop() {
    machine.stop(now: now)
    guard machine.isIdle else { return proceed() }
    // A request that has arrived but was not read would be reset. It isn't read here, since a handler may be on the
    // stack.
    receiveSoon()
  }

  /// Whether a request has begun to arrive that this connection has not read yet. A part of a first record of TLS, which
  /// is left unread until it is whole, is none: clients that send no more of it can best be spared.
  var hasUnseenRequest: Bool {
    guard machine.isIdle, isReading, awaitedHello == 1 else { return false }
    var octet: UInt8 = 0
    return recv(socket.descriptor, &octet, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) > 0
  }

  /// Whether there is input that no reader has got yet.
  var hasUnreadInput: Bool { !held.isEmpty || unread > 0 }
}

extension Connection: EventHandler, TimerHandler {
  func descriptorReady(_ fd: CInt, events: IOEvents) {
    if events.contains(.write) { flushReady() }
    guard machine.phase != .closed else { return }
    let hasFailed = !events.isDisjoint(with: .failure)
    if isReading, hasFailed || events.contains(.read) { receive() } else if hasFailed { failedUnread(events) }
  }

  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if prelude != .none, now >= machine.deadline { return preludeTimedOut() }
    if let exchange, now >= exchange.deadline { exchange.deadlinePassed() }
    if isFinished { return }
    if let action = machine.timerFired(now: now) {
      server.noteTimeout(action)
      process(held: true, first: action)
    } else {
      armTimer()
    }
  }

  private func receive() {
    if prelude == .handshake || channel != nil { return receiveSecurely() }
    let buffer = target
    let count: Int
    do {
      count = try socket.receive(into: UnsafeMutableRawBufferPointer(buffer))
    } catch {
      if error != .wouldBlock { die() }
      return
    }
    if count == 0 { return inputEnded() }
    accept(UnsafeBufferPointer(rebasing: buffer[..<count]))
  }

  /// The memory for the next input. Input that can't be used at once is held, and bounded.
  var target: UnsafeMutableBufferPointer<UInt8> {
    let isHolding = !held.isEmpty || machine.request == .complete || prelude != .none
    let buffer = server.scratch
    return isHolding ? UnsafeMutableBufferPointer(rebasing: buffer[..<ConnectionMachine.heldInput]) : buffer
  }

  /// Goes on with input: a PROXY header, or requests.
  func accept(_ received: UnsafeBufferPointer<UInt8>) {
    if prelude == .proxyHeader {
      held.append(contentsOf: received)
      takeProxyHeader()
    } else if !held.isEmpty {
      held.append(contentsOf: received)
      process(held: true)
    } else {
      var position = 0
      process(received.span, at: &position, first: nil)
      if position < received.count, machine.phase != .closed { held.append(contentsOf: received[position...]) }
    }
    if held.count >= ConnectionMachine.heldInput { setReading(false) }
  }

  func inputEnded() {
    if prelude != .none { return die() }
    isInputOver = true
    setReading(false)
    if machine.noteInputEnd() { exchange?.noteAbort() }
    process(held: true)
  }

  /// Runs the machine over the held input, or over no input.
  func process(held useHeld: Bool, first: ConnectionMachine.Action? = nil) {
    if prelude != .none { return armTimer() }
    var input: [UInt8] = []
    swap(&input, &held)
    var position = 0
    process(input.span, at: &position, first: first)
    guard machine.phase != .closed, position < input.count else { return }
    input.removeFirst(position)
    held = input
  }

  private func process(_ input: Span<UInt8>, at position: inout Int, first: ConnectionMachine.Action?) {
    guard !isProcessing, !isBroken, !isFinished else { return }
    isProcessing = true
    var budget = Self.requestsPerTurn
    var share = TurnShare()
    var first = first
    while true {
      let action = first.take() ?? machine.next(input, at: &position, now: now)
      unread = input.count - position
      if action.begins { budget -= 1 }
      if case .deliver(let range) = action { share.count(range.count) }
      guard carryOut(action, input), !isBroken else { break }
      if budget == 0 || share.isUsedUp {
        proceedSoon()
        break
      }
    }
    isProcessing = false
    unread = 0
    guard machine.phase != .closed else { return }
    if machine.output == .unsent { flush() }
    armTimer()
  }

  /// Returns whether to ask the machine for another action.
  private func carryOut(_ action: consuming ConnectionMachine.Action, _ input: Span<UInt8>) -> Bool {
    switch consume action {
    case .begin(let head): begin(head)
    case .deliver(let range):
      let flow = input.extracting(range).withUnsafeBytes { exchange?.deliver($0) }
      if flow == .pause { machine.pauseReader() }
    case .endBody: exchange?.deliverEnd()
    case .refuse(let refusal): refuse(refusal)
    case .flush: flush()
    case .shutdown:
      endSending()
      if machine.phase == .lingering {
        // The input from now on is discarded as it is, without being decrypted.
        if !isSocketOver { channel = nil }
        server.noteLingering(self)
      }
    case .cut:
      finish(.cut)
      return false
    case .close:
      forgetExchange()
      finish(.close)
      return false
    case .reset:
      finish(.reset)
      return false
    case .read:
      setReading(true)
      return false
    case .pause:
      setReading(false)
      return false
    case .wait:
      // Reading stopped for the body, whose end was there already. A client that leaves must be noticed.
      if !isReading, machine.request == .complete, machine.phase == .open, unread < ConnectionMachine.heldInput {
        setReading(true)
      }
      return false
    }
    return true
  }

  private func begin(_ head: consuming RequestHead) {
    let exchange = Exchange(connection: self, head: head)
    self.exchange = exchange
    server.tally.begins()
    server.handler.handle(exchange)
  }

  func setReading(_ isOn: Bool) {
    let isOn = isOn && !isInputOver
    guard isOn != isReading, machine.phase != .closed else { return }
    isReading = isOn
    updateInterest()
    // The channel may hold input, of which the socket tells nothing.
    if isOn, channel != nil { receiveSoon() }
  }

  /// Reads the socket once the callers on the stack have returned.
  func receiveSoon() {
    receivesFirst = true
    proceedSoon()
  }

  func updateInterest() {
    var interest: IOEvents = isReading && !isSocketOver ? .read : []
    if machine.output == .blocked { interest.insert(.write) }
    do {
      if !isUnwatched {
        try server.loop.update(socket.descriptor, for: interest)
      } else if !interest.isEmpty {
        try server.loop.register(socket.descriptor, for: interest, handler: self)
        isUnwatched = false
      }
    } catch {
      breakSoon()
    }
  }

  /// The socket has failed, or both its sides have ended, while it is not read.
  private func failedUnread(_ events: IOEvents) {
    guard machine.hasShutDown, !events.contains(.error) else { return die() }
    // The reader of the tunnel has paused and still gets what the socket holds. The poller would report that end in
    // each turn, whatever it was asked for.
    server.loop.unregister(socket.descriptor)
    isUnwatched = true
  }

  /// Arms the timer if it would fire too late. A timer that fires too early is armed anew at that time, which spares
  /// every request the work.
  func armTimer() {
    let deadline = min(machine.deadline, exchange?.deadline ?? .distantFuture)
    guard deadline != .distantFuture, !timer.isArmed || deadline < timer.due else { return }
    server.loop.schedule(timer, at: deadline, handler: self)
  }
}

extension Connection {
  /// Notes that the socket failed while a handler may be on the stack. The handler is told once it has returned.
  func breakSoon() {
    isBroken = true
    proceedSoon()
  }

  /// Ends the connection, which has failed.
  func die() {
    finish(.cut)
  }

  /// Closes the connection and tells the exchange that still waits for it.
  ///
  /// - Parameter ending: Why, if the machine doesn't know it.
  func finish(_ action: ConnectionMachine.Action, _ ending: ConnectionEnding? = nil) {
    if isFinished { return }
    isFinished = true
    switch prelude {
    case .none: if case .close = action { sayEnd() }
    case .proxyHeader: server.tally.endsPrelude()
    case .handshake: handshakeEnded(.abandoned)
    }
    machine.noteClosed()
    server.loop.unregister(socket.descriptor)
    server.loop.cancel(timer)
    if case .reset = action { socket.reset() } else { socket.close() }
    held = []
    output = OutputBuffer()
    channel = nil
    // A connection is cut without an answer only if its client has left.
    let isByClient = if case .cut = action { true } else { false }
    abandonExchange(byClient: isByClient)
    server.remove(self, ending ?? machine.ending)
  }

  /// Tells the exchange that it is over; returns it.
  @discardableResult
  private func abandonExchange(byClient: Bool, _ refusal: RequestRefusal? = nil) -> Exchange? {
    guard let abandoned = exchange.take() else { return nil }
    abandoned.abandon(byClient: byClient, refusal)
    server.tally.ends()
    return abandoned
  }

  private func refuse(_ refusal: RequestRefusal) {
    let abandoned = abandonExchange(byClient: false, refusal)
    server.onEvent?(.requestRefused(refusal, peer: peer, wasHandled: abandoned != nil))
    sendRefusal(refusal, toHEAD: abandoned?.isHead ?? machine.refusesHEAD)
  }
}
