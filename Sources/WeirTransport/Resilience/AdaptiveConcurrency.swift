/// A limit of concurrent attempts per destination that adapts to how long the destination takes to answer.
///
/// Once in each `window`, the mean time from the request sent to the first byte is compared with the shortest such
/// time. While the mean is at most `tolerance` times the shortest, the limit grows by its square root. The longer the
/// mean is, the more the limit shrinks, by half at the most. Only the share `smoothing` of each step is applied.
/// Attempts above the limit wait as for ``SessionConfiguration/httpMaximumConnectionsPerHost``, which the limit never
/// exceeds.
///
/// The shortest time is measured anew once in each `baseline`, since a destination that is always busy does not show
/// how fast it could be. If the limit is in use then, it falls to `minimum` until no more attempts than that are under
/// way, and stays there for one more window, in which the time is measured. If more are still under way after 20
/// windows, the limit returns without a measurement.
///
/// Two kinds of attempts are measured: those with a status below 500, and those that timed out after a longer wait than
/// the shortest time. A server that fails at once is not fast, and neither is one whose callers lose patience.
public struct AdaptiveConcurrency: Sendable, Hashable {
  /// The lower bound of the limit; at least 1.
  public var minimum: Int
  /// The limit at the beginning.
  public var initial: Int
  /// The ratio of the mean time to the shortest time above which the limit shrinks; at least 1.
  public var tolerance: Double
  /// The share of each step that is applied; 0 to 1.
  public var smoothing: Double
  /// The length of a window, in seconds, over which the mean is taken.
  public var window: Double
  /// Seconds after which the shortest time is measured anew.
  public var baseline: Double

  /// Takes the numbers. Numbers out of range count as the nearest valid ones, and NaN as the least.
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
