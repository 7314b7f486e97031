import CLinux
import Glibc

/// The text of configuration files, and how it becomes a value.
enum ConfigurationFile {
  /// Parses a document and has it read by `build`, whose value is fit for use if nothing was found wrong.
  /// `file` is only a name, for the error text.
  /// - Parameters:
  ///   - acceptsEmpty: whether an empty file is one without any key.
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

  /// What it is if no regular file. A configuration is read again at each reload: a pipe has nothing more then, and who
  /// waits for it, or for a terminal, does nothing else. A directory says itself that it can't be read.
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
    // To open a pipe without O_NONBLOCK waits for somebody who writes.
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
