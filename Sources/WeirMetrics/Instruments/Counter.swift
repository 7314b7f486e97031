public import Synchronization

/// A number that only grows: requests, bytes, seconds of work.
///
/// Hold the handle and call ``increment()``. That is one atomic addition, from any thread.
///
/// Whole amounts are added to a 64-bit integer, others to a separate `Double`; the page shows their sum. A negative,
/// NaN or infinite amount is ignored and counted in `weir_metrics_invalid_updates_total`.
public struct Counter: Instrument {
  public let series: Series

  @inlinable
  public init(_ series: Series) {
    self.series = series
  }

  /// Adds one.
  @inlinable @inline(__always)
  public func increment() {
    series.first.wrappingAdd(1, ordering: .relaxed)
  }

  /// Adds a whole amount. A negative one is ignored and counted.
  @inlinable @inline(__always)
  public func increment(by amount: Int) {
    if amount >= 0 {
      series.first.wrappingAdd(UInt64(truncatingIfNeeded: amount), ordering: .relaxed)
    } else {
      series.refuse()
    }
  }

  /// Adds any amount. A negative, NaN or infinite one is ignored and counted.
  public func increment(by amount: Double) {
    guard amount >= 0, amount < .infinity else { return series.refuse() }
    // Every whole number below 2^53 is exact as a `Double`. Beyond, the integer could not hold many such amounts.
    if amount < 0x1p53, let whole = UInt64(exactly: amount) {
      series.first.wrappingAdd(whole, ordering: .relaxed)
    } else {
      series.second.addDouble(amount)
    }
  }

  /// Raises the counter to a total of whole amounts that is counted elsewhere; a smaller total than before is ignored.
  package func advance(to total: UInt64) {
    var seen = whole
    while seen < total {
      let (exchanged, original) = series.first.weakCompareExchange(
        expected: seen, desired: total, ordering: .relaxed)
      if exchanged { return }
      seen = original
    }
  }

  /// The sum of all amounts so far.
  public var value: Double {
    Double(whole) + rest
  }

  // The two parts are read one after the other. Each part only grows, so their sum does too.

  var whole: UInt64 {
    series.first.load(ordering: .relaxed)
  }

  var rest: Double {
    Double(bitPattern: series.second.load(ordering: .relaxed))
  }
}
