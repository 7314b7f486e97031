import Synchronization

/// Counts observations in buckets: durations, sizes.
///
/// Hold the handle and call ``observe(_:)-(Double)``: two atomic additions, from any thread.
///
/// An observation that is NaN or infinite is ignored and counted in `weir_metrics_invalid_updates_total`, because one of
/// them would spoil `_sum` until the process ends. Negative ones count as any other; note that `_sum` then may shrink,
/// which Prometheus takes for a restart.
///
/// `_count` is the `+Inf` bucket, computed from the buckets in one pass; `_sum` is read after it and may already hold
/// observations that the pass did not see.
public struct Histogram: Instrument {
  public let series: Series

  @inlinable
  public init(_ series: Series) {
    self.series = series
  }

  /// Counts one observation, in the family's unit.
  @inlinable @inline(__always)
  public func observe(_ value: Double) {
    guard value.isFinite else { return series.refuse() }
    series.slab.increment(bucket(of: value))
    series.first.addDouble(value)
  }

  /// Counts a duration, in seconds.
  @inlinable
  public func observe(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    observe(Double(seconds) + Double(attoseconds) * 1e-18)
  }

  /// Counts one observation and keeps it as its bucket's exemplar, shown in OpenMetrics only.
  ///
  /// The exemplar is left out, and the observation still counted, if a label's name is not valid, if a value holds a quote, if names and values
  /// have more than 128 characters together (the limit of OpenMetrics), or if the exemplars are being read at that moment.
  public func observe(_ value: Double, exemplar: KeyValuePairs<String, String>) {
    observe(value)
    guard value.isFinite, let labels = Exemplar.render(exemplar) else { return }
    let store = series.exemplars.load() ?? series.exemplars.storeIfNil(ExemplarStore(count: boundCount + 1))
    let exemplar = Exemplar(labels: labels, value: value, timestamp: series.tally.clock.now())
    store.keep(exemplar, bucket: bucket(of: value))
  }

  /// Counts one observation with the exemplar `trace_id`.
  public func observe(_ value: Double, traceID: String) {
    observe(value, exemplar: ["trace_id": traceID])
  }

  /// What was counted so far.
  public var snapshot: HistogramSnapshot {
    let counts = (0...boundCount).map { series.slab.load($0) }
    return HistogramSnapshot(bounds: (0..<boundCount).map { bound($0) }, counts: counts, sum: sum)
  }

  var sum: Double {
    Double(bitPattern: series.first.load(ordering: .relaxed))
  }

  @inlinable @inline(__always)
  var boundCount: Int {
    Int(series.slab.wordCount) &- 1
  }

  /// Index 0 is the lowest.
  @inlinable @inline(__always)
  func bound(_ index: Int) -> Double {
    series.slab.constant(index &+ 1)
  }

  /// The first bucket whose bound is not below the value: as many as there are bounds below it.
  ///
  /// Up to 32 bounds are compared four at a time without a branch; more are halved before. What a block reads beyond the
  /// part in question is not below the value either: higher bounds, or the infinities behind the last one.
  @inlinable @inline(__always)
  func bucket(of value: Double) -> Int {
    var low = 0
    var rest = boundCount
    while rest > 32 {
      let half = rest / 2
      low = bound(low &+ half &- 1) < value ? low &+ half : low
      rest &-= half
    }
    let bounds = series.slab.constants + (low &+ 1) &* 8
    let value = SIMD4(repeating: value)
    var below = SIMD4<Int64>()
    var position = 0
    while position < rest {
      let block = (bounds + position &* 8).loadUnaligned(as: SIMD4<Double>.self)
      below &-= unsafeBitCast(block .< value, to: SIMD4<Int64>.self)
      position &+= 4
    }
    return low &+ Int(below.wrappedSum())
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
