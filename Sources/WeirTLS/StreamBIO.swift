internal import CTLS

/// The BIO by which OpenSSL reads a stream's input and adds to its output. A memory BIO of OpenSSL would keep the
/// memory of the most bytes that it ever held.
enum StreamBIO {
  /// A BIO that refers to a stream without retaining it; nil without memory.
  static func make(for stream: TLSStream) -> OpaquePointer? {
    guard let method = method.pointer, let bio = BIO_new(method) else { return nil }
    BIO_set_data(bio, Unmanaged.passUnretained(stream).toOpaque())
    BIO_set_init(bio, 1)
    return bio
  }

  /// The functions of the BIO, made once and never freed. Unchecked, since OpenSSL only reads them.
  private struct Method: @unchecked Sendable {
    let pointer: OpaquePointer?
  }

  private static let method: Method = {
    guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir") else {
      return Method(pointer: nil)
    }
    BIO_meth_set_read(method) { bio, target, count in
      guard let stream = StreamBIO.stream(of: bio) else { return -1 }
      weir_bio_clear_retry(bio)
      let moved = stream.moveInput(into: UnsafeMutableRawBufferPointer(start: target, count: Int(max(count, 0))))
      if moved > 0 { return CInt(moved) }
      weir_bio_set_retry_read(bio)
      return -1
    }
    BIO_meth_set_write(method) { bio, source, count in
      guard let stream = StreamBIO.stream(of: bio) else { return -1 }
      weir_bio_clear_retry(bio)
      return stream.addOutput(UnsafeRawBufferPointer(start: source, count: Int(max(count, 0)))) ? count : -1
    }
    BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    return Method(pointer: method)
  }()

  private static func stream(of bio: OpaquePointer?) -> TLSStream? {
    guard let owner = BIO_get_data(bio) else { return nil }
    return Unmanaged<TLSStream>.fromOpaque(owner).takeUnretainedValue()
  }
}

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
