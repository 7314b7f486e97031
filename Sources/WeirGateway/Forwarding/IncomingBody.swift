import WeirCurl
import WeirIO
import WeirServer
import WeirTransport

/// A request's body on its way from the client to the attempts: as much of it as is kept, which side waits for the other
/// one, and why it is not taken, if it is not.
struct IncomingBody {
  private var buffer = ReplayBuffer()
  private var intake = BodyIntake()
  /// Whether the attempt found the buffer empty, and waits for bytes.
  private(set) var isAwaited = false
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

  /// Whether nothing of it has gone to the upstream.
  var isGathering: Bool { intake.stage == .gathering }
  /// Whether the upstream has taken all that has come, and waits for more.
  var holdsUpstreamUp: Bool { intake.stage == .streaming && isAwaited }
  var hasRoom: Bool { buffer.wantsMore }
  /// Whether no attempt has taken bytes that are gone.
  var canRewind: Bool { buffer.canRewind }

  /// Whether another attempt could send the same body, which has this length.
  func canReplay(_ length: BodyLength) -> Bool {
    switch length {
    case .none: true
    case .length(let length): buffer.canReplay && (buffer.isComplete || length <= ReplayBuffer.defaultLimit)
    // A body of unknown length might outgrow the buffer while the retry waits.
    case .chunked: buffer.canReplay && buffer.isComplete
    }
  }

  mutating func refuse(_ defect: BodyDefect) {
    if self.defect == nil { self.defect = defect }
  }

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
    defer { isAwaited = false }
    return isAwaited
  }

  /// The next bytes for an attempt, and whether the client's side has waited for the room that they leave.
  mutating func read(into target: UnsafeMutableRawBufferPointer) -> (read: BodySupply, makesRoom: Bool) {
    let read = buffer.read(into: target)
    let makesRoom = isFull && buffer.wantsMore
    if makesRoom { isFull = false }
    if case .pause = read { isAwaited = true }
    return (read, makesRoom)
  }

  /// Begins again for another attempt. Returns false if bytes that an earlier one took are gone.
  mutating func rewind() -> Bool {
    isAwaited = false
    return buffer.rewind()
  }
}

/// Tracks how much of a request's body a client has sent, and decides what follows. A value.
///
/// The request goes to the upstream once its body is there, or as much of it as is kept. So a slow client occupies no
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

  /// Counts received bytes. Returns true if as much as is kept has come, so that the request should begin.
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

/// A request body between the client that sends it and the attempts that take it.
///
/// Up to `limit` bytes are kept, so that another attempt can send them again. A body that grows beyond that is passed
/// through: bytes that an attempt has taken are released, and the body can't be replayed any more.
struct ReplayBuffer {
  /// The default limit, 64 KiB.
  static let defaultLimit = 64 << 10

  /// Whether all of the body so far is kept.
  private(set) var canReplay = true
  /// Whether the client has sent the whole body.
  private(set) var isComplete = false
  private let limit: Int
  private var bytes: [UInt8] = []
  private var taken = 0
  private var hasLetGo = false

  init(limit: Int = Self.defaultLimit) {
    self.limit = limit
  }

  var unread: Int { bytes.count - taken }

  /// Whether the client may send more. False if as many bytes as the limit wait for an attempt to take them.
  var wantsMore: Bool { unread < limit }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    if canReplay, bytes.count + more.count > limit { canReplay = false }
    if !canReplay { letGo() }
    bytes.append(contentsOf: more)
  }

  mutating func finish() {
    isComplete = true
  }

  mutating func read(into target: UnsafeMutableRawBufferPointer) -> BodySupply {
    let count = min(target.count, unread)
    guard count > 0 else { return isComplete && unread == 0 ? .end : .pause }
    bytes.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[taken..<taken + count])) }
    taken += count
    if taken == bytes.count, !canReplay { letGo() }
    return .bytes(count)
  }

  /// Whether no attempt has taken bytes that are gone.
  var canRewind: Bool { !hasLetGo }

  /// Begins again for another attempt. Returns false if bytes that an earlier one took are gone.
  mutating func rewind() -> Bool {
    guard !hasLetGo else { return false }
    taken = 0
    return true
  }

  private mutating func letGo() {
    guard taken > 0 else { return }
    bytes.removeSubrange(..<taken)
    taken = 0
    hasLetGo = true
  }
}
