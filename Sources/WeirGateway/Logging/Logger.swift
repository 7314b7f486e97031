import Glibc
import WeirIO

/// Writes structured lines to a file descriptor, each with one `write`, so that lines of several threads don't mix.
///
/// A line that can't be written is lost: a log must not stop the program that it logs.
package struct Logger: Sendable {
  package let level: LogLevel
  private let formatter: LogFormatter
  private let write: @Sendable ([UInt8]) -> Void

  /// Logs to standard error.
  package init(level: LogLevel = .info, format: LogFormat = .logfmt) {
    self.init(level: level, format: format) { line in try? Self.write(line, to: STDERR_FILENO) }
  }

  package init(level: LogLevel, format: LogFormat, write: @escaping @Sendable ([UInt8]) -> Void) {
    self.level = level
    formatter = LogFormatter(format)
    self.write = write
  }

  package func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields) {
    log(.debug, message, fields)
  }

  package func info(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields) {
    log(.info, message, fields)
  }

  package func warn(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields) {
    log(.warn, message, fields)
  }

  package func error(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields) {
    log(.error, message, fields)
  }

  private func log(_ level: LogLevel, _ message: () -> String, _ fields: () -> LogFields) {
    guard level >= self.level else { return }
    write(formatter.line(at: .now, level, message(), fields()))
  }

  /// Writes all of the line, unless the system refuses.
  static func write(_ line: [UInt8], to descriptor: Int32) throws(Errno) {
    var written = 0
    while written < line.count {
      let count = try line.span.withUnsafeBytes { bytes throws(Errno) in
        let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
        return try systemCall { Glibc.write(descriptor, rest.baseAddress, rest.count) }
      }
      guard count > 0 else { return }
      written += count
    }
  }
}
