import Synchronization

/// Counts observations in buckets: durations, sizes.
///
/// Hold the handle and call ``observe(_:)-(Double)``. That is two atomic additions, from any thread.
///
/// An observation that is NaN or infinite is ignored and counted in `weir_metrics_invalid_updates_total`, because one
/// such value would spoil `_sum` until the process ends. Negative observations count like any other, but may make
/// `_sum` shrink, which Prometheus takes for a restart.
///
/// `_count` is the `+Inf` bucket, computed from the buckets in one pass. `_sum` is read after them and may already
/// include observations that the pass did not see.
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
  /// The observation is always counted. The exemplar is left out in these cases: a label's name is not valid or comes
  /// twice; a value contains a quote, a brace or a NUL, or has more than 512 bytes; names and values together have more
  /// than 128 characters (the limit of OpenMetrics); or the exemplars are being read at that moment.
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

  /// The counts so far.
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

  /// The upper bound at an index; index 0 is the lowest.
  @inlinable @inline(__always)
  func bound(_ index: Int) -> Double {
    series.slab.constant(index &+ 1)
  }

  /// The first bucket whose bound is not below the value. Its index is the number of bounds below the value.
  ///
  /// Up to 32 bounds are compared four at a time without a branch; longer lists are halved before. A block may also
  /// read beyond the searched part. The bounds there, higher ones or the infinities at the end, are not below the value
  /// either.
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
  /// Observations per bucket, not cumulative; one entry more than there are bounds.
  public let counts: [UInt64]
  /// The sum of all observations.
  public let sum: Double

  /// The number of observations.
  public var count: UInt64 {
    counts.reduce(0, &+)
  }
}
