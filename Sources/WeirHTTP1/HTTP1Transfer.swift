package import WeirCurl
import WeirHTTP
import WeirIO

/// One attempt on an HTTP/1.1 connection: a request on its way and the response to it. Confined to its engine's loop.
package final class HTTP1Transfer {
  enum State: UInt8 {
    /// The engine has not begun it.
    case new
    /// Its own connection is being opened, and one that becomes idle is taken as well.
    case connecting
    case running
    case finished
  }

  /// Actions that the engine performs for a transfer at the end of the turn.
  struct Errands: OptionSet {
    let rawValue: UInt8

    static let begin = Errands(rawValue: 1)
    /// Ends the transfer with its failure.
    static let end = Errands(rawValue: 2)
    static let receive = Errands(rawValue: 4)
    static let send = Errands(rawValue: 8)
  }

  let spec: TransferSpec
  let headers: PreparedHeaders
  let engine: HTTP1Engine
  let origin: Origin
  /// Nil unless a proxy takes the request.
  let forwarded: ForwardedOrigin?
  /// The request target (RFC 9112 §3.2).
  let target: Substring
  @exclusivity(unchecked) var delegate: (any TransferDelegate)?
  @exclusivity(unchecked) var state = State.new
  @exclusivity(unchecked) var errands: Errands = []
  /// The transfer's index in the engine's list.
  @exclusivity(unchecked) var slot = -1
  @exclusivity(unchecked) var connection: HTTP1Connection?
  /// The attempt to open a connection for this transfer.
  @exclusivity(unchecked) var opening: Opening?
  /// Why the transfer ends, if not by the end of the response.
  @exclusivity(unchecked) var failure: TransferError?
  @exclusivity(unchecked) var isReceivingPaused = false
  /// Seconds without a byte after which the transfer ends; 0 for no limit.
  @exclusivity(unchecked) var silenceTimeout: Double
  /// Whether a connection that becomes idle serves it too, while its own is being opened.
  @exclusivity(unchecked) var takesIdle = false
  @exclusivity(unchecked) var upload: Upload
  @exclusivity(unchecked) var times: ExchangeTimes
  /// What is measured already; the rest is filled in by `report`.
  @exclusivity(unchecked) var tally: TransferReport
  /// Whether anything of the request was handed to the system, on the present connection.
  @exclusivity(unchecked) var hasSent = false
  /// Whether the connection was opened for the transfer, or could not be.
  @exclusivity(unchecked) private var isDialled = false

  init(
    _ spec: consuming TransferSpec, at place: consuming RequestPlace, headers: PreparedHeaders,
    delegate: any TransferDelegate, engine: HTTP1Engine
  ) {
    upload = Upload(spec.body, expectsContinue: headers.expectsContinue, isForHead: spec.method == "HEAD")
    times = ExchangeTimes(start: .now)
    tally = TransferReport(startTime: times.start, total: 0)
    silenceTimeout = spec.silenceTimeout
    self.spec = spec
    self.headers = headers
    self.delegate = delegate
    self.engine = engine
    origin = place.origin
    forwarded = place.forwarded
    let target = self.spec.target.map { Substring($0) } ?? place.target
    self.target = forwarded?.target(target) ?? target
  }

  /// Notes why the transfer ends, unless there is an earlier reason.
  func fail(_ error: @autoclosure () -> TransferError) {
    if failure == nil { failure = error() }
  }

  /// Whether the request was begun on a connection that had not been opened for it.
  var isReused: Bool { times.ready != nil && !isDialled }

  /// Takes in what the opening of its connection has measured.
  func dialled(_ report: TransferReport, isOpen: Bool) {
    isDialled = true
    tally.connectionsOpened = isOpen ? report.connectionsOpened : 0
    tally.phases = report.phases
    tally.peer = report.peer
  }

  private func forgetDial() {
    isDialled = false
    tally.connectionsOpened = 0
    tally.phases = PhaseDurations()
    tally.peer = nil
  }

  /// Whether the transfer waits for its user, so that the peer is not to blame for the silence.
  var isHeldByUser: Bool {
    upload.isPaused && !upload.isOver || isReceivingPaused && upload.isOver || state == .new
  }
}

extension HTTP1Transfer: TransferHandle {
  package func cancel() {
    guard state != .finished else { return }
    engine.loop.preconditionCurrent()
    failLater(.cancelled)
  }

  package func pauseReceiving() {
    engine.loop.preconditionCurrent()
    isReceivingPaused = true
  }

  package func resumeReceiving() {
    guard state != .finished, isReceivingPaused else { return }
    engine.loop.preconditionCurrent()
    isReceivingPaused = false
    times.lastProgress = .now
    engine.need(.receive, for: self)
  }

  package func pauseSending() {
    engine.loop.preconditionCurrent()
    upload.isPaused = true
    upload.awaitsSource = false
  }

  package func resumeSending() {
    guard state != .finished, upload.isPaused else { return }
    engine.loop.preconditionCurrent()
    upload.isPaused = false
    upload.awaitsSource = false
    times.lastProgress = .now
    engine.need(.send, for: self)
  }

  package func limitSilence(to seconds: Double) {
    guard state != .finished else { return }
    engine.loop.preconditionCurrent()
    silenceTimeout = seconds
    connection?.armSilence(self)
  }

  package func handOver(to delegate: any TransferDelegate) { self.delegate = delegate }

