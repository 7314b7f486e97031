import CLinux
import Glibc

/// Runs `body` on a new thread, which ends with it; throws if the system has no thread to give.
func startDetachedThread(name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
  let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
  var id = pthread_t()
  let failure = withSignalsBlocked { pthread_create(&id, nil, threadMain, start.toOpaque()) }
  guard failure == 0 else {
    start.release()
    throw Errno(rawValue: failure)
  }
  pthread_detach(id)
}

/// What a new thread needs; handed over once, retained by the creator and released by the thread.
private final class ThreadStart: Sendable {
  let name: String
  let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let argument else { return nil }
  let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
  pthread_setname_np(pthread_self(), String(start.name.prefix(15)))
  start.body()
  return nil
}

/// Leaves the process's signals to the threads of its owner: a new thread inherits its maker's mask, so that it is
/// never, not even for its first instructions, one that a signal may be delivered to. SIGPIPE, which libcurl's sockets
/// may raise, is among those that stay blocked; faults of the thread itself and the profiler's tick are not.
private func withSignalsBlocked(_ body: () -> CInt) -> CInt {
  var signals = sigset_t()
  var present = sigset_t()
  sigfillset(&signals)
  for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF] { sigdelset(&signals, fault) }
  pthread_sigmask(SIG_BLOCK, &signals, &present)
  defer { pthread_sigmask(SIG_SETMASK, &present, nil) }
  return body()
}
