import Glibc
import Synchronization
import WeirIO

/// Memory for bodies of about a megabyte. The kernel clears new memory page by page as it is touched, which takes as
/// long as receiving the bytes that go there. So memory that callers release is used again.
///
/// The memory is malloc's, so it may be freed whatever `Data` does with it.
final class BodyMemory: Sendable {
  private struct Block: Sendable {
    let address: UInt
    let size: Int
  }

  private struct State {
    /// A stack: the block that was given back last is taken first.
    var free: [Block] = []
    var size = 0
  }

  /// Sizes of blocks that are kept. malloc itself keeps enough smaller blocks, and larger ones would take too much.
  static let sizes = (128 << 10)...(4 << 20)
  /// Upper bound of the bytes kept, over all blocks.
  static let kept = 8 << 20

  private let state = Mutex(State())

  deinit {
    for block in state.withLock({ $0.free }) { free(UnsafeMutableRawPointer(bitPattern: block.address)) }
  }

  /// Bytes that are kept and not in use.
  var idleSize: Int { state.withLock { $0.size } }

  /// The same bytes in a block with room for `room` bytes in all; nil if that size is not served here.
  func extended(_ data: Data, to room: Int) -> Data? {
    data.withUnsafeBytes { body($0, room: room) }
  }

  /// A body that begins with these bytes, with room for `room` bytes in all; nil if that size is not served here.
  func body(_ bytes: UnsafeRawBufferPointer, room: Int) -> Data? {
    // Very short `Data` has no memory of its own.
    guard Self.sizes.contains(room), bytes.count > 64, bytes.count <= room, let start = take(room) else { return nil }
    UnsafeMutableRawBufferPointer(start: start, count: room).copyMemory(from: bytes)
    var body = Data(bytesNoCopy: start, count: room, deallocator: .custom { [self] start, _ in put(start) })
    body.count = bytes.count
    return body
  }

  private func take(_ room: Int) -> UnsafeMutableRawPointer? {
    let block = state.withLock { state -> Block? in
      guard let index = state.free.lastIndex(where: { (room...room * 2).contains($0.size) }) else { return nil }
      let block = state.free.remove(at: index)
      state.size -= block.size
      return block
    }
    return block.flatMap { UnsafeMutableRawPointer(bitPattern: $0.address) } ?? malloc(room)
  }

  private func put(_ start: UnsafeMutableRawPointer) {
    let block = Block(address: UInt(bitPattern: start), size: usableSize(of: start))
    let isKept = state.withLock { state in
      guard Self.sizes.contains(block.size), state.size + block.size <= Self.kept else { return false }
      state.free.append(block)
      state.size += block.size
      return true
    }
    if !isKept { free(start) }
  }
}
