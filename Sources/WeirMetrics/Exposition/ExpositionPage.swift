/// The bytes of a page. One per endpoint, reused: after the first scrapes writing a page allocates nothing.
///
/// Not to be used by two threads at once; keep it in a `Mutex` or with one thread.
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

  /// Gives the page's bytes, valid during the call.
  public borrowing func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: memory, count: count))
  }

  /// A writer at the end of the page, with room for at least `room` bytes and what block copies may write beyond.
  @inline(__always)
  mutating func writer(room: Int) -> LineWriter {
    if capacity - count < room + LineWriter.slack { grow(room + LineWriter.slack) }
    return LineWriter(cursor: memory + count)
  }

  /// Takes over what a writer wrote.
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
