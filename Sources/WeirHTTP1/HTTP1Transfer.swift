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
  @exclusivity(unchecked) var tally = ExchangeTally()

  init(
    _ spec: consuming TransferSpec, at place: RequestPlace, headers: PreparedHeaders, delegate: any TransferDelegate,
    engine: HTTP1Engine
  ) {
    upload = Upload(spec.body, expectsContinue: headers.expectsContinue, isForHead: spec.method == "HEAD")
    times = ExchangeTimes(start: .now)
    silenceTimeout = spec.silenceTimeout
    self.spec = spec
    self.headers = headers
    self.delegate = delegate
    self.engine = engine
    origin = place.origin
    target = self.spec.target.map { $0[...] } ?? place.target
  }

  /// Notes why the transfer ends, unless there is an earlier reason.
  func fail(_ error: @autoclosure () -> TransferError) {
    if failure == nil { failure = error() }
  }

  /// Whether the request was begun on a connection that had not been opened for it.
  var isReused: Bool { times.ready != nil && tally.dialled == nil }

  /// Whether the transfer waits for its user, so that the peer is not to blame for the silence.
  var isHeldByUser: Bool {
    upload.isPaused && !upload.isOver || isReceivingPaused && upload.isOver || state == .new
  }
}

extension HTTP1Transfer: TransferHandle {
  package func cancel() {
    guard state != .finished else { return }
    engine.loop.preconditionCurrent()
    fail(.cancelled)
    engine.need(.end, for: self)
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

  package func omitEndNotice() { upload.omitsEndNotice = true }

  package var mayBeAuthenticated: Bool { spec.canRepeatBody && !headers.hasAuthorization }

  package func report() -> TransferReport {
    let end = MonotonicTime.now
    var report = TransferReport(startTime: times.start, total: end.seconds(since: times.start))
    report.bytesSent = upload.sent
    report.headerBytesSent = tally.headerBytesSent
    report.bytesReceivedOnWire = tally.bodyBytes
    report.headerBytes = tally.headerBytes
    report.isReusedConnection = isReused
    report.staleRetries = tally.staleRetries
    report.version = tally.version
    report.remoteAddress = tally.remoteAddress
    report.remotePort = tally.remoteAddress == nil ? nil : tally.remotePort
    if let dialled = tally.dialled ?? opening?.report() {
      // An attempt that failed has opened none.
      report.connectionsOpened = times.ready == nil ? 0 : dialled.connectionsOpened
      report.phases = dialled.phases
      report.peer = dialled.peer
    }
    times.add(to: &report.phases, until: end)
    return report
  }
}

/// The counts of an exchange and the facts about its connection.
struct ExchangeTally {
  /// Whether anything of the request was handed to the system, on the present connection.
  var hasSent = false
  var headerBytesSent: Int64 = 0
  var headerBytes: Int64 = 0
  var bodyBytes: Int64 = 0
  /// How often the request was sent again, or another connection was taken, because an idle connection was dead.
  var staleRetries = 0
  var version: HTTPVersionNumber?
  var remoteAddress: String?
  var remotePort = 0
  /// The report on the connection that was opened for the transfer, if it was used.
  var dialled: TransferReport?
}
