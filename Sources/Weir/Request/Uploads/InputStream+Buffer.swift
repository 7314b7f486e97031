import Foundation

extension InputStream {
  /// Reads at least a byte into a buffer that isn't empty, and says how many; 0 at the end. A stream may be of the
  /// caller's making, so its answers are checked.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard let start = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
    let count = read(start, maxLength: buffer.count)
    guard count >= 0 else { throw streamError ?? POSIXError(.EIO) }
    guard count <= buffer.count else { throw POSIXError(.EOVERFLOW) }
    return count
  }
}
