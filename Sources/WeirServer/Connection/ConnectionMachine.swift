internal import WeirIO

/// Decides the next action of a connection without touching its socket: which octets belong to a request, when to read
/// and when to wait, which timeout has passed, and how the connection ends.
///
/// The shell calls `next` again after each action, until the action is to wait for something or to close; then after
/// every other input.
struct ConnectionMachine {
  enum Action {
    /// Hand this request to the handler.
    case begin(RequestHead)
    /// Hand this part of the input to the body's reader.
    case deliver(Range<Int>)
    case endBody
    /// The client has gone in the middle of a request: tell the exchange, then close.
    case cut
    /// Answer with this refusal, after telling the exchange if there is one.
    case refuse(RequestRefusal)
    /// Send the buffered output, then ask again.
    case flush
    /// All input is used up.
    case read
    /// Keep the rest of the input. Reading may go on, to notice a client that leaves.
    case wait
    /// Keep the rest of the input and read no more, because the body's reader has paused.
    case pause
    /// End the sending side, then ask again. Input that still comes is discarded.
    case shutdown
    case close
    /// Close with a reset, so that the client can't take a truncated response for a complete one.
    case reset

    var begins: Bool { if case .begin = self { true } else { false } }
  }

  enum RequestSide {
    /// Between requests, or in the midst of a head.
    case none
    /// The head has come, but not yet all of the body.
    case arriving
    case complete
  }

  enum Reader {
    case none
    case active
    case paused
  }

  enum ResponseSide {
    case none
    case pending
    case begun
    case ended
  }

  enum Output {
    case empty
    /// There is buffered output that was not yet offered to the socket.
    case unsent
    /// The socket takes no more for now.
    case blocked
  }

  enum Phase {
    case open
    /// The sending side is closed, and what comes is discarded.
    case lingering
    /// After the response 101, or 200 to CONNECT, both sides are streams of bytes, which end one by one.
    case tunnel
    case closed
  }

  /// The number of input bytes that are kept while a response is under way. Beyond it the connection stops reading.
  static let heldInput = 16 * 1024

  let limits: ServerLimits
  var phase = Phase.open
  var request = RequestSide.none
  var response = ResponseSide.none
  var reader = Reader.none
  private(set) var output = Output.empty
  private var parser: RequestParser
  private(set) var head = RequestFacts()
  private(set) var isStopping = false
  var isPersistent = true
  /// The value of `isPersistent` before the response began.
  private var wasPersistent = true
  private(set) var inputEnded = false
  /// Whether the sending side of a tunnel is closed.
  var hasShutDown = false
  /// Whether a request was refused of whose body more is to come.
  private(set) var owesBody = false
  /// Whether there may be input under way that will not be read.
  var mustLinger = false
  var drained = 0
  /// The time at which a connection that lingers ends, whatever comes.
  var lingersUntil = MonotonicTime.distantFuture
  /// The first response after this time is the connection's last. A connection that waits for a request waits as long as
  /// ever: if it closed now, a request under way would be lost.
  private let expiry: MonotonicTime
  /// Whether the request that was refused before its head was complete is for HEAD.
  private(set) var refusesHEAD = false
  /// Why the connection ends, once it does.
  var ending = ConnectionEnding.client
  var readDeadline: MonotonicTime
  private(set) var writeDeadline = MonotonicTime.distantFuture
  /// The time since which the client has taken none of the output that waits for it; nil while no output waits.
  private(set) var blockedSince: MonotonicTime?
  private var isHeadTimed = false

  /// The time at which the present wait for the client began.
  private(set) var since: MonotonicTime

  /// The facts about the present request that decide about the connection.
  struct RequestFacts {
    var keepsAlive = true
    var bodyLength = BodyLength.none
    var awaitsContinue = false
  }

  /// - Parameter awaitsHandshake: Whether requests are awaited only after ``preludeEnded(now:)``.
  init(limits: ServerLimits, awaitsHandshake: Bool = false, now: MonotonicTime) {
    self.limits = limits
    parser = RequestParser(limits: RequestParser.Limits(limits))
    expiry = limits.maximumAge.map { now.advanced(bySeconds: $0) } ?? .distantFuture
    readDeadline = now.advanced(bySeconds: awaitsHandshake ? limits.handshakeTimeout : limits.headerTimeout)
    since = now
  }

  /// From now on requests come.
  mutating func preludeEnded(now: MonotonicTime) {
    readDeadline = now.advanced(bySeconds: isStopping ? limits.stopLinger : limits.headerTimeout)
  }

