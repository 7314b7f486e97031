/// Settings by which requests to a failing destination are rejected for a while.
///
/// A *closed* circuit admits every attempt and counts how attempts end. When at least `minimumRequests` ended in the
/// window and `failureRatio` of them failed, the circuit *opens*. Requests are then rejected with
/// ``WeirError/RequestRejectionReason/circuitOpen(retryAfter:)`` before they cost a connection, and no retrier is
/// asked. After `openFor` the circuit is *half open*: it admits `halfOpenProbes` attempts, and closes when they
/// succeed. When one of them fails, the circuit opens for twice as long as before, up to a minute. A probe that takes
/// longer than the circuit was open, and longer than a second, makes room for another.
///
/// Failures are transport errors, timeouts and statuses from 500 on. An attempt that was cancelled or rejected does not
/// count. Neither does one that failed for a reason in this process, such as a lack of descriptors. A deadline that
/// passed while the request's body was sent does not count either, as the caller may have been slow.
public struct CircuitBreaker: Sendable, Hashable {
  /// Failed attempts ÷ all attempts that ended; 0 to 1.
  public var failureRatio: Double
  /// The number of attempts that must have ended in the window before the circuit opens.
  public var minimumRequests: Int
  /// The length of the window, in seconds; 1 to 60.
  public var window: Double
  /// Seconds before the first probe; up to 60.
  public var openFor: Double
  /// How many attempts must succeed, and how many may be under way, while the circuit is half open; at least 1.
  public var halfOpenProbes: Int

  /// Takes the numbers. Numbers out of range count as the nearest valid ones. NaN counts as a ratio of 1, and as the
  /// shortest time.
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

/// The state of a destination's ``CircuitBreaker``.
public enum CircuitState: String, Sendable, CaseIterable {
  /// Every attempt is admitted.
  case closed
  /// No attempt is admitted.
  case open
  /// A few attempts are admitted, to see whether the circuit can close.
  case halfOpen = "half_open"
}

extension CircuitBreaker {
  /// The range of ``window``, in seconds.
  package static let windows = 1.0...60.0
  /// The longest time that a circuit stays open, in seconds.
  package static let longestOpen = 60.0

  var boundedWindow: Double {
    window >= Self.windows.lowerBound ? min(window, Self.windows.upperBound) : Self.windows.lowerBound
  }

  var boundedOpenFor: Double { openFor > 0 ? min(openFor, Self.longestOpen) : 0 }

  var boundedRatio: Double { failureRatio < 1 ? max(0, failureRatio) : 1 }

  var boundedProbes: Int { max(1, halfOpenProbes) }

  /// Whether these failures open the circuit.
  func opens(failed: Int, of ended: Int) -> Bool {
    failed > 0 && ended >= minimumRequests && Double(failed) >= boundedRatio * Double(ended)
  }
}
