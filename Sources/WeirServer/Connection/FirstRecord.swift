/// The record with which a client begins TLS (RFC 8446 §5.1).
enum FirstRecord {
  private static let headBytes = 5
  private static let handshake: UInt8 = 22
  private static let mostBytes = 16 * 1024

  /// The number of bytes that have to be there before it can be read, by those that are. Bytes that begin no record can
  /// be read at once.
  static func bytes(by seen: UnsafeRawBufferPointer) -> Int {
    guard let first = seen.first, first == handshake else { return 0 }
    if seen.count < headBytes { return headBytes }
    return headBytes + min(Int(seen[3]) << 8 | Int(seen[4]), mostBytes)
  }
}
