internal import WeirIO

/// One attempt: a request on its way and the response to it. Confined to its engine's loop.
package final class Transfer {
  enum State: UInt8 {
    /// Not given to libcurl yet; or waits for its turn to look up a name.
    case waiting
    /// libcurl has it.
    case running
    /// libcurl is done, and the end is held back until `resumeReceiving`.
    case held
    /// The delegate has heard the end; libcurl goes on until the name lookup, which it could not stop, is over.
    case abandoned
    case finished
  }

  /// What the engine has to do for a transfer at the end of the turn.
  struct Errands: OptionSet {
    let rawValue: UInt8

    static let add = Errands(rawValue: 1)
    static let cancel = Errands(rawValue: 2)
    static let unpause = Errands(rawValue: 4)
    /// libcurl is to look at the transfer, though nothing happened to it.
    static let nudge = Errands(rawValue: 8)
  }

  let spec: TransferSpec
  let headers: PreparedHeaders
  let engine: TransferEngine
  var delegate: (any TransferDelegate)?
  var handle: EasyHandle?
  var state = State.waiting
  var errands: Errands = []
  /// Place in the engine's list.
  var slot = -1

  /// Why the transfer has to fail, when it is for a reason of ours.
  var failure: TransferError.Kind?
  /// The error, in libcurl's terms, of an end that is not libcurl's.
  var verdict: TransferError?
  /// What libcurl has left unread, and the failure that it gave up with.
  var unread: UnreadResponse?
  var unreadError: TransferError?
  /// libcurl's result while the end is held back.
  var heldReport: TransferReport?

  var clock: TransferClock
  @exclusivity(unchecked) var receiving = ReceivingState()
  var sending: SendingState
  var lookup = LookupState.none
  /// The name that is looked up, and the place among those who wait for it.
  var lookupName = ""
  var lookupTicket: UInt64 = 0
  /// Armed when a name has to be looked up.
  var connectTimer: LoopTimer?
  /// Whether HTTP/2 may be what is spoken.
  var mayMultiplex = false
  /// What is spoken, as far as is certain.
  var expectation = ProtocolExpectation.unknown
  /// The socket that the response is awaited on.
  var awaitedSocket: CInt = -1
  var remoteAddress: String?
  var remotePort: Int32 = 0
  /// Heads that libcurl answered with credentials.
  var answeredChallenges = 0
  /// Requests put on a connection; more than one when libcurl repeats it.
  @exclusivity(unchecked) var repeats = RepeatRule()
  @exclusivity(unchecked) var dial = DialState()
  /// Sockets opened for this transfer while no connection of it is known to stand.
  @exclusivity(unchecked) var connecting: [OpenedSocket] = []

  init(
    spec: consuming TransferSpec, headers: PreparedHeaders, delegate: any TransferDelegate, engine: TransferEngine
  ) {
    sending = SendingState(spec.body)
    self.spec = spec
    self.headers = headers
    self.delegate = delegate
    self.engine = engine
    clock = TransferClock(start: .now)
  }

  /// Ends the transfer; the delegate hears `.cancelled` by the end of this turn, never from within this call.
  package func cancel() {
    guard !isFinished else { return }
    engine.loop.preconditionCurrent()
    failure = failure ?? .cancelled
    engine.need(.cancel, for: self)
  }

  /// Takes no more bytes of the response. Those that libcurl holds already wait there; the peer is slowed by TCP.
  package func pauseReceiving() {
    engine.loop.preconditionCurrent()
    receiving.isPaused = true
  }

  /// Goes on after `pauseReceiving` or an answer of `.pause`.
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

  /// Goes on after `pauseSending` or a supply of `.pause`.
  package func resumeSending() {
    guard !isFinished, sending.isPaused else { return }
    engine.loop.preconditionCurrent()
    sending.isPaused = false
    sending.awaitsSource = false
    clock.lastProgress = .now
    engine.need(.unpause, for: self)
  }

  /// Whether the caller leaves it to others to answer challenges, and the request can be sent again for that.
  package var mayBeAuthenticated: Bool { spec.canRepeatBody && !headers.hasAuthorization }

  /// What a challenge may be answered with: nothing, where the caller does so himself.
  var credential: TransferCredential? { mayBeAuthenticated ? spec.credential : nil }

  /// Whether the proxy gets its credential if it asks for one: for a tunnel there is no body to be sent again.
  var offersProxyCredential: Bool {
    guard engine.prepared.proxy.credential != nil else { return false }
    guard case .http = engine.prepared.proxy.kind else { return true }
    return spec.canRepeatBody || Scheme(url: spec.url) == .https
  }

  package var isFinished: Bool { state == .finished || state == .abandoned }

  /// Bytes of the request's body that libcurl has taken so far.
  package var bytesSent: Int64 { sending.supplied }

  /// Content-Length of the response; nil before its head and when it has none.
  package var expectedBytesToReceive: Int64? {
    receiving.framing.contentLength >= 0 ? receiving.framing.contentLength : nil
  }

  /// Whether it is us who hold things up, so that silence is no fault of the peer's.
  var isHeldByUs: Bool {
    sending.isPaused && !sending.isComplete || receiving.isPaused && sending.isComplete || state == .waiting
  }
}

/// When things happened; durations are taken from it at the end.
struct TransferClock {
  let start: MonotonicTime
  /// TCP stood, and something was awaited from the other side before the request could be written: a handshake, a tunnel.
  var connected: MonotonicTime?
  /// The connection stood and the request was about to be written.
  var ready: MonotonicTime?
  /// The last byte of the request was handed to libcurl.
  var sent: MonotonicTime?
  var firstByte: MonotonicTime?
  var lastProgress: MonotonicTime
  /// Seconds from the start until libcurl began anew, after a wait for a lookup or on another connection; 0 if it did not.
  var restarted = 0.0

  init(start: MonotonicTime) {
    self.start = start
    lastProgress = start
  }
}

enum LookupState: UInt8 {
  case none
  /// Refused for now; libcurl is about to report it.
  case postponed
  /// Among those who are started again when a lookup ends.
  case waiting
  /// Counted: under way, or next in its turn.
  case running
  case failed
}
