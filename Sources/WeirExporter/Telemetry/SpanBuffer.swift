import Synchronization
import WeirIO
import WeirMetrics
package import WeirOTLP

/// Finished spans on their way to the exporter. What finds no room is dropped.
///
/// Any thread may add; the exporter takes all at once, so that the lock is held for as long as a swap takes.
package final class SpanBuffer: SpanSink {
  private let room: SpanRoom
  private let spans = Mutex<[Span]>([])

  init(_ room: SpanRoom) { self.room = room }

  package func add(_ spans: [Span]) {
    let count = room.enter(spans.count)
    if count > 0 { self.spans.withLock { $0.append(contentsOf: spans.prefix(count)) } }
    room.ringIfDue()
  }

  /// Takes all spans, and leaves the memory of `spent`, which must be empty, for those that come.
  func take(into spent: inout [Span]) { spans.withLock { swap(&$0, &spent) } }
}

/// Counts the spans of all buffers of an exporter, and those that it is exporting, against one limit.
final class SpanRoom: Sendable {
  private let limit: Int
  private let batch: Int
  private let spans = Atomic(0)
  private let lost = Atomic(0)
  private let isClosed = Atomic(false)
  private let isRung = Atomic(false)
  private let dropped: Counter
  private let late: Counter
  private let ring: @Sendable () -> Void

  /// - Parameters:
  ///   - dropped: Counts spans that find no room.
  ///   - late: Counts spans that come after the end.
  ///   - ring: Called on threads that add: once a batch of spans is there, and again after ``listen()``.
  init(limit: Int, batch: Int, dropped: Counter, late: Counter, ring: @escaping @Sendable () -> Void) {
    (self.limit, self.batch, self.dropped, self.late, self.ring) = (limit, batch, dropped, late, ring)
  }

  /// The number of spans that are kept.
  var count: Int { spans.load(ordering: .relaxed) }

  /// The number of spans that found no room.
  var losses: Int { lost.load(ordering: .relaxed) }

  /// Returns how many of so many spans may be kept. The others are counted as lost.
  func enter(_ count: Int) -> Int {
    if isClosed.load(ordering: .relaxed) {
      late.increment(by: count)
      return 0
    }
    let before = spans.add(count, ordering: .relaxed).oldValue
    let fitting = max(0, min(count, limit - before))
    if fitting < count {
      spans.subtract(count - fitting, ordering: .relaxed)
      lost.add(count - fitting, ordering: .relaxed)
      dropped.increment(by: count - fitting)
    }
    return fitting
  }

  /// So many spans were sent, or dropped.
  func leave(_ count: Int) { spans.subtract(count, ordering: .relaxed) }

  func ringIfDue() {
    guard count >= batch, !isRung.load(ordering: .relaxed), !isRung.exchange(true, ordering: .relaxed) else { return }
    ring()
  }

  /// The next batch is to be told of.
  func listen() { isRung.store(false, ordering: .relaxed) }

  /// Keeps no more spans.
  func close() { isClosed.store(true, ordering: .relaxed) }
}

/// The spans of all buffers, in the order in which they are exported. Confined to the exporter's loop.
final class SpanQueue {
  let batch: Int
  let room: SpanRoom
  private let buffers: SpanBuffers
  private var waiting = Deque<Span>()
  private var spent: [Span] = []
  private var knownLosses = 0

  init(_ room: SpanRoom, _ buffers: SpanBuffers, batch: Int) {
    (self.room, self.buffers, self.batch) = (room, buffers, batch)
  }

  /// Takes what the buffers hold. Returns the number of spans that wait.
  func collect() -> Int {
    for buffer in buffers.all {
      buffer.take(into: &spent)
      waiting.append(contentsOf: spent)
      spent.removeAll(keepingCapacity: spent.count <= batch)
    }
    return waiting.count
  }

  /// Takes the first ones, a batch at most.
  func next() -> [Span] {
    var spans: [Span] = []
    spans.reserveCapacity(min(batch, waiting.count))
    while spans.count < batch, let span = waiting.popFirst() { spans.append(span) }
    return spans
  }

  /// The number of spans that found no room since the last call.
  func takeLosses() -> Int {
    let losses = room.losses
    defer { knownLosses = losses }
    return losses - knownLosses
  }

  /// Takes no more spans. Returns the number of those that are lost.
  func close() -> Int {
    room.close()
    let lost = collect()
    waiting = Deque()
    room.leave(lost)
    return lost
  }
}

/// The buffers of an exporter.
final class SpanBuffers: Sendable {
  private let buffers = Mutex<[SpanBuffer]>([])

  var all: [SpanBuffer] { buffers.withLock { $0 } }

  func add(_ buffer: SpanBuffer) { buffers.withLock { $0.append(buffer) } }
}
