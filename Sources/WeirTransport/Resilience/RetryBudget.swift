/// How many retries a destination is to bear: a share of its requests, and a few more for those that are asked little.
///
/// In the window that ends with it, a retry that is granted is one of at most `ratio` × requests started +
/// `minimumPerSecond` × `window`, + `burst` while weir has known the destination for less than one window. A retry
/// counts from the grant on, also while it waits. All requests of a session to one destination (scheme, host and port)
/// count together; those to other destinations do not.
///
/// What is counted is rounded to quarters of a second in the upstream's favour: a budget may be short of what its
/// numbers say, by a few percent for windows of ten seconds, and never exceeds it.
public struct RetryBudget: Sendable, Hashable {
  /// Retries per request started.
  public var ratio: Double
  /// Retries per second that need no requests.
  public var minimumPerSecond: Double
  /// Further retries while the destination is new.
  public var burst: Double
  /// Seconds that are looked back; 1 to 60.
  public var window: Double

  /// Takes the numbers. Negative ones count as 0, a window beyond its limits as the nearest one within.
  public init(
    ratio: Double = 0.2, minimumPerSecond: Double = 1, burst: Double = 10, window: Double = 10
  ) {
    self.ratio = ratio
    self.minimumPerSecond = minimumPerSecond
    self.burst = burst
    self.window = window
  }
}

extension RetryBudget {
  /// Seconds, within the limits.
  package static let windows = 1.0...60.0

  /// Within the limits; a number that is none is the shortest.
  var boundedWindow: Double {
    window >= Self.windows.lowerBound ? min(window, Self.windows.upperBound) : Self.windows.lowerBound
  }

  /// The retries that a window with so many requests may hold.
  func allowance(requests: Int, isNew: Bool) -> Double {
    Self.bounded(ratio) * Double(requests) + Self.bounded(minimumPerSecond) * boundedWindow
      + (isNew ? Self.bounded(burst) : 0)
  }

  /// Also what is no number counts as 0. An infinite one times no requests would be none.
  private static func bounded(_ value: Double) -> Double {
    value > 0 ? min(value, 1e12) : 0
  }
}
