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

  /// A place that takes over.
  struct Successor {
    var place: Place
    /// The lines and bytes that waited when it came. They are for the places before it.
    var before: (lines: Int, bytes: Int)
  }

  private struct State {
    var queue: AccessLogQueue
    /// Lines that found no room since the thread looked last.
    var dropped = 0
    var isAsleep = false
    /// Whether the thread was rung for since it looked last.
    var isRung = false
    var successors: [Successor] = []
    /// When the thread has to end; nil while it has not.
    var end: MonotonicTime?
    var isOver = false

    mutating func turn(lines: Int) -> Turn {
      defer { (dropped, successors) = (0, []) }
      return Turn(lines: lines, dropped: dropped, successors: successors, end: end)
    }
  }

  /// The findings of the thread when it looks.
  struct Turn {
    var lines: Int
    var dropped: Int
    var successors: [Successor]
    var end: MonotonicTime?
  }

  let counters: AccessLogCounters
  let warn: @Sendable (AccessLogNotices.Notice) -> Void
  let wakeup: Wakeup
  private let state: Mutex<State>

  /// Starts the thread, which has no place for lines yet.
  init(
    queue: AccessLogQueue, counters: AccessLogCounters,
    warn: @escaping @Sendable (AccessLogNotices.Notice) -> Void
  ) throws(Errno) {
    self.counters = counters
    self.warn = warn
    wakeup = try Wakeup()
    state = Mutex(State(queue: queue))
    try startDetachedThread(name: "weir.log") { [self] in AccessLogThread(self).run() }
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
    state.withLock { state in
      let before = (state.queue.lines, state.queue.byteCount)
      state.successors.append(Successor(place: place, before: before))
    }
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
      let turn = state.turn(lines: state.queue.take(into: &buffer))
      state.isRung = false
      state.isAsleep = turn.lines == 0 && turn.successors.isEmpty && turn.end == nil
      return turn
    }
  }

  /// Looks while lines that were taken can't be written. No further ring follows for lines that are added.
  func lookMeanwhile() -> Turn { state.withLock { $0.turn(lines: 0) } }

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

/// The lines that wait to be written, up to a limit of lines and of bytes. A value.
///
/// Lines that were taken count until they are settled, so that the limits hold for all memory of the log.
struct AccessLogQueue {
  static let mostLines = 8192
  static let mostBytes = 8 << 20

  private let lineLimit: Int
  private let byteLimit: Int
  private var bytes: [UInt8] = []
  /// The number of lines that wait.
  private(set) var lines = 0
  /// The bytes of the lines that wait.
  var byteCount: Int { bytes.count }
  private var takenLines = 0
  private var takenBytes = 0

  init(lines: Int = mostLines, bytes: Int = mostBytes) {
    lineLimit = lines
    byteLimit = bytes
  }

  /// Whether half of the lines or bytes that may wait are there.
  var isHalfFull: Bool { (lines + takenLines) * 2 >= lineLimit || (bytes.count + takenBytes) * 2 >= byteLimit }

  /// Adds lines, each of which ends with a line feed, as far as there is room.
  ///
  /// - Parameter count: The number of the lines.
  /// - Returns: The number of lines at the end that are dropped.
  mutating func add(_ octets: UnsafeRawBufferPointer, lines count: Int) -> Int {
    let lineRoom = lineLimit - lines - takenLines
    let byteRoom = byteLimit - bytes.count - takenBytes
    if count <= lineRoom, octets.count <= byteRoom {
      bytes.append(contentsOf: octets)
      lines += count
      return 0
    }
    var fitting = 0, end = 0
    while fitting < min(count, lineRoom), let feed = octets.firstIndex(of: .lineFeed, in: end..<octets.count),
      feed < byteRoom
    {
      fitting += 1
      end = feed + 1
    }
    bytes.append(contentsOf: octets.octets(0..<end))
    lines += fitting
    return count - fitting
  }

  /// Moves the lines that wait to `buffer`, whose memory is used for those that come.
  ///
  /// - Returns: Their number.
  mutating func take(into buffer: inout [UInt8]) -> Int {
    buffer.removeAll(keepingCapacity: buffer.capacity <= Self.keptBytes)
    swap(&bytes, &buffer)
    (takenLines, takenBytes) = (lines, buffer.count)
    lines = 0
    return takenLines
  }

  /// The lines that were taken are written, or dropped.
  mutating func settle() { (takenLines, takenBytes) = (0, 0) }

  private static let keptBytes = 1 << 20
}
