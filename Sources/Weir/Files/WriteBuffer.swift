/// What of a body waits to be written: a value. One piece is on its way to the disk at a time; what comes meanwhile is the
/// next piece. Pieces are large where bytes come fast: each costs a worker's turn, and a file system likes large ones.
struct WriteBuffer: Sendable {
  /// Receiving stops while more than this waits.
  static let limit = 1 << 20
  /// Receiving goes on when no more than this waits.
  static let lowMark = 256 << 10
  /// A piece of this size is worth a worker at once.
  static let pieceSize = 256 << 10
  /// Less than this at the end of a turn is written: it comes slowly, and there may be nothing more for long. What comes faster
  /// waits until there is a piece.
  static let slowSize = 32 << 10

  private var waiting: [UInt8] = []
  /// An array to be used again, since each has grown to what a turn brings.
  private var spare: [UInt8] = []
  private(set) var inFlight = 0
  /// What is on the disk.
  private(set) var written: Int64 = 0
  private var isFull = false

  var isEmpty: Bool { waiting.isEmpty && inFlight == 0 }

  /// Bytes in memory.
  var count: Int { waiting.count + inFlight }

  /// Whether a piece may go now that is large enough.
  var hasPiece: Bool { inFlight == 0 && waiting.count >= Self.pieceSize }

  /// Whether what waits at the end of a turn goes now.
  var isDue: Bool { hasPiece || inFlight == 0 && !waiting.isEmpty && waiting.count < Self.slowSize }

  /// Takes bytes in; false when no more should come until ``wrote(_:)`` says so.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    waiting.append(contentsOf: bytes)
    isFull = count > Self.limit
    return !isFull
  }

  /// The next piece, if none is on its way.
  mutating func next() -> [UInt8]? {
    guard inFlight == 0, !waiting.isEmpty else { return nil }
    let piece = waiting
    inFlight = piece.count
    waiting = spare
    spare = []
    return piece
  }

  /// A piece is written; true when receiving may go on that had stopped.
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
