import CLinux
import Glibc

/// The bytes of configuration files.
enum ConfigurationFile {
  /// Reads a file of at most 1 MiB, and one byte of a longer one, which the parser then refuses.
  static func bytes(of file: String) throws(ConfigurationError) -> [UInt8] {
    do {
      return try read(file, limit: YAMLLimits().bytes + 1)
    } catch {
      let problem = ConfigurationProblem(at: nil, path: ConfigurationPath(), "can't be read: \(error.text)")
      throw ConfigurationError(file: file, problems: [problem])
    }
  }

  private struct ReadFailure: Error {
    let text = String(cString: strerror(errno))
  }

  private static func read(_ file: String, limit: Int) throws(ReadFailure) -> [UInt8] {
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ReadFailure() }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    var filled = 0
    while filled < limit {
      if filled == bytes.count { bytes.append(contentsOf: repeatElement(0, count: bytes.count)) }
      let count = bytes.withUnsafeMutableBytes { buffer in
        Glibc.read(descriptor, buffer.baseAddress?.advanced(by: filled), min(buffer.count, limit) - filled)
      }
      if count == 0 { break }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw ReadFailure() }
      filled += count
    }
    return Array(bytes[..<filled])
  }
}
