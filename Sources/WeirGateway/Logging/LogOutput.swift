import Glibc
import Synchronization
import WeirIO

/// Writes lines to a pipe, a socket, a terminal or a file, and never waits for a reader, who may hang. Lines that find no
/// room are lost; a line of its own counts them once there is room.
final class LogOutput: Sendable {
  private struct State {
    var lost = 0
    /// Whether there was room for only a part of the latest line.
    var isCut = false
  }

  private let descriptor: Int32
  /// The lock also keeps lines whole, and lets no second line take the room that was found for the first.
  private let state = Mutex(State())

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// - Parameter notice: Makes the line that says how many were lost.
  func write(_ line: [UInt8], notice: (_ lost: Int) -> [UInt8]) {
    state.withLock { state in
      if state.lost > 0, put(notice(state.lost), &state) { state.lost = 0 }
      if state.lost > 0 || !put(line, &state) { state.lost += 1 }
    }
  }

  /// Returns whether there was room for all of the line.
  private func put(_ line: [UInt8], _ state: inout State) -> Bool {
    let bytes = state.isCut ? [0x0a] + line : line
    var written = 0
    while written < bytes.count {
      guard let count = piece(bytes[written...]) else {
        if written > 0 { state.isCut = true }
        return false
      }
      written += count
    }
    state.isCut = false
    return true
  }

  /// Writes some bytes; nil if that would wait, or fails.
  private func piece(_ bytes: ArraySlice<UInt8>) -> Int? {
    var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    // Of what is ready, a pipe takes so many bytes without a wait (PIPE_BUF).
    guard poll(&ready, 1, 0) == 1 else { return nil }
    let count = bytes.prefix(4096).withUnsafeBytes { bytes in
      try? systemCall { Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
    }
    return count.flatMap { $0 > 0 ? $0 : nil }
  }
}
