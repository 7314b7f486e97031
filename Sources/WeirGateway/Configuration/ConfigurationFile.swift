import CLinux
import Glibc

/// Reads the text of configuration files, and makes a value of it.
enum ConfigurationFile {
  /// Parses a document and has `build` read it. Returns the value of `build` if there were no problems. `file` is only
  /// a name, for the error text.
  /// - Parameters:
  ///   - acceptsEmpty: whether an empty file counts as a mapping without keys.
  ///   - quotesValues: whether error texts may repeat values.
  static func parse<Value>(
    _ bytes: [UInt8], file: String, acceptsEmpty: Bool = false, quotesValues: Bool = true,
    _ build: (ConfigurationReader) -> Value?
  ) throws(ConfigurationError) -> Value {
    let yaml: YAMLDocument
    do {
      yaml = try YAMLDocument(parsing: bytes, acceptsEmpty: acceptsEmpty)
    } catch {
      throw ConfigurationError(file: file, problems: [error])
    }
    let findings = ConfigurationFindings(quotesValues: quotesValues)
    let value = build(ConfigurationReader(yaml.root, findings))
    let problems = yaml.problems + findings.unknownKeys + findings.problems
    guard let value, problems.isEmpty else { throw ConfigurationError(file: file, problems: problems) }
    return value
  }

  /// Reads a file of at most 1 MiB, and one byte of a longer one, which the parser then refuses.
  static func bytes(of file: String) throws(ConfigurationError) -> [UInt8] {
    do {
      return try read(file, limit: YAMLLimits().bytes + 1)
    } catch {
      let problem = ConfigurationProblem(at: nil, path: ConfigurationPath(), error.text)
      throw ConfigurationError(file: file, problems: [problem])
    }
  }

  private struct ReadFailure: Error {
    let text: String

    init(_ text: String = "can't be read: " + String(cString: strerror(errno))) {
      self.text = text
    }
  }

  /// The kind of a file that is not regular; nil for a regular file. A configuration is read again at each reload. A
  /// pipe has nothing more to read then, and reading from it, or from a terminal, would block. A directory is not named
  /// here, since reading it fails with its own error.
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

  private static func read(_ file: String, limit: Int) throws(ReadFailure) -> [UInt8] {
    // Without O_NONBLOCK, opening a pipe waits for a writer.
    let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw ReadFailure() }
    defer { close(descriptor) }
    if let kind = otherKind(of: descriptor) { throw ReadFailure("is \(kind); give a regular file") }
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