  /// The client speaks HTTP where a handshake has to come. Returns the action that tells it.
  mutating func refusePlainHTTP() -> Action {
    defer { ending = .tls }
    return refuse(.plainHTTP)
  }

  var deadline: MonotonicTime { min(readDeadline, writeDeadline) }

  /// Returns the next action. It consumes input from `position`, which it moves on.
  mutating func next(_ input: Span<UInt8>, at position: inout Int, now: MonotonicTime) -> Action {
    while true {
      switch phase {
      case .closed: return .wait
      case .lingering: return discard(input, at: &position, now: now)
      case .tunnel: return relay(input, at: &position)
      case .open: break
      }
      if output == .blocked, response == .none || response == .ended {
        guard response == .ended, request == .arriving,
          !isPersistent || input.count - position >= Self.heldInput
        else { return .wait }
        // A client that sends all of its request before it reads gets the answer only so.
        isPersistent = false
        position = input.count
        return inputEnded ? .wait : .read
      }
      if response == .ended, let action = afterResponse(hasInput: position < input.count, now: now) {
        // What has come already says nothing of what may follow.
        if phase == .lingering { position = input.count }
        return action
      }
      switch request {
      case .none where position == input.count:
        if output == .unsent { return .flush }
        if isStopping, !parser.isInsideHead, limits.stopLinger == 0 { return end(.close, .drain) }
      case .none: break
      case .arriving where response != .ended && reader != .active: return .pause
      case .arriving: break
      case .complete: return .wait
      }
      if let action = take(parser.next(input, at: &position), now: now) { return action }
    }
  }

  /// The client will send nothing more. Returns whether to tell the present exchange.
  mutating func noteInputEnd() -> Bool {
    guard phase == .open, !inputEnded else {
      inputEnded = true
      return false
    }
    inputEnded = true
    return request == .complete && response != .ended
  }

  /// A reader is ready for the body, again or for the first time. Returns whether the client waits for `100 Continue`.
  mutating func activateReader(hasInput: Bool, now: MonotonicTime) -> Bool {
    guard request == .arriving, phase == .open else {
      if phase == .tunnel { reader = .active }
      return false
    }
    reader = .active
    readDeadline = now.advanced(bySeconds: limits.bodyTimeout)
    defer { head.awaitsContinue = false }
    return head.awaitsContinue && !hasInput && response == .pending
  }

  mutating func pauseReader() {
    guard reader == .active else { return }
    reader = .paused
    readDeadline = .distantFuture
  }

  /// A response begins. Returns whether the connection may outlive it.
  ///
  /// - Parameter hasInput: Whether there is unread input. While stopping, a pipelined request in it is answered as
  ///   well, so this response must not announce that the connection closes.
  mutating func beginResponse(delimitedByClose: Bool, hasInput: Bool = false, now: MonotonicTime) -> Bool {
    response = .begun
    wasPersistent = isPersistent
    isPersistent = isPersistent && head.keepsAlive && !delimitedByClose && !mayBeLeftUnread
    let isLast = isStopping && !(hasInput && request == .complete)
    if isPersistent, isLast || now >= expiry {
      isPersistent = false
      ending = isLast ? .drain : .age
    }
    return isPersistent
  }

  /// The response was taken back before the client got any of it. Another one may begin.
  mutating func retractResponse() {
    guard response == .begun else { return }
    response = .pending
    isPersistent = wasPersistent
  }

  /// A response ends before it is complete. Returns true if its framing shows that: then send the buffered part and end
  /// the connection. Returns false if only a reset shows it.
  mutating func cutResponse(isDelimitedByClose: Bool, now: MonotonicTime) -> Bool {
    guard phase == .open, response == .begun, !isDelimitedByClose else { return false }
    isPersistent = false
    mustLinger = true
    endResponse(now: now)
    return true
  }

  /// All of a response has been buffered.
  mutating func endResponse(now: MonotonicTime) {
    guard phase == .open, response != .ended else { return }
    response = .ended
    drained = 0
    since = now
    readDeadline = request == .arriving ? now.advanced(bySeconds: limits.bodyTimeout) : .distantFuture
  }

  mutating func closeAfterResponse() { isPersistent = false }

  /// Finishes the present request and takes no more, except those that the client may have sent before it could know.
  mutating func stop(now: MonotonicTime) {
    isStopping = true
    if phase == .lingering { readDeadline = min(readDeadline, now.advanced(bySeconds: Self.linger)) }
    if isIdle { readDeadline = min(readDeadline, now.advanced(bySeconds: limits.stopLinger)) }
  }

  /// Whether the connection waits for a request of which nothing has come.
  var isIdle: Bool { phase == .open && request == .none && !parser.isInsideHead }

