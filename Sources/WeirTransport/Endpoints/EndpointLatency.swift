import Glibc
import WeirIO

/// The time to the first byte at one endpoint: a mean whose samples fade with a time constant of 10 s.
struct EndpointLatency: Sendable {
  /// Seconds.
  private static let timeConstant = 10.0
  /// Seconds that a failed attempt counts as at most.
  private static let longestFailure = 10.0

  /// Seconds, as of the last sample; nil without one.
  private(set) var seconds: Double?
  private(set) var since: MonotonicTime

  /// - Parameter seconds: As of the time `since`; nil without a sample.
  init(_ seconds: Double? = nil, since: MonotonicTime) {
    self.seconds = seconds
    self.since = since
  }

  /// The value now. An endpoint without new samples tends to the mean of the others.
  func value(others: Double?, at now: MonotonicTime) -> Double? {
    guard let seconds else { return others }
    guard let others else { return seconds }
    return others + (seconds - others) * Self.fading(now.seconds(since: since))
  }

  mutating func note(answer sample: Double, others: Double?, at now: MonotonicTime) {
    let kept = Self.fading(now.seconds(since: since))
    let before = seconds ?? others ?? sample
    seconds = sample + (before - sample) * kept
    since = max(since, now)
  }

  /// A failure counts as twice the mean, its own or the others', or as the time that it took where that is more: fast
  /// failures must not make an endpoint look fast. Without a mean it says nothing.
  mutating func note(failureAfter elapsed: Double, others: Double?, at now: MonotonicTime) {
    guard let present = value(others: others, at: now) else { return }
    let sample = min(max(2 * max(present, others ?? 0), elapsed), Self.longestFailure)
    note(answer: max(present, sample), others: others, at: now)
  }

  /// An answer would have taken longer than its caller waited.
  mutating func note(givenUpAfter elapsed: Double, others: Double?, at now: MonotonicTime) {
    note(answer: max(elapsed, value(others: others, at: now) ?? elapsed), others: others, at: now)
  }

  private static func fading(_ elapsed: Double) -> Double { elapsed > 0 ? exp(-elapsed / timeConstant) : 1 }
}

/// The sum of the latencies of the endpoints that are available.
struct LatencySum: Sendable {
  private(set) var seconds = 0.0
  private(set) var count = 0

  mutating func replace(_ old: Double?, by new: Double?) {
    seconds += (new ?? 0) - (old ?? 0)
    count += (new == nil ? 0 : 1) - (old == nil ? 0 : 1)
  }

  /// The mean of the others than one whose part of the sum this is; nil if there are none.
  func mean(without part: Double?) -> Double? {
    let others = part == nil ? count : count - 1
    return others > 0 ? max(0, seconds - (part ?? 0)) / Double(others) : nil
  }
}
