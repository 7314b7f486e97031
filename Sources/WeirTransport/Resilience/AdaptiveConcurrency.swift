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
/// Only answers below status 500 are looked at, and attempts that timed out when they had waited for longer than the
/// shortest of them took: neither is a server fast that fails at once, nor one whose callers lose patience.
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
  public var window: Double
  /// Seconds after which the shortest answer is measured anew.
  public var baseline: Double

  /// Takes the numbers; those beyond their limits count as the nearest ones within, what is no number as the least.
  public init(
    minimum: Int = 4, initial: Int = 20, tolerance: Double = 1.5, smoothing: Double = 0.2, window: Double = 0.5,
    baseline: Double = 60
  ) {
    self.minimum = minimum
    self.initial = initial
    self.tolerance = tolerance
    self.smoothing = smoothing
    self.window = window
    self.baseline = baseline
  }
}

extension AdaptiveConcurrency {
  var boundedMinimum: Int { max(1, minimum) }

  var boundedTolerance: Double { tolerance > 1 ? tolerance : 1 }

  var boundedSmoothing: Double { smoothing > 0 ? min(smoothing, 1) : 0 }

  var boundedWindow: Double { window > 0 ? window : 0 }

  var boundedBaseline: Double { baseline > 1 ? baseline : 1 }
}
