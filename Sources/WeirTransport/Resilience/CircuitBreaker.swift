/// When a destination that fails is left alone for a while.
///
/// A *closed* circuit lets everything through and watches how attempts end. When `failureRatio` of them failed in the
/// window, of at least `minimumRequests`, it *opens*: requests are rejected with
/// ``WeirError/RequestRejectionReason/circuitOpen(retryAfter:)`` before they cost a connection, and no retrier is asked. After
/// `openFor` it is *half open*: it lets `halfOpenProbes` through, and closes when they succeed. When one fails it opens
/// for twice as long as before, up to a minute. One that takes longer than the circuit was open, and than a second, makes
/// room for another.
///
/// Failures are transport errors, timeouts and statuses from 500 on. What was cancelled or rejected does not count, nor
/// what failed in this process, for want of descriptors, say; nor, as it may have been the caller who was slow, a deadline
/// that passed while the request's body was sent.
public struct CircuitBreaker: Sendable, Hashable {
  /// Failed attempts ÷ all that ended; 0 to 1.
  public var failureRatio: Double
  /// Attempts that must have ended in the window before it opens.
  public var minimumRequests: Int
  /// Seconds that are looked back; 1 to 60.
  public var window: Double
  /// Seconds before the first probe; up to 60.
  public var openFor: Double
  /// How many attempts must succeed, and may be under way, while it is half open; at least 1.
  public var halfOpenProbes: Int

  /// Takes the numbers; those beyond their limits count as the nearest ones within. What is no number counts as a ratio of
  /// 1, and as the shortest of times.
  public init(
    failureRatio: Double = 0.5, minimumRequests: Int = 20, window: Double = 10, openFor: Double = 5,
    halfOpenProbes: Int = 1
  ) {
    self.failureRatio = failureRatio
    self.minimumRequests = minimumRequests
    self.window = window
    self.openFor = openFor
    self.halfOpenProbes = halfOpenProbes
  }
}

/// Where a destination's ``CircuitBreaker`` stands.
public enum CircuitState: String, Sendable, CaseIterable {
  /// Everything is let through.
  case closed
  /// Nothing is.
  case open
  /// A few are, to see whether it can close.
  case halfOpen = "half_open"
}

extension CircuitBreaker {
  /// Seconds, within the limits.
  package static let windows = 1.0...60.0
  /// Seconds.
  package static let longestOpen = 60.0

  var boundedWindow: Double {
    window >= Self.windows.lowerBound ? min(window, Self.windows.upperBound) : Self.windows.lowerBound
  }

  var boundedOpenFor: Double { openFor > 0 ? min(openFor, Self.longestOpen) : 0 }

  var boundedRatio: Double { failureRatio < 1 ? max(0, failureRatio) : 1 }

  var boundedProbes: Int { max(1, halfOpenProbes) }

  /// Whether so many failures are too many.
  func opens(failed: Int, of ended: Int) -> Bool {
    failed > 0 && ended >= minimumRequests && Double(failed) >= boundedRatio * Double(ended)
  }
}
