import Glibc

/// The delay before a retry: exponential, spread by jitter, bounded.
package struct RetryBackoff: Sendable, Hashable {
  package var base: UInt
  /// Seconds.
  package var scale: Double
  package var jitter: Jitter
  /// Seconds; no delay of the backoff is longer.
  package var maximumDelay: Double

  package init(base: UInt, scale: Double, jitter: Jitter = .none, maximumDelay: Double = 60) {
    self.base = base
    self.scale = scale
    self.jitter = jitter
    self.maximumDelay = maximumDelay
  }

  /// The delay after this many retries, in seconds; `random` is in 0..<1.
  package func delay(retryCount: Int, random: Double) -> Double {
    switch jitter {
    case .none: exponential(retryCount)
    // Bounded again: without a maximum, the delay can be infinity times 0, which is NaN.
    case .full: bounded(exponential(retryCount) * random)
    case .decorrelated: decorrelated(retryCount, random: random)
    }
  }

  private func exponential(_ retryCount: Int) -> Double {
    bounded(pow(Double(base), Double(retryCount)) * scale)
  }

  private func decorrelated(_ retryCount: Int, random: Double) -> Double {
    let low = exponential(0)
    let high = max(low, 3 * exponential(max(0, retryCount - 1)))
    return bounded(low + (high - low) * random)
  }

  /// Bounds the delay, also if the scale is 0 or negative, or the product is infinite or NaN.
  private func bounded(_ delay: Double) -> Double {
    delay.isNaN ? 0 : min(max(0, delay), max(0, maximumDelay))
  }
}

/// How a backoff is spread, so that clients that failed together do not come back together.
public enum Jitter: Sendable, Hashable {
  /// The exponential delay, unchanged.
  case none
  /// A random delay between 0 and the exponential delay.
  case full
  /// A random delay between the first delay and three times the previous delay.
  ///
  /// The policy keeps no state per request, so the previous delay is the exponential one, not the random one.
  case decorrelated
}
