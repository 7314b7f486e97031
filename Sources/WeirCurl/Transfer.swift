internal import WeirHTTP
internal import WeirIO

/// One attempt: a request on its way and the response to it. Confined to its engine's loop.
package final class Transfer: TransferHandle {
  enum State: UInt8 {
    /// libcurl does not have the transfer yet, or gave it back until its name may be looked up.
    case waiting
    /// libcurl has the transfer.
    case running
    /// libcurl is done, and the delegate hears the end only after `resumeReceiving`.
    case held
    /// The delegate has heard the end. libcurl keeps the transfer until the name lookup, which can't be stopped, is
    /// over.
    case abandoned
    case finished
  }

  /// Actions that the engine performs for a transfer at the end of the turn.
  struct Errands: OptionSet {
    let rawValue: UInt8

    static let add = Errands(rawValue: 1)
    static let cancel = Errands(rawValue: 2)
    static let unpause = Errands(rawValue: 4)
    /// Makes libcurl look at the transfer, though it had no event.
    static let nudge = Errands(rawValue: 8)
  }

  let spec: TransferSpec
  let headers: PreparedHeaders
  let engine: TransferEngine
  /// The proxy through which it connects; nil for none.
  let proxy: TransferProxy?
  var delegate: (any TransferDelegate)?
  var handle: EasyHandle?
  var state = State.waiting
  var errands: Errands = []
  /// The transfer's index in the engine's list.
  var slot = -1

  /// The transfer's failure, if its cause is ours and not libcurl's.
  var failure: TransferError?
  /// The error, in libcurl's terms, of an end that libcurl did not report.
  var verdict: TransferError?
  /// The report of an end that is held back.
  var heldReport: TransferReport?

  var clock: ExchangeTimes
  /// When TCP was established, if a TLS handshake or a tunnel followed before the request could be written.
  var connected: MonotonicTime?
  @exclusivity(unchecked) var tunnel = TunnelState()
  /// Seconds from the start until libcurl restarted the transfer, after a wait for a lookup or on another connection;
  /// else 0.
  var restarted = 0.0
  /// Seconds without a byte after which the transfer ends; 0 for no limit.
  var silenceTimeout: Double
  @exclusivity(unchecked) var receiving = ReceivingState()
  var sending: SendingState
  var lookup = LookupState.none
  /// The name to be looked up, and the ticket in the queue for its lookup.
  var lookupName = ""
  var lookupTicket: UInt64 = 0
  /// Armed when a name has to be looked up.
  var connectTimer: LoopTimer?
  /// Whether the connection may speak HTTP/2.
  var mayMultiplex = false
  /// The protocol that the connection speaks, as far as it is certain.
  var expectation = ProtocolExpectation.unknown
  /// The socket on which the response is awaited.
  var awaitedSocket: CInt = -1
  var remoteAddress: String?
  var remotePort: Int32 = 0
  /// Counts the requests put on a connection; there is more than one when libcurl repeats the request.
  @exclusivity(unchecked) var repeats = RepeatRule()
  @exclusivity(unchecked) var dial = DialState()
  /// The attempt to open a connection for others that this transfer is; nil for a request.
  var dialled: Dial?
  /// The TLS of the connection, for such an attempt.
  var secureConnection: TLSConnection?
  var peer: TLSPeer?
  /// Sockets opened for this transfer while it has no established connection.
  @exclusivity(unchecked) var connecting: [OpenedSocket] = []

  init(
    spec: consuming TransferSpec, headers: PreparedHeaders, delegate: any TransferDelegate, engine: TransferEngine,
    through proxy: TransferProxy?
  ) {
    self.proxy = proxy
    sending = SendingState(spec.body)
    silenceTimeout = spec.silenceTimeout
    self.spec = spec
    self.headers = headers
    self.delegate = delegate
    self.engine = engine
    clock = ExchangeTimes(start: .now)
  }

  /// Notes our own reason to end, unless there is an earlier one. Returns false, which ends the transfer in libcurl.
  @discardableResult
  func fail(_ error: @autoclosure () -> TransferError) -> Bool {
    if failure == nil { failure = error() }
    return false
  }

  /// Ends the transfer; the delegate hears `.cancelled` by the end of this turn, never from within this call.
  package func cancel() {
    guard !isFinished else { return }
    engine.loop.preconditionCurrent()
    fail(.cancelled)
    engine.need(.cancel, for: self)
  }

  /// Takes no more bytes of the response. Bytes that libcurl has already read wait there, and TCP slows the peer down.
  package func pauseReceiving() {
    engine.loop.preconditionCurrent()
    receiving.isPaused = true
  }

  /// Continues after `pauseReceiving` or an answer of `.pause`.
  package func resumeReceiving() {
    guard !isFinished, receiving.isPaused else { return }
    engine.loop.preconditionCurrent()
    receiving.isPaused = false
    clock.lastProgress = .now
    engine.need(.unpause, for: self)
  }

  /// Asks for no more bytes of the request's body.
  package func pauseSending() {
    engine.loop.preconditionCurrent()
    sending.isPaused = true
    sending.awaitsSource = false
  }

  /// Continues after `pauseSending` or a supply of `.pause`.
  package func resumeSending() {
    guard !isFinished, sending.isPaused else { return }
    engine.loop.preconditionCurrent()
    sending.isPaused = false
    sending.awaitsSource = false
    clock.lastProgress = .now
    engine.need(.unpause, for: self)
  }

  /// From now on so many seconds without a byte end the transfer.
  package func limitSilence(to seconds: Double) {
    guard !isFinished else { return }
    engine.loop.preconditionCurrent()
    silenceTimeout = seconds
    if let handle { engine.armSilence(handle, self) }
  }

  package func handOver(to delegate: any TransferDelegate) { self.delegate = delegate }

  package func omitEndNotice() {}

  package var hasSwitched: Bool { false }

  package var forwardingProxy: TransferProxy? { isTakenByProxy ? proxy : nil }

  package func mayBeAuthenticated(byProxy: Bool) -> Bool {
    spec.canRepeatBody && !headers.hasCredential(forProxy: byProxy)
  }

  package var isFinished: Bool { state == .finished || state == .abandoned }

  /// Whether the transfer waits for us, so that the peer is not to blame for the silence.
  var isHeldByUs: Bool {
    sending.isPaused && !sending.isComplete || receiving.isPaused && sending.isComplete || state == .waiting
  }
}

