import WeirCurl
import WeirIO
import WeirServer
import WeirTransport

/// A request's body on its way from the client to the attempts: as much of it as is kept, which side waits for the other
/// one, and why it is not taken, if it is not.
struct IncomingBody {
  private var buffer = ReplayBuffer()
  private var intake = BodyIntake()
  /// Whether the attempt found the buffer empty, and has not looked again.
  private var hasPaused = false
  /// Whether the client's side found the buffer full, and waits for room.
  private(set) var isFull = false
  /// Why it is not taken.
  private(set) var defect: BodyDefect?
  /// The timer of its pace, while it comes.
  var timer: LoopTimer?
  /// The gate that it has entered, while it streams.
  var gate: Gate?
  /// Whether it is decoded on its way. That outlives the decoder, since another attempt must not announce the coding
  /// either.
  var isDecoded = false
  var decoder: BodyCoder?

  /// Whether the attempt waits for bytes, and the client may send them.
  var isAwaited: Bool { hasPaused && !isFull }
  /// Whether nothing of it has gone to the upstream.
  var isGathering: Bool { intake.stage == .gathering }
  /// Whether the upstream has taken all that has come, and waits for more.
  var holdsUpstreamUp: Bool { intake.stage == .streaming && isAwaited }
  var hasRoom: Bool { buffer.wantsMore }
  /// Whether all of it that has come is kept, so that another attempt could send it.
  var canReplay: Bool { buffer.canReplay }
  /// Whether it may keep more than every body, and counts for the bound of the process.
  var keepsMore: Bool { buffer.keepsMore }

  mutating func refuse(_ defect: BodyDefect) {
    if self.defect == nil { self.defect = defect }
  }

  // MARK: What is kept

  /// Sets how much is kept, before anything has come.
  mutating func keep(_ limit: Int, of account: ReplayAccount) { buffer = ReplayBuffer(limit: limit, account: account) }

  /// Another attempt follows: nothing that it will send may go before it begins.
  mutating func hold() { buffer.hold() }

  /// No other attempt follows for now. Returns whether the client's side has waited for that.
  mutating func release() -> Bool {
    buffer.release()
    return makesRoom()
  }

  /// No other attempt will follow.
  mutating func stopKeeping() { buffer.stopKeeping() }

  /// The request is over.
  mutating func drop() { buffer = ReplayBuffer() }

  // MARK: The client's side

  mutating func append(_ bytes: UnsafeRawBufferPointer) { buffer.append(bytes) }

  /// So many bytes have come, and what they decode to is in the buffer. Returns whether the request is to begin.
  mutating func received(_ count: Int) -> Bool { intake.received(count, isFull: !looksForRoom()) }

  /// Returns whether there is room. If not, the client's side waits for it.
  mutating func looksForRoom() -> Bool {
    isFull = !buffer.wantsMore
    return !isFull
  }

  /// The body is whole. Returns whether the request is to begin.
  mutating func ended() -> Bool {
    buffer.finish()
    return intake.ended()
  }

  /// The time for the body, or for a part of it, is over. Returns whether the client is too slow.
  ///
  /// - Parameter isUsed: Whether the request is under way.
  mutating func isTooSlow(isUsed: Bool) -> Bool {
    intake.isTooSlow(isAwaited: isUsed && isAwaited, isCrowded: gate?.isCrowded ?? false)
  }

  // MARK: The attempts' side

  /// Returns whether an attempt has waited for what has come. It waits no more.
  mutating func wakes() -> Bool {
    defer { hasPaused = false }
    return hasPaused
  }

  /// The next bytes for an attempt, and whether the client's side has waited for the room that they leave.
  mutating func read(into target: UnsafeMutableRawBufferPointer) -> (read: BodySupply, makesRoom: Bool) {
    let read = buffer.read(into: target)
    if case .pause = read { hasPaused = true }
    return (read, makesRoom())
  }

  /// Returns whether the client's side has waited, and there is room for more.
  private mutating func makesRoom() -> Bool {
    guard isFull, buffer.wantsMore else { return false }
    isFull = false
    return true
  }

  /// Begins again for another attempt. Returns false if bytes that an earlier one took are gone. That makes no room for the
  /// client's side: what has come of a body that is still coming fills the window.
  @discardableResult
  mutating func rewind() -> Bool {
    hasPaused = false
    return buffer.rewind()
  }
}

/// Tracks how much of a request's body a client has sent, and decides what follows. A value.
///
/// The request goes to the upstream once its body is there, or as much of it as may wait here. So a slow client occupies no
/// slot meanwhile. The rest of the body must come at a minimum pace, as long as other requests want the slot.
struct BodyIntake {
  enum Stage {
    /// Nothing has gone to the upstream.
    case gathering
    /// The request is under way, its body is not complete.
    case streaming
    case complete
  }

  /// Seconds between two checks of the pace of a body that streams.
  static let interval = 5.0
  /// The minimum number of bytes in that time. It applies while the upstream waits for them and other requests wait for
  /// slots.
  static let leastBytes = 5 << 10

  private(set) var stage = Stage.gathering
  private var bytes = 0

  /// Counts received bytes. Returns true if as much as may wait here has come, so that the request should begin.
  mutating func received(_ count: Int, isFull: Bool) -> Bool {
    bytes += count
    guard stage == .gathering, isFull else { return false }
    stage = .streaming
    bytes = 0
    return true
  }

  /// The body has ended. Returns true if the request should begin.
  mutating func ended() -> Bool {
    defer { stage = .complete }
    return stage == .gathering
  }

  /// The timer has fired: at the end of the whole time while the body is gathered, or of an interval while it streams.
  mutating func isTooSlow(isAwaited: Bool, isCrowded: Bool) -> Bool {
    defer { bytes = 0 }
    switch stage {
    case .gathering: return true
    case .streaming: return isAwaited && isCrowded && bytes < Self.leastBytes
    case .complete: return false
    }
  }
}

/// Why a request's body is not taken.
enum BodyDefect {
  case tooSlow
  /// It is not valid in its content coding.
  case broken
  /// It is too large once it is decoded.
  case tooLarge
  /// It is larger than the route takes, as it came or once it is decoded.
  case overLimit
  /// There is no room to decode it.
  case crowded

  var answer: GatewayAnswer {
    switch self {
    case .tooSlow: .slowBody
    case .broken: .brokenBody
    case .tooLarge: .bodyTooLarge
    case .overLimit: .bodyOverLimit
    case .crowded: .tooManyCodedBodies
    }
  }

  var outcome: GatewayOutcome {
    switch self {
    case .tooSlow: .bodyTimeout
    case .broken, .tooLarge: .refused
    case .overLimit: .tooLarge
    case .crowded: .forwarded(.rejected)
    }
  }
}
