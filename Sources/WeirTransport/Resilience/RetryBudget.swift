/// How many retries a destination may get: a share of its requests, and a few more for destinations with few requests.
///
/// A retry is granted if the window that ends now then holds at most `ratio` × requests started + `minimumPerSecond` ×
/// `window` retries. While weir has known the destination for less than a window, `burst` more are granted. A retry
/// counts from the grant on, also while it waits. All requests of a session to one destination (scheme, host and
/// port) count together; those to other destinations do not.
///
/// Times are rounded to quarters of a second in the upstream's favour. A budget may therefore grant fewer retries than
/// its numbers say, by a few percent for windows of ten seconds, but never more.
public struct RetryBudget: Sendable, Hashable {
  /// Retries per request started.
  public var ratio: Double
  /// Retries per second that are granted without any requests.
  public var minimumPerSecond: Double
  /// Further retries while the destination is new.
  public var burst: Double
  /// The length of the window, in seconds; 1 to 60.
  public var window: Double

  /// Takes the numbers. Negative ones count as 0, and a window out of range as the nearest valid one.
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
  /// The range of ``window``, in seconds.
  package static let windows = 1.0...60.0

  /// The window within its range; NaN counts as the shortest.
  var boundedWindow: Double {
    window >= Self.windows.lowerBound ? min(window, Self.windows.upperBound) : Self.windows.lowerBound
  }

  /// The number of retries that a window with this many requests may hold.
  func allowance(requests: Int, isNew: Bool) -> Double {
    Self.bounded(ratio) * Double(requests) + Self.bounded(minimumPerSecond) * boundedWindow
      + (isNew ? Self.bounded(burst) : 0)
  }

  /// NaN counts as 0. Infinity is bounded, as infinity times no requests would be NaN.
  private static func bounded(_ value: Double) -> Double {
    value > 0 ? min(value, 1e12) : 0
  }
}
