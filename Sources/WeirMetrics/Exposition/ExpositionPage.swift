/// The bytes of a page. Keep one per endpoint and reuse it: after the first scrapes, writing a page allocates nothing.
///
/// It must not be used by two threads at once; keep it in a `Mutex` or on one thread.
public struct ExpositionPage: ~Copyable {
  private var memory: UnsafeMutableRawPointer
  private var capacity: Int
  /// The number of bytes written.
  public private(set) var count = 0

  /// An empty page.
  public init() {
    capacity = 16 * 1024
    memory = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit {
    memory.deallocate()
  }

  /// Empties the page. Its memory is kept for the next one.
  public mutating func removeAll() {
    count = 0
  }

  /// Passes the page's bytes to `body`; they are valid during the call.
  public borrowing func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: memory, count: count))
  }

  /// A writer at the end of the page, with room for at least `room` bytes and for the excess of block copies.
  @inline(__always)
  mutating func writer(room: Int) -> LineWriter {
    if capacity - count < room + LineWriter.slack { grow(room + LineWriter.slack) }
    return LineWriter(cursor: memory + count)
  }

  /// Adds the bytes that a writer has written.
  @inline(__always)
  mutating func take(_ writer: LineWriter) {
    count = writer.cursor - memory
  }

  @inline(never)
  private mutating func grow(_ room: Int) {
    let larger = max(capacity * 2, count + room)
    let copy = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
    copy.copyMemory(from: memory, byteCount: count)
    memory.deallocate()
    memory = copy
    capacity = larger
  }
}
