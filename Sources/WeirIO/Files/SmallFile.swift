import Glibc

/// Files that are read as a whole, again and again.
package enum SmallFile {
  /// The reason why a file was not read, in words that follow its name.
  package struct Failure: Error, Sendable, Hashable {
    package let text: String

    init(_ text: String = "can't be read: " + String(cString: strerror(errno))) {
      self.text = text
    }
  }

  /// Reads at most `limit` bytes of a regular file.
  package static func bytes(of path: String, limit: Int) throws(Failure) -> [UInt8] {
    // Without O_NONBLOCK, opening a pipe waits for a writer.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw Failure() }
    defer { close(descriptor) }
    if let kind = otherKind(of: descriptor) { throw Failure("is \(kind); give a regular file") }
    var bytes = [UInt8](repeating: 0, count: min(limit, 64 << 10))
    var filled = 0
    while filled < limit {
      if filled == bytes.count { bytes.append(contentsOf: repeatElement(0, count: bytes.count)) }
      let count = bytes.withUnsafeMutableBytes { buffer in
        read(descriptor, buffer.baseAddress?.advanced(by: filled), min(buffer.count, limit) - filled)
      }
      if count == 0 { break }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Failure() }
      filled += count
    }
    return Array(bytes[..<filled])
  }

  /// The kind of a file that is not regular; nil for a regular file. A pipe has nothing more to read the second time,
  /// and reading from it, or from a terminal, would block. A directory is not named here, since reading it fails with
  /// its own error.
  private static func otherKind(of descriptor: CInt) -> String? {
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else { return nil }
    switch facts.st_mode & S_IFMT {
    case S_IFREG, S_IFDIR: return nil
    case S_IFIFO: return "a pipe"
    case S_IFCHR, S_IFBLK: return "a device"
    default: return "no file"
    }
  }
}
