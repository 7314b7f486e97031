import Synchronization

/// Counts observations in buckets: durations, sizes.
///
/// Hold the handle and call ``observe(_:)-(Double)``. That is two atomic additions, from any thread; a third one if the
/// histogram is native too (``NativeHistograms``).
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
    let bounds = Int(series.comparedBounds)
    guard bounds <= Self.fewBounds else { return observeOtherwise(value) }
    series.slab.increment(bucket(of: value, from: 0, bounds))
    series.first.addDouble(value)
  }

  /// Counts an observation where there are many bounds, or native buckets.
  @usableFromInline
  func observeOtherwise(_ value: Double) {
    series.slab.increment(bucket(of: value))
    series.first.addDouble(value)
    // This comes last: an observation that is in the native buckets is in the classic ones.
    series.native?.count(value)
  }

  /// Counts a duration, in seconds.
  @inlinable
  public func observe(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    observe(Double(seconds) + Double(attoseconds) * 1e-18)
  }

  /// Counts one observation and keeps it as its bucket's exemplar, shown in OpenMetrics and protobuf.
  ///
  /// The observation is always counted. The exemplar is left out in these cases: a label's name is not valid or comes
  /// twice; a value contains a quote, a brace or a NUL, or has more than 512 bytes; names and values together have more
  /// than 128 characters (the limit of OpenMetrics); or the exemplars are being read at that moment.
  public func observe(_ value: Double, exemplar: KeyValuePairs<String, String>) {
    observe(value)
    if value.isFinite, let labels = Exemplar.render(exemplar) { keep(value, .labels(labels)) }
  }

  /// Counts one observation with the exemplar `trace_id`, and `span_id` if there is a span. The text is made when it is
  /// read.
  package func observe(_ value: Double, trace: (high: UInt64, low: UInt64), span: UInt64?) {
    observe(value)
    if value.isFinite { keep(value, .trace(high: trace.high, low: trace.low, span: span)) }
  }

  private func keep(_ value: Double, _ reference: Exemplar.Reference) {
    let store = series.exemplars.load() ?? series.exemplars.storeIfNil(ExemplarStore(count: boundCount + 1))
    let exemplar = Exemplar(reference: reference, value: value, timestamp: series.tally.clock.now())
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

  /// The counts of the native buckets; nil if the histogram has none.
  package var native: NativeHistogram? { series.native?.snapshot }

  /// The latest observation of each bucket that was kept with a trace; empty if none was.
  package var exemplars: [Exemplar?] {
    series.exemplars.load()?.all ?? []
  }

  package var sum: Double {
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

  /// The bounds that are compared without a branch; longer lists are halved before.
  @inlinable @inline(__always)
  static var fewBounds: Int { 32 }

  /// The first bucket whose bound is not below the value. Its index is the number of bounds below the value.
  func bucket(of value: Double) -> Int {
    var low = 0
    var rest = boundCount
    while rest > Self.fewBounds {
      let half = rest / 2
      low = bound(low &+ half &- 1) < value ? low &+ half : low
      rest &-= half
    }
    return bucket(of: value, from: low, rest)
  }

  /// The same if the first `low` bounds are below the value, and those after `rest` further ones are not.
  ///
  /// Bounds are compared four at a time. A block may also read beyond the searched part. The bounds there, higher ones
  /// or the infinities at the end, are not below the value either.
  @inlinable @inline(__always)
  func bucket(of value: Double, from low: Int, _ rest: Int) -> Int {
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

/// One observation with a reference to its trace (OpenMetrics 1.0, "Exemplars").
package struct Exemplar: Sendable, Equatable {
  package enum Reference: Sendable, Equatable {
    /// The label set as the page shows it, without braces.
    case labels([UInt8])
    /// The labels `trace_id`, and `span_id` if there is a span.
    case trace(high: UInt64, low: UInt64, span: UInt64?)
  }

  package let reference: Reference
  package let value: Double
  /// Seconds since 1970.
  package let timestamp: Double

  /// The label set as the page shows it, without braces.
  var labels: [UInt8] {
    switch reference {
    case .labels(let labels): labels
    case .trace(let high, let low, let span):
      Array("trace_id=\"\(high.hexadecimal)\(low.hexadecimal)\"".utf8)
        + Array(span.map { ",span_id=\"\($0.hexadecimal)\"" }?.utf8 ?? "".utf8)
    }
  }

  /// Passes each label's name and value to `body`, in their order.
  package func forEachLabel(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
    labels.withUnsafeBytes { LabelSchema.forEachPair(in: $0, body) }
  }

  /// The label set's text; nil if OpenMetrics does not allow it or some readers can't parse it.
  static func render(_ pairs: KeyValuePairs<String, String>) -> [UInt8]? {
    var characters = 0
    for (name, value) in pairs {
      guard MetricName.isValidLabel(name), value.utf8.count <= 512 else { return nil }
      if value.utf8.contains(where: isTrap) { return nil }
      characters += name.unicodeScalars.count + value.unicodeScalars.count
    }
    let names = pairs.map(\.key)
    guard characters <= 128, Set(names).count == names.count else { return nil }
    return LabelSchema(names: names).render(pairs.map(\.value)).text
  }

  /// Whether OpenMetrics allows the byte, but some readers refuse the whole page for it. The parser of Python's
  /// prometheus_client (0.2x) does so for an escaped quote or a brace. Prometheus (2.x) does so for a NUL, which its
  /// lexer takes for the end.
  private static func isTrap(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}") || byte == 0
  }
}

extension UInt64 {
  /// 16 lower-case digits.
  fileprivate var hexadecimal: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}

/// A histogram's exemplars: the latest of each bucket.
///
/// A writer that finds the lock taken drops its exemplar: exemplars are only samples, and no scrape may delay a
/// request.
final class ExemplarStore: Sendable {
  private let slots: Mutex<[Exemplar?]>

  init(count: Int) {
    slots = Mutex(Array(repeating: nil, count: count))
  }

  func keep(_ exemplar: Exemplar, bucket: Int) {
    slots.withLockIfAvailable { slots in
      if slots.indices.contains(bucket) { slots[bucket] = exemplar }
    }
  }

  /// A new array, so that the writers' array is not copied at their next write.
  var all: [Exemplar?] {
    slots.withLock { slots in slots.map { $0 } }
  }
}
