import Synchronization
import WeirMetrics
package import WeirOTLP

/// Finished spans on their way to the exporter, in the lists in which they came. What finds no room is dropped.
///
/// Any thread may add. The lock is held for as long as it takes to append or to remove references to lists.
package final class SpanQueue: SpanSink {
  private struct State {
    var waiting: [[Span]] = []
    var waitingCount = 0
    /// The spans that wait, and those that are being exported.
    var count = 0
    /// The spans that found no room since ``takeLosses()``.
    var lost = 0
    var isClosed = false
    var isRung = false
  }

  let batch: Int
  private let limit: Int
  private let state = Mutex(State())
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
  var count: Int { state.withLock { $0.count } }

  package func add(_ spans: [Span]) {
    var (isLate, lost, isDue) = (false, 0, false)
    state.withLock { state in
      if state.isClosed { return isLate = true }
      let fitting = max(0, min(spans.count, limit - state.count))
      lost = spans.count - fitting
      state.lost += lost
      state.count += fitting
      state.waitingCount += fitting
      if fitting > 0 { state.waiting.append(lost == 0 ? spans : Array(spans.prefix(fitting))) }
      isDue = state.waitingCount >= batch && !state.isRung
      if isDue { state.isRung = true }
    }
    if isLate { return late.increment(by: spans.count) }
    if lost > 0 { dropped.increment(by: lost) }
    if isDue { ring() }
  }

  // MARK: The exporter's side

  /// The number of spans that wait.
  var waitingCount: Int { state.withLock { $0.waitingCount } }

  /// The next batch is to be told of.
  func listen() { state.withLock { $0.isRung = false } }

  /// Takes the first ones, a batch at most. They have room until they ``leave(_:)``.
  func next() -> [[Span]] {
    state.withLock { state in
      var (taken, lists) = (0, 0)
      while lists < state.waiting.count, taken + state.waiting[lists].count <= batch {
        taken += state.waiting[lists].count
        lists += 1
      }
      var spans = Array(state.waiting.prefix(lists))
      state.waiting.removeFirst(lists)
      // A list that is longer than a batch.
      if lists == 0, !state.waiting.isEmpty {
        taken = batch
        spans = [Array(state.waiting[0].prefix(batch))]
        state.waiting[0].removeFirst(batch)
      }
      state.waitingCount -= taken
      return spans
    }
  }

  /// So many spans were sent, or dropped.
  func leave(_ count: Int) { state.withLock { $0.count -= count } }

  /// The number of spans that found no room since the last call.
  func takeLosses() -> Int {
    state.withLock { state in
      defer { state.lost = 0 }
      return state.lost
    }
  }

  /// Takes no more spans. Returns the number of those that are lost.
  func close() -> Int {
    state.withLock { state in
      defer { state.waitingCount = 0 }
      state.isClosed = true
      state.waiting = []
      state.count -= state.waitingCount
      return state.waitingCount
    }
  }
}
