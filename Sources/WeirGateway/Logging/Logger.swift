import Glibc
import Synchronization
import WeirHTTP
import WeirIO

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

  func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields) {
    log(.debug, message, fields)
  }

  func info(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields) {
    log(.info, message, fields)
  }

  func warn(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields) {
    log(.warn, message, fields)
  }

  func error(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields) {
    log(.error, message, fields)
  }

  private func log(_ level: LogLevel, _ message: () -> String, _ fields: () -> LogFields) {
    guard level >= self.level else { return }
    write(formatter.line(at: .now, level, message(), fields()))
  }
}

/// Writes lines to a pipe, a socket, a terminal or a file, and waits for no reader, who may hang. Lines that find no room
/// are lost; the next one that finds room comes behind a line that counts them.
final class LogOutput: Sendable {
  private struct State {
    var lost = 0
    /// Whether there was room for only a part of the latest line.
    var isCut = false
  }

  private enum Way {
    /// An open file of our own, whose writes don't wait.
    case own
    case socket
    /// A file that others share, who decide whether its writes wait.
    case shared
  }

  private let descriptor: Int32
  private let way: Way
  /// The lock also keeps lines whole.
  private let state = Mutex(State())

  init(_ descriptor: Int32) {
    var status = stat()
    let isSocket = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    let flags = O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    // This opens the same pipe, terminal or file once more, unless it is another user's. A socket can't be opened.
    let own = isSocket ? -1 : open("/proc/self/fd/\(descriptor)", flags)
    self.descriptor = own >= 0 ? own : descriptor
    way = isSocket ? .socket : own >= 0 ? .own : .shared
  }

  deinit {
    if way == .own { close(descriptor) }
  }

  /// - Parameter notice: Makes the line that says how many were lost.
  func write(_ line: [UInt8], notice: (_ lost: Int) -> [UInt8]) {
    state.withLock { state in
      var front = state.isCut ? [UInt8(ascii: "\n")] : []
      if state.lost > 0 { front += notice(state.lost) }
      // In one piece, as the notice alone may find room again and again.
      let bytes = front + line
      var written = 0
      while written < bytes.count, let count = piece(bytes[written...]) { written += count }
      if written > 0 { state.isCut = written < bytes.count }
      if written >= front.count { state.lost = 0 }
      if written < bytes.count { state.lost += 1 }
    }
  }

  /// Writes some bytes; nil if that would wait, or fails.
  private func piece(_ bytes: ArraySlice<UInt8>) -> Int? {
    if way == .shared {
      var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&ready, 1, 0) == 1 else { return nil }
    }
    // So many bytes a pipe takes as a whole or not at all and, if it is ready, without a wait (PIPE_BUF).
    let count = bytes.prefix(4096).withUnsafeBytes { bytes in
      try? systemCall {
        way == .socket
          ? send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
          : Glibc.write(descriptor, bytes.baseAddress, bytes.count)
      }
    }
    return count.flatMap { $0 > 0 ? $0 : nil }
  }
}
