/// Bytes that are added at the end and taken from the start. It holds no memory while it is empty.
struct ByteQueue: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var head = 0
  private var tail = 0

  deinit { memory.deallocate() }

  var count: Int { tail - head }

  /// The bytes, valid until the queue changes.
  var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[head..<tail])
  }

  mutating func append(_ added: UnsafeRawBufferPointer) {
    reserve(added.count)
    UnsafeMutableRawBufferPointer(rebasing: memory[tail...]).copyMemory(from: added)
    tail += added.count
  }

  /// Makes room for `added` further bytes.
  mutating func reserve(_ added: Int) {
    guard memory.count - tail < added else { return }
    let held = count
    // Moving the bytes to the start of the same memory is worth it only if they are the lesser part, so that each byte
    // is moved a bounded number of times.
    if held + added <= memory.count, held <= memory.count / 2 {
      memory.copyMemory(from: bytes)
    } else {
      let larger = UnsafeMutableRawBufferPointer.allocate(
        byteCount: max(held + added, memory.count * 2, 512), alignment: 16)
      larger.copyMemory(from: bytes)
      memory.deallocate()
      memory = larger
    }
    (head, tail) = (0, held)
  }

  /// Takes up to `count` bytes.
  mutating func removeFirst(_ count: Int) {
    head += min(max(count, 0), tail - head)
    if head == tail { removeAll() }
  }

  /// Moves as many bytes as there are and fit into `target`.
  mutating func move(into target: UnsafeMutableRawBufferPointer) -> Int {
    let moved = min(count, target.count)
    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<moved]))
    removeFirst(moved)
    return moved
  }

  mutating func removeAll() {
    memory.deallocate()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    (head, tail) = (0, 0)
  }
}
