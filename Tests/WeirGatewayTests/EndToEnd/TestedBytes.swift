import Glibc
import WeirTestSupport

/// Bytes of which no two blocks are the same.
enum TestedBytes {
  private static let block: [UInt8] = {
    var random = SeededRandom(seed: 11)
    return (0..<8192).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
  }()

  static func make(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + block.count)
    while bytes.count < count { bytes += [UInt8(truncatingIfNeeded: bytes.count >> 16)] + block.dropFirst() }
    return Array(bytes.prefix(count))
  }

  /// Faster than `==` without optimization.
  static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && memcmp(left, right, left.count) == 0
  }
}
