import Dispatch
import Glibc
import Synchronization
import Testing
import WeirIO

/// What happened, in order, from any thread.
final class Log: Sendable {
  private let entries = Mutex<[String]>([])

  func append(_ entry: String) { entries.withLock { $0.append(entry) } }
  var all: [String] { entries.withLock { $0 } }
}

/// Something that one thread waits for, half a minute at most.
final class Signal: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func raise() { semaphore.signal() }
  func wait() -> Bool { semaphore.wait(timeout: .now() + 30) == .success }
}

extension EventLoop {
  /// Runs `body` on the loop and returns when it has run.
  func sync(_ body: @escaping @Sendable () -> Void) {
    let done = Signal()
    run {
      body()
      done.raise()
    }
    if !done.wait() { Issue.record("the loop didn't run a job within half a minute") }
  }
}

/// A closure that is told of timers and descriptors.
final class Handler: TimerHandler, EventHandler {
  private let body: (IOEvents, MonotonicTime) -> Void

  init(_ body: @escaping (IOEvents, MonotonicTime) -> Void) {
    self.body = body
  }

  func timerFired(_ timer: LoopTimer, now: MonotonicTime) { body([], now) }
  func descriptorReady(_ fd: CInt, events: IOEvents) { body(events, MonotonicTime.now) }
}

/// Two connected stream sockets.
struct SocketPair {
  let (left, right): (Socket, Socket)

  init() throws(Errno) {
    var descriptors: [CInt] = [0, 0]
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    _ = try systemCall { socketpair(AF_UNIX, kind, 0, &descriptors) }
    (left, right) = (Socket(descriptor: descriptors[0]), Socket(descriptor: descriptors[1]))
  }

  func close() {
    left.close()
    right.close()
  }
}

extension Socket {
  func send(_ text: String) throws(Errno) -> Int {
    let bytes = Array(text.utf8)
    return try bytes.span.withUnsafeBytes { bytes throws(Errno) in try send(bytes) }
  }

  func receive() throws(Errno) -> String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    var span = bytes.mutableSpan
    let count = try span.withUnsafeMutableBytes { bytes throws(Errno) in try receive(into: bytes) }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}

final class Counter: Sendable {
  private let count = Atomic(0)

  var value: Int { count.load(ordering: .relaxed) }
  func add(_ number: Int) -> Int { count.wrappingAdd(number, ordering: .relaxed).newValue }
  func raise(to number: Int) { count.max(number, ordering: .relaxed) }
}