  package var hasSwitched: Bool { upload.isRaw }

  package var forwardingProxy: TransferProxy? { forwarded == nil ? nil : origin.key.proxy }

  package func omitEndNotice() { upload.omitsEndNotice = true }

  package func mayBeAuthenticated(byProxy: Bool) -> Bool {
    spec.canRepeatBody && !headers.hasCredential(forProxy: byProxy)
  }

  package func report() -> TransferReport {
    let end = MonotonicTime.now
    var report = tally
    report.total = end.seconds(since: times.start)
    report.bytesSent = upload.sent
    report.isReusedConnection = isReused
    if !isDialled, let opening = opening?.report() {
      report.phases = opening.phases
      report.peer = opening.peer
    }
    times.add(to: &report.phases, until: end)
    return report
  }
}

extension HTTP1Transfer {
  /// Ends the transfer with its failure.
  func end() {
    finish(failure ?? .cancelled, isReusable: false)
  }

  /// Ends the transfer at the end of the turn.
  func failLater(_ error: TransferError) {
    fail(error)
    engine.need(.end, for: self)
  }

  /// Ends the transfer. The connection is free for others before the delegate hears of it.
  func finish(_ error: TransferError?, isReusable: Bool) {
    guard state != .finished else { return }
    if let connection, !connection.hasResponded { tally.headerBytes += Int64(connection.parser.headBytes) }
    // The close of a TLS connection would say to the server that it has got the whole stream.
    if error != nil, hasSwitched { connection?.stream.shutdownSending() }
    let report = report()
    let wasWaiting = state == .connecting
    state = .finished
    if wasWaiting { origin.forgetServed() }
    opening?.cancel()
    opening = nil
    engine.remove(self)
    connection?.finish(isReusable: isReusable && error == nil)
    let delegate = delegate
    self.delegate = nil
    delegate?.transfer(self, didFinish: error, report: report)
  }

  /// Sends the request again on a connection of its own.
  ///
  /// - Parameter isStale: Whether the connection was dead when the request was sent.
  func sendAgain(isStale: Bool = true) {
    guard rewind() else {
      fail(.bodyNotRewindable)
      return end()
    }
    if isStale { tally.staleRetries += 1 }
    connection?.finish(isReusable: false)
    upload.startAgain()
    times.startAgain()
    hasSent = false
    forgetDial()
    engine.open(self, isFresh: true)
  }

  /// Why the request can't be sent; nil if it can.
  func defect() -> TransferError? {
    if let defect = headers.block.defect ?? (spec.opensTunnel ? nil : RequestRules.defect(of: spec)) {
      return TransferError(.invalidRequest, message: defect)
    }
    return engine.dialler.main.refusalOfLiteral(spec)
  }
}

extension TransferError {
  static let cannotWatch = TransferError(.noSocket, message: "the connection can't be watched")
}

/// The progress of sending a request's body.
struct Upload {
  /// Nil when the length is unknown, so that the body is sent in chunks.
  let length: Int64?
  let isEmpty: Bool
  /// Whether the user wants no bytes to be asked for, or has none.
  var isPaused = false
  /// Whether sending is paused for lack of bytes, and not by the user.
  var awaitsSource = false
  /// Whether the body waits for the server's consent (RFC 9110 §10.1.1).
  var awaitsContinue = false
  /// Whether the request asks for that consent.
  var expectsContinue: Bool
  /// Whether the server would not be asked, so that the request is sent without the question.
  var isRefusedConsent = false
  /// Bytes taken from the source since the last rewind.
  var supplied: Int64 = 0
  /// Bytes that the system has taken.
  var sent: Int64 = 0
  /// Bytes of which the delegate knows.
  var reported: Int64 = 0
  /// Whether the source has no more bytes.
  var isComplete: Bool
  /// Whether the rest of the body is not sent, as the response is there already or the connection is broken.
  var isAbandoned = false
  var file: LoopBound<FileBody>?
  /// Whether the bytes are those of another protocol, to which the server has switched.
  private(set) var isRaw = false
  /// Whether the server knows that no more bytes come.
  var isShutDown = false
  /// Whether the server is not told by close_notify that the stream is whole.
  var omitsEndNotice = false

  /// - Parameter isForHead: Whether the method is HEAD, for which no body is sent.
  init(_ body: TransferBody, expectsContinue: Bool, isForHead: Bool) {
    length = isForHead ? 0 : body.length
    if case .none = body { isEmpty = true } else { isEmpty = isForHead }
    isComplete = length == 0
    self.expectsContinue = expectsContinue && !isComplete
  }

  /// Bytes of another protocol, to which the server has switched: as they come from the delegate, without framing.
  static var raw: Upload {
    var upload = Upload(.pulled(length: nil), expectsContinue: false, isForHead: false)
    upload.isRaw = true
    return upload
  }

  /// The body starts again from its beginning.
  mutating func startAgain() {
    supplied = 0
    sent = 0
    isComplete = length == 0
    isAbandoned = false
    awaitsContinue = false
    // The source may never report more bytes: those awaited were the rest of the body.
    if awaitsSource { isPaused = false }
    awaitsSource = false
  }

  /// Whether nothing more of the body will be sent.
  var isOver: Bool { isComplete || isAbandoned }

  var isChunked: Bool { length == nil && !isRaw }
}
