import CLinux
import Glibc
import WeirIO

/// Delivers signals on an event loop, where they are ordinary events. Confined to that loop.
final class SignalSource: EventHandler {
  private let descriptor: CInt
  private let handler: (CInt) -> Void

  /// Blocks `signals` in the calling thread and in the threads that it will start. Call it before there are others.
  ///
  /// SIGPIPE is ignored: a broken connection is an error of that connection.
  static func block(_ signals: [CInt]) {
    signal(SIGPIPE, SIG_IGN)
    var set = Self.set(signals)
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Begins to call `handler` with the number of each signal, on the loop and until the loop is released. Returns once
  /// signals are being delivered.
  ///
  /// - Parameter signals: The signals, which must be blocked in every thread.
  static func start(
    _ signals: [CInt], on loop: EventLoop, _ handler: @escaping @Sendable (CInt) -> Void
  ) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      loop.post {
        do {
          let source = try SignalSource(signals, handler)
          try loop.register(source.descriptor, for: .read, handler: source)
          continuation.resume()
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
  }

  private init(_ signals: [CInt], _ handler: @escaping (CInt) -> Void) throws(Errno) {
    self.handler = handler
    var set = Self.set(signals)
    descriptor = try systemCall { signalfd(-1, &set, CInt(SFD_NONBLOCK) | CInt(SFD_CLOEXEC)) }
  }

  deinit {
    close(descriptor)
  }

  func descriptorReady(_ fd: CInt, events: IOEvents) {
    var info = signalfd_siginfo()
    while read(fd, &info, MemoryLayout<signalfd_siginfo>.size) == MemoryLayout<signalfd_siginfo>.size {
      handler(CInt(truncatingIfNeeded: info.ssi_signo))
    }
  }

  private static func set(_ signals: [CInt]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    return set
  }
}
