public import Foundation

/// How many attempts a destination is to bear at once, found out by how long it takes to answer.
///
/// Once in each `window`, the mean time from the request sent to the first byte is compared with the shortest that was
/// measured. While it is at most `tolerance` times that, the limit grows by its square root; the longer it is,
/// the more the limit shrinks, by half at the most. Of each such step `smoothing` is taken. What exceeds the limit waits
/// as it does for ``SessionConfiguration/httpMaximumConnectionsPerHost``, which the limit never exceeds.
///
/// The shortest time is measured anew once in each `baseline`: when the limit is in use then, it is `minimum` for two
/// windows, since a destination that is always busy does not show how fast it could be.
///
/// Only answers below status 500, and attempts that timed out while they waited for one, are looked at: a server that
/// fails at once is not a fast one.
public struct AdaptiveConcurrency: Sendable, Hashable {
  /// The limit is never lower; at least 1.
  public var minimum: Int
  /// The limit at the beginning.
  public var initial: Int
  /// How much longer than the shortest an answer may take without the limit shrinking; at least 1.
  public var tolerance: Double
  /// How much of a step is taken; 0 to 1.
  public var smoothing: Double
  /// Seconds that the mean is taken over.
  public var window: TimeInterval
  /// Seconds after which the shortest answer is measured anew.
  public var baseline: TimeInterval

  /// Takes the numbers; those beyond their limits count as the nearest ones within.
  public init(
    minimum: Int = 4, initial: Int = 20, tolerance: Double = 1.5, smoothing: Double = 0.2, window: TimeInterval = 0.5,
    baseline: TimeInterval = 60
  ) {
    self.minimum = minimum
    self.initial = initial
    self.tolerance = tolerance
    self.smoothing = smoothing
    self.window = window
    self.baseline = baseline
  }
}
