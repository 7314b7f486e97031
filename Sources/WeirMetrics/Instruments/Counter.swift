public import Synchronization

/// A number that only grows: requests, bytes, seconds of work.
///
/// Hold the handle and call ``increment()``: one atomic addition, from any thread.
///
/// Whole amounts go to a 64-bit integer, others to a `Double` beside it; the page shows their sum. A negative, NaN or
/// infinite amount is ignored and counted in `weir_metrics_invalid_updates_total`.
public final class Counter: SeriesInstrument {
  @usableFromInline let integer = Atomic<UInt64>(0)
  private let fraction = Atomic<UInt64>(0)
  public let labels: SeriesLabels
  let created: Double
  private let tally: FamilyTally

  init(labels: SeriesLabels, created: Double, tally: FamilyTally) {
    self.labels = labels
    self.created = created
    self.tally = tally
  }

  /// Adds one.
  @inlinable @inline(__always)
  public func increment() {
    integer.wrappingAdd(1, ordering: .relaxed)
  }

  /// Adds a whole amount. A negative one is ignored and counted.
  @inlinable @inline(__always)
  public func increment(by amount: Int) {
    if amount >= 0 {
      integer.wrappingAdd(UInt64(truncatingIfNeeded: amount), ordering: .relaxed)
    } else {
      refuse()
    }
  }

  /// Adds any amount. A negative, NaN or infinite one is ignored and counted.
  public func increment(by amount: Double) {
    guard amount >= 0, amount < .infinity else { return refuse() }
    if let whole = UInt64(exactly: amount), whole < 1 << 53 {
      integer.wrappingAdd(whole, ordering: .relaxed)
    } else {
      fraction.addDouble(amount)
    }
  }

  /// The sum of all amounts so far.
  public var value: Double {
    let (whole, rest) = parts
    return Double(whole) + rest
  }

  /// Each part only grows, so their sum does, though they are read one after the other.
  var parts: (whole: UInt64, rest: Double) {
    (integer.load(ordering: .relaxed), Double(bitPattern: fraction.load(ordering: .relaxed)))
  }

  @usableFromInline
  func refuse() {
    tally.countInvalidUpdate()
  }
}
