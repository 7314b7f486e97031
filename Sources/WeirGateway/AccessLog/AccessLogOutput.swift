import Glibc
import WeirIO

/// An open place for lines. Closed when it is let go.
final class AccessLogOutput: Sendable {
  /// The result of one step of writing.
  enum Step {
    case wrote(Int)
    /// The reader is behind; the descriptor tells when it takes more.
    case blocked
    case failed(Errno)
  }

  let target: AccessLogSettings.Target
  let descriptor: CInt
  private let isOwn: Bool
  /// Whether it may be a pipe: then a write has whole lines, as many as a pipe takes in one piece, so that those of
  /// several writers don't mix and none is torn when the reader is behind.
  private let isPipe: Bool

  /// Opens the target. A FIFO that nobody reads is nil: it may have a reader later.
  static func open(_ target: AccessLogSettings.Target) throws(Errno) -> AccessLogOutput? {
    switch target {
    case .standardError: return AccessLogOutput(target, STDERR_FILENO)
    case .standardOutput: return AccessLogOutput(target, STDOUT_FILENO)
    case .file(let path):
      do {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY
        return AccessLogOutput(target, try FileSystem.open(path, flags, permissions: 0o640), isOwn: true)
      } catch {
        if error.rawValue == ENXIO, isFIFO(path) { return nil }
        throw error
      }
    }
  }

  private init(_ target: AccessLogSettings.Target, _ descriptor: CInt, isOwn: Bool = false) {
    self.target = target
    self.descriptor = descriptor
    self.isOwn = isOwn
    var status = stat()
    isPipe = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
  }

  deinit {
    if isOwn { FileSystem.close(descriptor) }
  }

  private static func isFIFO(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }

  /// Whether it is a file that holds something already.
  var hasContent: Bool {
    guard let status = try? FileSystem.status(of: descriptor) else { return false }
    return status.size > 0
  }

  /// Writes as much as goes without waiting for a reader. It may wait for a disk.
  func write(_ bytes: UnsafeRawBufferPointer) -> Step {
    var count = bytes.count
    if isPipe {
      // Others share a descriptor that is not ours, and decide whether a write waits.
      var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      if !isOwn, poll(&ready, 1, 0) != 1 { return .blocked }
      if count > Self.pipePiece {
        count = bytes.prefix(Self.pipePiece).lastIndex(of: 0x0a).map { $0 + 1 } ?? Self.pipePiece
      }
    }
    while true {
      let written = Glibc.write(descriptor, bytes.baseAddress, count)
      if written > 0 { return .wrote(written) }
      let error = Errno.current
      if written == 0 { return .failed(Errno(rawValue: EIO)) }
      if error == .interrupted { continue }
      return error.rawValue == EAGAIN ? .blocked : .failed(error)
    }
  }

  /// The bytes that a pipe takes in one piece (PIPE_BUF).
  private static let pipePiece = 4096
}
