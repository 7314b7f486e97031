internal import CLinux
internal import Glibc
import Synchronization
internal import WeirIO

/// Ends connections that keep an engine inside libcurl.
///
/// Frames of HTTP/2 that are dearer to read than to send keep libcurl in one call for as long as they come, and nothing asks
/// the engine in between: no time limit holds, and nobody else's transfer goes on. So another thread looks, every
/// ``Watchman/pace``. A connection that is still read from in a call that takes a second is shut down; libcurl then reads what
/// had come, and the end. So long a call has no other reason, unless a callback of the user's blocks the loop again and again.
final class ReadWatch: Sendable {
  private struct State {
    var sockets: [CInt: OpenedSocket] = [:]
    /// Descriptors of sockets that were shut down, until there are others of the same number.
    var cut: Set<CInt> = []
    var lastCall: UInt = 0
    /// How often a look found the last call again, and the bytes that were read from each socket by then.
    var looks = 0
    var read: [CInt: Int64] = [:]
  }

  /// Looks that find the same call again before anything is done: a second.
  private static let patience = 4

  /// Changes when libcurl is entered, and when it is left; odd in between. Changed by the loop alone.
  private let calls = Atomic<UInt>(0)
  private let state = Mutex(State())

  // MARK: On the loop

  func enter() { step() }

  func leave() { step() }

  private func step() {
    calls.store(calls.load(ordering: .relaxed) &+ 1, ordering: .releasing)
  }

  func opened(_ socket: OpenedSocket) {
    let isFirst = state.withLock { state in
      state.cut.remove(socket.descriptor)
      return state.sockets.updateValue(socket, forKey: socket.descriptor) == nil && state.sockets.count == 1
    }
    if isFirst { Watchman.add(self) }
  }

  /// To be told before the descriptor is closed, as another thread uses it.
  func closes(_ fd: CInt) {
    let wasLast = state.withLock { $0.sockets.removeValue(forKey: fd) != nil && $0.sockets.isEmpty }
    if wasLast { Watchman.remove(self) }
  }

  func closesAll() {
    for fd in state.withLock({ Array($0.sockets.keys) }) { closes(fd) }
  }

  /// Whether the last socket of this number was shut down.
  func hasCut(_ fd: CInt) -> Bool { state.withLock { $0.cut.contains(fd) } }

  // MARK: On the watchman's thread

  func look() {
    state.withLock { state in
      let call = calls.load(ordering: .acquiring)
      guard call % 2 == 1, call == state.lastCall else {
        state.lastCall = call
        state.looks = 0
        state.read = [:]
        return
      }
      state.looks += 1
      for (fd, socket) in state.sockets where !state.cut.contains(fd) {
        let read = weir_tcp_bytes_read(fd)
        let before = state.read.updateValue(read, forKey: fd)
        guard state.looks >= Self.patience, let before, before >= 0, read > before, socket.isOpen,
          calls.load(ordering: .acquiring) == call
        else { continue }
        shutdown(fd, CInt(SHUT_RDWR))
        state.cut.insert(fd)
      }
    }
  }
}

/// The thread that looks after the engines of this process that have connections.
private enum Watchman {
  private struct State {
    var watches: [ObjectIdentifier: ReadWatch] = [:]
    var isRunning = false
  }

  /// Microseconds between two looks.
  static let pace: UInt32 = 250_000
  private static let state = Mutex(State())
  private static let worker = WorkerPool(name: "weir.watch", width: 1, idleTime: 0)

  static func add(_ watch: ReadWatch) {
    let isNeeded = state.withLock { state in
      state.watches[ObjectIdentifier(watch)] = watch
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if isNeeded { worker.submit(run) }
  }

  static func remove(_ watch: ReadWatch) {
    _ = state.withLock { $0.watches.removeValue(forKey: ObjectIdentifier(watch)) }
  }

  @Sendable private static func run() {
    while let present = next() {
      for watch in present { watch.look() }
      usleep(pace)
    }
  }

  /// Nil when there is nothing to look after.
  private static func next() -> [ReadWatch]? {
    state.withLock { state in
      state.isRunning = !state.watches.isEmpty
      return state.isRunning ? Array(state.watches.values) : nil
    }
  }
}
