public import Synchronization

/// A number that goes up and down: requests in flight, bytes in use, a state.
///
/// Any value is allowed, NaN and the infinities too; the page shows them as `NaN`, `+Inf` and `-Inf`.
/// Increment and decrement a gauge through the same handle.
public struct Gauge: Instrument {
  public let series: Series

  @inlinable
  public init(_ series: Series) {
    self.series = series
  }

  /// Replaces the value.
  @inlinable
  public func set(_ value: Double) {
    series.first.store(value.bitPattern, ordering: .relaxed)
  }

  /// Replaces the value.
  @inlinable
  public func set(_ value: Int) {
    set(Double(value))
  }

  /// Adds to the value.
  @inlinable
  public func increment(by amount: Double = 1) {
    series.first.addDouble(amount)
  }

  /// Subtracts from the value.
  @inlinable
  public func decrement(by amount: Double = 1) {
    series.first.addDouble(-amount)
  }

  /// The value now.
  public var value: Double {
    Double(bitPattern: series.first.load(ordering: .relaxed))
  }
}
