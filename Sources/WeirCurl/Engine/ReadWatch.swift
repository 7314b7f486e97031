internal import CCurl
internal import CLinux
internal import Glibc
import Synchronization
internal import WeirIO

/// Ends connections that keep an engine inside libcurl.
///
/// Some HTTP/2 frames cost more to read than to send. While they arrive, libcurl stays in one call and asks the engine
/// nothing: no time limit holds, and the other transfers stand still. So another thread checks, every
/// ``Watchman/pace``. If a call takes a second, a connection that is still read from in it is shut down; libcurl then
/// reads the rest and the end. No other reason makes a call that long, except a user's callback that blocks the loop
/// again and again.
final class ReadWatch: Sendable {
  private struct State {
    var sockets: [CInt: OpenedSocket] = [:]
    /// Descriptors of sockets that were shut down, until another socket gets the same number.
    var cut: Set<CInt> = []
    var lastCall: UInt = 0
    /// How many checks in a row found the last call, and the bytes that had been read from each socket by then.
    var looks = 0
    var read: [CInt: Int64] = [:]
  }

  /// The number of checks that must find the same call before a connection is shut down: a second.
  private static let patience = 4

  /// Changes when libcurl is entered and when it is left; odd in between. Only the loop changes it.
  private let calls = Atomic<UInt>(0)
  private let state = Mutex(State())

  // MARK: On the loop

  /// libcurl is about to be entered, or was left.
  func crosses() {
    calls.store(calls.load(ordering: .relaxed) &+ 1, ordering: .releasing)
  }

  func opened(_ socket: OpenedSocket) {
    let isFirst = state.withLock { state in
      state.cut.remove(socket.descriptor)
      return state.sockets.updateValue(socket, forKey: socket.descriptor) == nil && state.sockets.count == 1
    }
    if isFirst { Watchman.add(self) }
  }

  /// Must be called before the descriptor is closed, as another thread uses it.
  func closes(_ fd: CInt) {
    let wasLast = state.withLock { $0.sockets.removeValue(forKey: fd) != nil && $0.sockets.isEmpty }
    if wasLast { Watchman.remove(self) }
  }

  func closesAll() {
    for fd in state.withLock({ Array($0.sockets.keys) }) { closes(fd) }
  }

  /// Whether the last socket with this number was shut down.
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

/// The thread that checks all engines of this process that have connections.
private enum Watchman {
  private struct State {
    var watches: [ObjectIdentifier: ReadWatch] = [:]
    var isRunning = false
  }

  /// Microseconds between two checks.
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

  /// The watches to check; nil when there are none.
  private static func next() -> [ReadWatch]? {
    state.withLock { state in
      state.isRunning = !state.watches.isEmpty
      return state.isRunning ? Array(state.watches.values) : nil
    }
  }
}
