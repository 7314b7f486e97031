import WeirIO

/// A time with a lower limit, to find out whether it makes answers faster. First the attempts under way go down to that
/// limit, until an attempt is answered that was sent in the probe: by then the upstream has worked off what it had
/// before. The mean is taken of attempts sent from then on.
struct OverloadProbe: Sendable {
  enum Result: Sendable {
    /// Answers took less than 0.8 of what they took before.
    case faster
    case same
  }

  /// The limit before ÷ the limit meanwhile.
  static let divisor = 2.5
  private static let faster = 0.8
  private static let leastSamples = 10
  /// Seconds that the longest wait may be longer than it was at the begin.
  private static let tolerableWait = 0.5

  private enum Stage: Sendable {
    case draining
    case measuring
  }

  let limit: Int
  /// The latency at the begin.
  let before: Double
  /// The longest wait at the begin, in seconds.
  private let longestWait: Double
  private let begin: MonotonicTime
  private var stage = Stage.draining
  private var stageBegin: MonotonicTime
  /// Whether an attempt has been answered that was sent in the probe.
  private var isDrained = false
  private var samples = 0
  private var sum = 0.0

  init(limit: Double, before: Double, longestWait: Double, at now: MonotonicTime) {
    self.limit = max(1, Int(limit / Self.divisor))
    self.before = before
    self.longestWait = longestWait
    begin = now
    stageBegin = now
  }

  /// P: the mean of the samples; nil without one.
  var mean: Double? { samples == 0 ? nil : sum / Double(samples) }

  /// Whether the lower limit made the answers faster.
  var isFaster: Bool { mean.map { $0 < Self.faster * before } ?? false }

  /// When the present stage ends, at the latest.
  func end(average: Double) -> MonotonicTime { stageBegin.advanced(bySeconds: 1 + 4 * average) }

  /// When it is given up on account of a request that has waited since `arrival`.
  func abort(waitingSince arrival: MonotonicTime) -> MonotonicTime {
    arrival.advanced(bySeconds: longestWait + Self.tolerableWait)
  }

  /// An attempt that was sent then took so many seconds.
  mutating func note(_ seconds: Double, sent: MonotonicTime) {
    if sent >= begin { isDrained = true }
    guard stage == .measuring, sent >= stageBegin else { return }
    samples += 1
    sum += seconds
  }

  /// Whether it has ended.
  mutating func isOver(counted: Int, average: Double, at now: MonotonicTime) -> Bool {
    switch stage {
    case .draining:
      if counted <= limit && isDrained || now >= end(average: average) { (stage, stageBegin) = (.measuring, now) }
      return false
    case .measuring:
      return samples >= max(Self.leastSamples, limit) || now >= end(average: average)
    }
  }
}
