import WeirIO
import WeirServer

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
  var gate: UploadGate?
  /// Set for a body that is decoded on its way.
  var decoding: BodyDecoding?

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

  /// The time for the body, or for a part of it, is over.
  ///
  /// - Parameter isUsed: Whether the request is under way.
  mutating func timeIsOver(isUsed: Bool) -> BodyIntake.Verdict {
    intake.timeIsOver(isAwaited: isUsed && isAwaited, isCrowded: gate?.isCrowded ?? false)
  }

  // MARK: The attempts' side

  /// Returns whether an attempt has waited for what has come. It waits no more.
  mutating func wakes() -> Bool {
    defer { isAwaited = false }
    return isAwaited
  }

  /// The next bytes for an attempt, and whether the client's side has waited for the room that they leave.
  mutating func read(into target: UnsafeMutableRawBufferPointer) -> (read: ReplayBuffer.Read, makesRoom: Bool) {
    let read = buffer.read(into: target)
    let makesRoom = isFull && buffer.wantsMore
    if makesRoom { isFull = false }
    if case .wait = read { isAwaited = true }
    return (read, makesRoom)
  }

  /// Begins again for another attempt. Returns false if bytes that an earlier one took are gone.
  mutating func rewind() -> Bool {
    isAwaited = false
    return buffer.rewind()
  }
}
