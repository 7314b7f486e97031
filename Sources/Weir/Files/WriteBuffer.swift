/// The bytes of a body that wait to be written, as a value. One piece is being written at a time; bytes that come
/// meanwhile form the next piece. Pieces are large if bytes come fast: each piece costs a worker's turn, and file
/// systems handle large ones better.
struct WriteBuffer: Sendable {
  /// Receiving stops while more bytes than this wait.
  static let limit = 1 << 20
  /// Receiving goes on once no more bytes than this wait.
  static let lowMark = 256 << 10
  /// A piece of this size is given to a worker at once.
  static let pieceSize = 256 << 10
  /// Fewer bytes than this at the end of a turn are written: they come slowly, and more may not come for long. If bytes
  /// come faster, they wait until they make a piece.
  static let slowSize = 32 << 10

  private var waiting: [UInt8] = []
  /// An array to use again, which has already grown to the size of a turn's bytes.
  private var spare: [UInt8] = []
  private(set) var inFlight = 0
  /// Bytes on the disk.
  private(set) var written: Int64 = 0
  private var isFull = false

  var isEmpty: Bool { waiting.isEmpty && inFlight == 0 }

  /// Bytes in memory.
  var count: Int { waiting.count + inFlight }

  /// Whether a piece is large enough and no other piece is being written.
  var hasPiece: Bool { inFlight == 0 && waiting.count >= Self.pieceSize }

  /// Whether the bytes that wait at the end of a turn are written now.
  var isDue: Bool { hasPiece || inFlight == 0 && !waiting.isEmpty && waiting.count < Self.slowSize }

  /// Takes bytes in; returns false if no more should come until ``wrote(_:)`` returns true.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    waiting.append(contentsOf: bytes)
    isFull = count > Self.limit
    return !isFull
  }

  /// The next piece; nil if one is being written or nothing waits.
  mutating func next() -> [UInt8]? {
    guard inFlight == 0, !waiting.isEmpty else { return nil }
    let piece = waiting
    inFlight = piece.count
    waiting = spare
    spare = []
    return piece
  }

  /// A piece is written. Returns true if receiving had stopped and may go on.
  mutating func wrote(_ piece: consuming [UInt8]) -> Bool {
    written += Int64(piece.count)
    inFlight = 0
    piece.removeAll(keepingCapacity: true)
    spare = piece
    guard isFull, count <= Self.lowMark else { return false }
    isFull = false
    return true
  }
}
