import CLinux
import Glibc

extension Configuration {
  /// Reads and judges a configuration. `file` is only a name, for the error text.
  package init(parsing bytes: [UInt8], file: String) throws(ConfigurationError) {
    let document: YAMLDocument
    do {
      document = try YAMLDocument(parsing: bytes)
    } catch {
      throw ConfigurationError(file: file, problems: [error])
    }
    let decoded = YAMLDecoder(document).decode(ConfigurationDocument.self)
    var problems = decoded.problems
    guard let value = decoded.value else { throw ConfigurationError(file: file, problems: problems) }
    var builder = ConfigurationBuilder()
    let configuration = builder.configuration(value)
    problems += builder.problems
    guard problems.isEmpty else { throw ConfigurationError(file: file, problems: problems) }
    self = configuration
  }

  /// Reads a file of at most 1 MiB.
  package init(file: String) throws(ConfigurationError) {
    let bytes: [UInt8]
    do {
      bytes = try Self.read(file, limit: YAMLLimits().bytes + 1)
    } catch {
      let problem = ConfigurationProblem(at: nil, path: ConfigurationPath(), "can't be read: \(error.text)")
      throw ConfigurationError(file: file, problems: [problem])
    }
    try self.init(parsing: bytes, file: file)
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
