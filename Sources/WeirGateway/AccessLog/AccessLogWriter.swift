import Synchronization
import WeirHTTP
import WeirIO
import WeirMetrics

/// The thread that writes an access log, and the queue in front of it. Requests never wait for it: what finds no room is
/// dropped.
final class AccessLogWriter: Sendable {
  /// Where the lines go from now on.
  struct Place {
    /// Nil for nowhere.
    var target: AccessLogSettings.Target?
    /// Nil for a FIFO without a reader.
    var output: AccessLogOutput?
  }

  private struct State {
    var queue: AccessLogQueue
    /// Lines that found no room since the thread looked last.
    var dropped = 0
    var isAsleep = false
    /// Whether the thread was rung for since it looked last.
    var isRung = false
    var successor: Place?
    /// When the thread has to end; nil while it has not.
    var end: MonotonicTime?
    var isOver = false
  }

  /// The findings of the thread when it looks.
  struct Turn {
    var lines: Int
    var dropped: Int
    var successor: Place?
    var end: MonotonicTime?
  }

  let counters: AccessLogCounters
  let warn: @Sendable (AccessLogNotices.Notice) -> Void
  let wakeup: Wakeup
  private let state: Mutex<State>

  /// Starts the thread, which has no place for lines yet.
  init(
    queue: AccessLogQueue = AccessLogQueue(), counters: AccessLogCounters,
    warn: @escaping @Sendable (AccessLogNotices.Notice) -> Void
  ) throws(Errno) {
    self.counters = counters
    self.warn = warn
    wakeup = try Wakeup()
    state = Mutex(State(queue: queue))
    try startDetachedThread(name: "weir.log") { [self] in AccessLogPen(self).run() }
  }

  /// Adds lines, each of which ends with a line feed. Any thread.
  func add(_ lines: UnsafeRawBufferPointer, count: Int) {
    let (dropped, rings) = state.withLock { state in
      let dropped = state.isOver ? count : state.queue.add(lines, lines: count)
      state.dropped += dropped
      let rings = !state.isRung && (state.isAsleep || state.queue.isHalfFull)
      if rings { state.isRung = true }
      return (dropped, rings)
    }
    if dropped > 0 { counters.dropped.increment(by: dropped) }
    if rings { wakeup.ring() }
  }

  /// Has lines that were not added yet go elsewhere.
  func follow(_ place: Place) {
    state.withLock { $0.successor = place }
    wakeup.ring()
  }

  /// Ends the thread once all lines are written, or at `end`. Lines that are added later are lost.
  func end(by end: MonotonicTime) {
    state.withLock { $0.end = end }
    wakeup.ring()
  }

  /// Whether the thread has ended.
  var isOver: Bool { state.withLock { $0.isOver } }

  // MARK: For the thread

  /// Takes the lines that wait.
  func takeTurn(into buffer: inout [UInt8]) -> Turn {
    state.withLock { state in
      let lines = state.queue.take(into: &buffer)
      let turn = Turn(lines: lines, dropped: state.dropped, successor: state.successor, end: state.end)
      state.dropped = 0
      state.successor = nil
      state.isRung = false
      state.isAsleep = lines == 0 && turn.successor == nil && turn.end == nil
      return turn
    }
  }

  /// Looks while lines that were taken can't be written. No further ring follows for lines that are added.
  func lookMeanwhile() -> Turn {
    state.withLock { state in
      let turn = Turn(lines: 0, dropped: state.dropped, successor: state.successor, end: state.end)
      state.dropped = 0
      state.successor = nil
      return turn
    }
  }

  /// All that was taken is written or dropped.
  func settle() { state.withLock { $0.queue.settle() } }

  /// Ends; lines that still wait are lost.
  func noteOver() {
    let lost = state.withLock { state in
      state.isOver = true
      return state.queue.lines
    }
    if lost > 0 { counters.dropped.increment(by: lost) }
  }
}

/// Lines by their fate.
struct AccessLogCounters: Sendable {
  let written: Counter
  let sampledOut: Counter
  let dropped: Counter
}