  mutating func noteOutput(_ state: Output, now: MonotonicTime) {
    output = state
    blockedSince = state == .blocked ? now : nil
    writeDeadline = state == .blocked ? now.advanced(bySeconds: limits.writeTimeout) : .distantFuture
  }

  /// The connection broke, or will be closed from outside.
  mutating func noteClosed() {
    phase = .closed
    (readDeadline, writeDeadline) = (.distantFuture, .distantFuture)
  }
}

extension ConnectionMachine {
  /// A deadline may have passed. Returns nil if none has.
  mutating func timerFired(now: MonotonicTime) -> Action? {
    if now >= writeDeadline { return end(.reset, .slowRead) }
    guard now >= readDeadline, phase != .closed else { return nil }
    if phase == .lingering || response == .ended { return end(.close) }
    if request == .none, output == .blocked {
      // Until then, or altogether if there is no such wait, the write deadline decides.
      readDeadline = waitForRequest > 0 ? now.advanced(bySeconds: waitForRequest) : .distantFuture
      return nil
    }
    if isIdle {
      ending = isStopping ? .drain : .idle
      return isStopping ? abandonInput(now: now) : end(.close)
    }
    let isInsideBody = request == .arriving
    defer { ending = isInsideBody ? .slowBody : .slowHeader }
    return refuse(.slowRequest)
  }

  private mutating func take(_ event: consuming RequestParser.Event, now: MonotonicTime) -> Action? {
    switch consume event {
    case .head(let head): return begin(head)
    case .body(let range):
      if response == .ended { return drain(range.count, now: now) }
      readDeadline = now.advanced(bySeconds: limits.bodyTimeout)
      return .deliver(range)
    case .end:
      request = .complete
      guard response != .ended else { return nil }
      readDeadline = .distantFuture
      return .endBody
    case .needsInput: return needInput(now: now)
    case .refused(let refusal): return response == .ended ? abandonInput(now: now) : refuse(refusal)
    }
  }

  private mutating func begin(_ head: consuming RequestHead) -> Action {
    self.head = RequestFacts(
      keepsAlive: head.keepsAlive, bodyLength: head.bodyLength, awaitsContinue: head.expectsContinue)
    isHeadTimed = false
    readDeadline = .distantFuture
    response = .pending
    reader = .none
    request = .arriving
    // Bytes behind a CONNECT are for its tunnel. If none is made, they must not be read as a request.
    if head.form == .authority { isPersistent = false }
    if head.bodyLength.isEmpty {
      var position = 0
      _ = parser.next([UInt8]().span, at: &position)  // the body's end, which takes no input
      request = .complete
    }
    return .begin(head)
  }

  private mutating func needInput(now: MonotonicTime) -> Action {
    if inputEnded {
      if request == .arriving, response != .ended { return end(.cut) }
      return output == .unsent ? .flush : end(.close)
    }
    if request == .none, parser.isInsideHead, !isHeadTimed {
      isHeadTimed = true
      readDeadline = now.advanced(bySeconds: limits.headerTimeout)
    }
    return .read
  }

  private mutating func refuse(_ refusal: RequestRefusal) -> Action {
    ending = .refused
    if response == .begun { return end(.reset) }
    refusesHEAD = parser.isForHEAD
    owesBody = request == .arriving ? refusal != .slowRequest : refusal == .bodyTooLarge && !parser.expectsContinue
    parser.forget()
    isPersistent = false
    mustLinger = true
    request = .complete
    response = .pending
    readDeadline = .distantFuture
    return .refuse(refusal)
  }

  /// The response has been handed over: prepares for the next request, or ends the connection. Returns nil to go on
  /// parsing.
  private mutating func afterResponse(hasInput: Bool, now: MonotonicTime) -> Action? {
    let isLast =
      !isPersistent || isStopping && limits.stopLinger == 0 || (request == .arriving && head.awaitsContinue)
    if isLast {
      if output == .unsent { return .flush }
      let mustLinger = mustLinger || isStopping && limits.stopLinger > 0
      let isClean = request == .complete && !mustLinger && !hasInput
      return isClean || inputEnded ? end(.close) : abandonInput(now: now)
    }
    if request == .complete {
      (request, response) = (.none, .none)
      since = now
      readDeadline = now.advanced(bySeconds: waitForRequest)
    }
    return nil
  }

  private var waitForRequest: Double { isStopping ? limits.stopLinger : limits.idleTimeout }

  mutating func end(_ action: Action, _ ending: ConnectionEnding? = nil) -> Action {
    if let ending { self.ending = ending }
    noteClosed()
    return action
  }
}
