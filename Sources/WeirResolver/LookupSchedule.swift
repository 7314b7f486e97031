package import WeirIO

/// Decides when a name is looked up next. The time and the randomness are its caller's.
package struct LookupSchedule: Hashable, Sendable {
  /// The interval of questions for services in seconds: c-ares 1.18 drops the TTL of SRV records.
  package static let serviceInterval = 10.0
  /// The largest part of an interval that is left out at random, so that instances don't ask in step.
  static let largestCut = 0.1

  private let minimum: Double
  private let maximum: Double
  /// The wait after the next failure.
  private var nextRetry: Double

  /// - Parameter minimum: The least seconds between two lookups, but for the random part.
  /// - Parameter maximum: The most seconds between two lookups; at least `minimum`.
  package init(minimum: Double, maximum: Double) {
    self.minimum = minimum
    self.maximum = max(minimum, maximum)
    nextRetry = minimum
  }

  /// The time of the next lookup after an answer at `now`.
  ///
  /// - Parameter ttl: The seconds for which the answer holds; nil if it says nothing about that.
  /// - Parameter random: A number from 0 up to 1.
  package mutating func answered(
    _ kind: Question.Kind, ttl: Double?, at now: MonotonicTime, random: Double
  ) -> MonotonicTime {
    nextRetry = minimum
    let interval =
      switch kind {
      case .addresses: ttl ?? minimum
      case .services: Self.serviceInterval
      }
    let clamped = min(max(interval, minimum), maximum)
    return now.advanced(bySeconds: clamped * (1 - Self.largestCut * random))
  }

  /// The time of the next lookup after a failure at `now`.
  package mutating func failed(at now: MonotonicTime) -> MonotonicTime {
    let wait = nextRetry
    nextRetry = min(wait * 2, maximum)
    return now.advanced(bySeconds: wait)
  }
}
