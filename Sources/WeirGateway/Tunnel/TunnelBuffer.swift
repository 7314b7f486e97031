/// The bytes of a client that its upstream has not taken. A value.
///
/// It keeps no memory while it is empty, as most tunnels are idle most of the time.
struct TunnelBuffer {
  /// The bytes from which on the client is not read.
  static let limit = 64 << 10

  private var bytes: [UInt8] = []
  private var taken = 0

  var count: Int { bytes.count - taken }

  /// Whether more should be read from the client.
  var wantsMore: Bool { count < Self.limit }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: more)
  }

  /// Moves the first bytes to `target`, and returns their number.
  mutating func read(into target: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(target.count, self.count)
    guard count > 0 else { return 0 }
    bytes.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[taken..<taken + count])) }
    taken += count
    if taken == bytes.count {
      (bytes, taken) = ([], 0)
    } else if taken >= Self.limit {
      bytes.removeFirst(taken)
      taken = 0
    }
    return count
  }
}
