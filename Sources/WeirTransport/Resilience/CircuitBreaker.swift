/// Settings by which requests to a failing destination are rejected, as many as would fail.
///
/// A *closed* circuit admits every attempt and counts how attempts end. When at least `minimumRequests` ended in the
/// window and `failureRatio` of them failed, the circuit admits only a share of the attempts: as many as the
/// destination answers well, and the failures that are tolerated beside them. The share follows the last two seconds,
/// down at once and up at most twofold in a quarter of a second. An attempt in fifty, and one in half a second, is
/// always admitted, so that a recovery is seen soon. The others are rejected with
/// ``WeirError/RequestRejectionReason/circuitOpen(retryAfter:)`` before they cost a connection, and no retrier is
/// asked.
///
/// Failures are transport errors, timeouts and statuses from 500 on. A request that its caller cancelled is a failure
/// if it had been on the wire for more than a second and, where the time of a fast answer is known
/// (``OverloadSettings``), for more than three times that. Other attempts that were cancelled, or rejected, do not
/// count. Neither does one that failed for a reason in this process, such as a lack of descriptors. A deadline that
/// passed while the request's body was sent does not count either, as the caller may have been slow.
public struct CircuitBreaker: Sendable, Hashable {
  /// Failed attempts ÷ all attempts that ended; 0 to 1.
  public var failureRatio: Double
  /// The number of attempts that must have ended in the window before any is rejected.
  public var minimumRequests: Int
  /// The length of the window, in seconds; 1 to 60.
  public var window: Double

  /// Takes the numbers. Numbers out of range count as the nearest valid ones. NaN counts as a ratio of 1, and as the
  /// shortest time.
  public init(failureRatio: Double = 0.5, minimumRequests: Int = 20, window: Double = 10) {
    self.failureRatio = failureRatio
    self.minimumRequests = minimumRequests
    self.window = window
  }
}

/// The state of a destination's ``CircuitBreaker``.
public enum CircuitState: String, Sendable, CaseIterable {
  /// Every attempt is admitted.
  case closed
  /// Less than a tenth of the attempts are admitted.
  case open
  /// A tenth of the attempts or more are admitted, but not all.
  case halfOpen = "half_open"
}

extension CircuitBreaker {
  /// The range of ``window``, in seconds.
  package static let windows = 1.0...60.0

  var boundedWindow: Double {
    window >= Self.windows.lowerBound ? min(window, Self.windows.upperBound) : Self.windows.lowerBound
  }

  var boundedRatio: Double { failureRatio < 1 ? max(0, failureRatio) : 1 }

  /// Whether so many have failed that some are rejected.
  func opens(failed: Int, of ended: Int) -> Bool {
    failed > 0 && ended >= minimumRequests && Double(failed) >= boundedRatio * Double(ended)
  }
}
