import Glibc

/// Writes structured lines. A line that can't be written at once is lost: a log must not stop the program that it logs.
package struct Logger: Sendable {
  package let level: LogLevel
  private let formatter: LogFormatter
  private let write: @Sendable ([UInt8]) -> Void

  /// Logs to standard error.
  package init(level: LogLevel = .info, format: LogFormat = .logfmt) {
    let output = LogOutput(STDERR_FILENO), formatter = LogFormatter(format)
    self.init(level: level, format: format) { line in
      output.write(line) { lost in
        formatter.line(
          at: .now, .warn, "lines of the log were lost, as its reader took none", ["lines": .integer(lost)])
      }
    }
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
}
