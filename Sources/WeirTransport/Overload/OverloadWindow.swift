import WeirIO

/// The samples of one window: answers' times from sent to final head, of which the mean is taken. A mean, not a median:
/// only a mean bounds the work that is under way where some answers take far longer than others. The seconds that callers
/// waited who gave up are samples too, while most answers are slow.
struct OverloadWindow: Sendable {
  /// Seconds; with many samples, and with few.
  private static let lengths = (many: 0.25, few: 1.0)
  private static let counts = (many: 10, few: 3)

  private(set) var begin: MonotonicTime
  private(set) var samples = 0
  private var sum = 0.0
  /// The answers among the samples, and those of them that were as fast as is tolerated.
  private var answers = (count: 0, sum: 0.0, fast: 0)
  /// Attempts that left the wire with a head or a failure.
  var ended = 0
  /// Attempts on the wire whose callers gave up.
  var givenUp = 0
  /// Seconds in which an attempt waited or the limit was reached.
  var saturated = 0.0
  /// The most attempts that counted at once.
  var most: Int

  init(at now: MonotonicTime, counted: Int) {
    begin = now
    most = counted
  }

  /// R; 0 without a sample.
  var mean: Double {
    if !isSlow { return answers.sum / Double(answers.count) }
    return samples == 0 ? 0 : sum / Double(samples)
  }

  mutating func note(_ seconds: Double) {
    samples += 1
    sum += seconds
  }

  /// The sample that is noted next is an answer.
  mutating func noteAnswer(_ seconds: Double, isFast: Bool) {
    answers.count += 1
    answers.sum += seconds
    if isFast { answers.fast += 1 }
  }

  /// Whether most answers took longer than is tolerated, or none came.
  var isSlow: Bool { 4 * answers.fast <= answers.count }

  func seconds(at now: MonotonicTime) -> Double { now.seconds(since: begin) }

  /// Whether it ends with the sample that came last.
  func isFull(at now: MonotonicTime) -> Bool {
    guard samples >= Self.counts.few else { return false }
    let length = samples >= Self.counts.many ? Self.lengths.many : Self.lengths.few
    return seconds(at: now) >= max(length, mean)
  }

  /// Whether it begins anew, since no sample has come for so long.
  ///
  /// - Parameter average: A; 0 while it is unknown.
  func isStale(average: Double, at now: MonotonicTime) -> Bool {
    samples == 0 && seconds(at: now) > 1 + 4 * average
  }
}
