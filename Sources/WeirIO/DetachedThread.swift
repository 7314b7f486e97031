import CLinux
import Dispatch
import Glibc

/// Runs `body` on a new thread, which ends when `body` returns. Throws if the system has no thread to give.
package func startDetachedThread(name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
  let start = Unmanaged.passRetained(
    ThreadStart {
      pthread_setname_np(pthread_self(), String(name.prefix(15)))
      body()
    })
  var id = pthread_t()
  let failure = withSignalsBlocked { pthread_create(&id, nil, threadMain, start.toOpaque()) }
  guard failure == 0 else {
    start.release()
    throw Errno(rawValue: failure)
  }
  pthread_detach(id)
}

/// Runs `body` on a new thread or, if the system has none to give, on one of Dispatch's, which are better than none.
func startThread(name: String, _ body: @escaping @Sendable () -> Void) {
  do {
    try startDetachedThread(name: name, body)
  } catch {
    DispatchQueue.global().async(execute: body)
  }
}

/// The argument of a new thread: retained by the creator and released by the thread.
private final class ThreadStart: Sendable {
  let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = body
  }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let argument else { return nil }
  Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue().body()
  return nil
}

/// Keeps the process's signals away from a new thread, which inherits the mask of the thread that creates it. So no
/// signal is delivered to it, not even during its first instructions. SIGPIPE, which libcurl's sockets may raise, stays
/// blocked too; faults of the thread itself and the profiler's tick don't.
private func withSignalsBlocked(_ body: () -> CInt) -> CInt {
  var signals = sigset_t()
  var present = sigset_t()
  sigfillset(&signals)
  for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF] { sigdelset(&signals, fault) }
  pthread_sigmask(SIG_BLOCK, &signals, &present)
  defer { pthread_sigmask(SIG_SETMASK, &present, nil) }
  return body()
}