enum LookupState: UInt8 {
  case none
  /// The lookup was refused for now; libcurl is about to report that.
  case postponed
  /// The transfer waits to be restarted when a lookup ends.
  case waiting
  /// The lookup counts as under way: it runs, or it is the next to run.
  case running
  case failed
}

/// Decides whether a request may be sent again.
///
/// libcurl repeats a request, whatever its method, when a pooled connection ends without a byte in answer. The server
/// may have acted on the request by then. So only two kinds may be repeated: idempotent requests (RFC 9110 §9.2.2), and
/// requests of which nothing was sent.
///
/// With HTTP/2 a server may also refuse a request, by REFUSED_STREAM or GOAWAY; libcurl then repeats it at once, five
/// times. Here it is repeated once, as the server may have too much to do. The rest is for retriers, which wait and
/// have a budget.
package struct RepeatRule {
  /// The number of requests begun.
  private(set) var requests = 0
  /// How many of them replaced a request on a pooled connection that was dead or spoilt.
  private(set) var staleRetries = 0
  /// Whether the connection that libcurl chose is spoilt, so that the transfer must start again on a new one.
  var needsFreshConnection = false
  /// Whether the last request was certainly sent by HTTP/1.
  private var wasHTTP1 = false
  private var sentBefore = 0
  private var receivedBefore: Int64 = 0

  /// - Parameters:
  ///   - sent: Bytes of request heads so far.
  ///   - isAskedFor: Whether the response asked for another request, as 417 does.
  func allowsAnother(method: String, sent: Int, isAskedFor: Bool) -> Bool {
    if requests == 0 || isAskedFor || sent == sentBefore { return true }
    return RequestMethods.idempotent.contains(method) && (wasHTTP1 || staleRetries == 0)
  }

  mutating func begin(sent: Int, received: Int64, isHTTP1: Bool) {
    if requests > 0, received == receivedBefore { staleRetries += 1 }
    requests += 1
    wasHTTP1 = isHTTP1
    sentBefore = sent
    receivedBefore = received
  }

  /// libcurl starts from the beginning, and so do its counts. The request on the earlier connection may be repeated.
  mutating func startAnew(isStale: Bool) {
    if isStale { staleRetries += 1 }
    requests = 0
    sentBefore = 0
  }
}
