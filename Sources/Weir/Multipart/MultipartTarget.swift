import Glibc
import WeirIO

/// Writes a form's bytes to a new file, a piece at a time.
final class MultipartTarget: MultipartSink {
  private let descriptor: CInt
  private let path: String?
  private var isOpen = true
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: MultipartBody.pieceSize, alignment: 16)
  private var count = 0

  /// Creates the file, which must not exist: neither another user's file is written to, nor is a link followed.
  convenience init(creating url: URL) throws(WeirError) {
    guard url.isFileURL else { throw .multipartEncodingFailed(reason: .outputStreamURLInvalid(url: url)) }
    let path = url.path
    do throws(Errno) {
      let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
      self.init(descriptor: try FileSystem.open(path, flags, permissions: 0o600), path: path)
    } catch {
      throw .multipartEncodingFailed(
        reason: error.rawValue == EEXIST
          ? .outputStreamFileAlreadyExists(at: url) : .outputStreamCreationFailed(for: url))
    }
  }

  /// Writes to an open file, and closes it at the end.
  init(descriptor: CInt, path: String? = nil) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit {
    if isOpen { FileSystem.close(descriptor) }
    buffer.deallocate()
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(WeirError) {
    if bytes.count > buffer.count - count { try flush() }
    if bytes.count >= buffer.count { return try writeOut(bytes) }
    UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  func fill(
    _ wanted: Int, _ read: (UnsafeMutableRawBufferPointer) throws(WeirError) -> Int
  ) throws(WeirError) -> Int {
    if wanted > buffer.count - count { try flush() }
    let filled = try read(UnsafeMutableRawBufferPointer(rebasing: buffer[count...].prefix(wanted)))
    count += filled
    return filled
  }

  /// Writes the rest and closes the file. Closing may fail too, on a file system that writes late.
  func close() throws(WeirError) {
    try flush()
    isOpen = false
    try written { () throws(Errno) in try FileSystem.closeWritten(descriptor) }
  }

  /// Removes the file.
  func remove() {
    if let path { try? FileSystem.remove(path) }
  }

  private func flush() throws(WeirError) {
    try writeOut(UnsafeRawBufferPointer(rebasing: buffer.prefix(count)))
    count = 0
  }

  private func writeOut(_ bytes: UnsafeRawBufferPointer) throws(WeirError) {
    try written { () throws(Errno) in try FileSystem.write(bytes, to: descriptor) }
  }

  private func written(_ write: () throws(Errno) -> Void) throws(WeirError) {
    do throws(Errno) {
      try write()
    } catch {
      throw .multipartEncodingFailed(reason: .outputStreamWriteFailed(error: POSIXError(error)))
    }
  }
}
