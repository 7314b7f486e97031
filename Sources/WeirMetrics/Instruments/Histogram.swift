import Synchronization

/// Counts observations in buckets: durations, sizes.
///
/// Hold the handle and call ``observe(_:)``: two atomic additions, from any thread.
///
/// An observation that is NaN or infinite is ignored and counted in `weir_metrics_invalid_updates_total`, because one of
/// them would spoil `_sum` until the process ends. Negative ones count as any other; note that `_sum` then may shrink,
/// which Prometheus takes for a restart.
///
/// `_count` is the `+Inf` bucket, computed from the buckets in one pass; `_sum` is read after it and may already hold
/// observations that the pass did not see.
public final class Histogram: SeriesInstrument {
  /// One word per bucket (the last is for what is above all bounds), then the bit pattern of the sum.
  @usableFromInline let cells: AtomicSlab
  @usableFromInline let bounds: [Double]
  public let labels: SeriesLabels
  let created: Double
  private let tally: FamilyTally
  private let kept = AtomicLazyReference<ExemplarStore>()
  private let clock: WallClock

  init(bounds: [Double], labels: SeriesLabels, clock: WallClock, tally: FamilyTally) {
    cells = AtomicSlab(count: bounds.count + 2)
    self.bounds = bounds
    self.labels = labels
    self.clock = clock
    created = clock.now()
    self.tally = tally
  }

  /// Counts one observation, in the family's unit.
  @inlinable
  public func observe(_ value: Double) {
    guard value.isFinite else { return refuse() }
    cells.increment(bucket(of: value))
    cells.add(bounds.count + 1, double: value)
  }

  /// Counts a duration, in seconds.
  @inlinable
  public func observe(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    observe(Double(seconds) + Double(attoseconds) * 1e-18)
  }

  /// Counts one observation and keeps it as its bucket's exemplar, shown in OpenMetrics only.
  ///
  /// The exemplar is left out, and the observation still counted, if a label's name is not valid, if names and values
  /// have more than 128 characters together (the limit of OpenMetrics), or if the exemplars are being read at that moment.
  public func observe(_ value: Double, exemplar: KeyValuePairs<String, String>) {
    observe(value)
    guard value.isFinite, let labels = Exemplar.render(exemplar) else { return }
    let store = kept.load() ?? kept.storeIfNil(ExemplarStore(count: bounds.count + 1))
    store.keep(Exemplar(labels: labels, value: value, timestamp: clock.now()), bucket: bucket(of: value))
  }

  /// Counts one observation with the exemplar `trace_id`.
  public func observe(_ value: Double, traceID: String) {
    observe(value, exemplar: ["trace_id": traceID])
  }

  /// What was counted so far.
  public var snapshot: HistogramSnapshot {
    var counts: [UInt64] = []
    counts.reserveCapacity(bounds.count + 1)
    for index in 0...bounds.count { counts.append(cells.load(index)) }
    return HistogramSnapshot(bounds: bounds, counts: counts, sum: sum)
  }

  var sum: Double {
    Double(bitPattern: cells.load(bounds.count + 1))
  }

  var exemplars: [Exemplar?]? {
    kept.load()?.all
  }

  /// The first bucket whose bound is not below the value. Short lists are counted through without a branch, which
  /// compiles to vector compares; long ones are halved.
  @inlinable @inline(__always)
  func bucket(of value: Double) -> Int {
    bounds.withUnsafeBufferPointer { bounds in
      var low = 0
      var rest = bounds.count
      while rest > 32 {
        let half = rest / 2
        low = bounds[low + half - 1] < value ? low + half : low
        rest -= half
      }
      var index = low
      for position in low..<(low + rest) {
        index &+= bounds[position] < value ? 1 : 0
      }
      return index
    }
  }

  @usableFromInline
  func refuse() {
    tally.countInvalidUpdate()
  }
}

/// A histogram's counts at one moment.
public struct HistogramSnapshot: Sendable, Equatable {
  /// Upper bounds, increasing, without `+Inf`.
  public let bounds: [Double]
  /// Observations per bucket, not cumulative; one more than there are bounds.
  public let counts: [UInt64]
  /// The sum of all observations.
  public let sum: Double

  /// The number of observations.
  public var count: UInt64 {
    counts.reduce(0, &+)
  }
}
