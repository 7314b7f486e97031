import WeirIO

/// The samples of one window: answers' times from sent to final head, of which the mean is taken. A mean, not a median:
/// only a mean bounds the work that is under way where some answers take far longer than others. The seconds that
/// callers waited who gave up are samples too, while most answers are slow.
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

  /// The window's mean; 0 without a sample.
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
  /// - Parameter average: 0 while it is unknown.
  func isStale(average: Double, at now: MonotonicTime) -> Bool {
    samples == 0 && seconds(at: now) > 1 + 4 * average
  }
}

/// The events at a destination in the last slots of half a second.
struct RecentSlots: Sendable {
  struct Slot: Sendable {
    var arrivals: UInt32 = 0
    /// Heads, and failures without one.
    var heads: UInt32 = 0
    /// Requests that were refused, or whose callers gave up.
    var lost: UInt32 = 0
    /// Give-ups that show a slow upstream, and runs into weir's own limit of time.
    var inVain: UInt32 = 0
    /// Answers whose time counts, and those of them that were not slow for this upstream.
    var answers: UInt32 = 0
    var fast: UInt32 = 0
    /// Seconds of saturated time.
    var saturated = 0.0

    /// Whether most answers were slow; false without one.
    var areMostSlow: Bool { 4 * fast < answers }

    mutating func add(_ slot: Slot) {
      arrivals &+= slot.arrivals
      heads &+= slot.heads
      lost &+= slot.lost
      inVain &+= slot.inVain
      answers &+= slot.answers
      fast &+= slot.fast
      saturated += slot.saturated
    }
  }

  /// Seconds.
  static let length = 0.5
  /// Slots that are kept; a power of two.
  static let count = 8

  /// The present slot.
  var present = Slot()
  /// When the present slot ends.
  private(set) var end: MonotonicTime
  private var past = [Slot](repeating: Slot(), count: count)
  private var latest = 0
  /// The slots that have ended, up to as many as are kept.
  private(set) var passed = 0

  init(at now: MonotonicTime) {
    end = now.advanced(bySeconds: Self.length)
  }

  /// The slot that ended last.
  var last: Slot { past[latest] }

  /// The sum of the slots that ended last, of so many or as many as there are.
  func sum(of count: Int) -> Slot {
    var sum = Slot()
    for offset in 0..<min(count, passed) { sum.add(past[(latest - offset) & (Self.count - 1)]) }
    return sum
  }

  /// The present slot has ended.
  mutating func turn() {
    latest = (latest + 1) & (Self.count - 1)
    past[latest] = present
    present = Slot()
    passed = min(passed + 1, Self.count)
    end = end.advanced(bySeconds: Self.length)
  }

  /// Forgets the slots that have ended.
  mutating func forget() { passed = 0 }

  /// Forgets everything after a long time without a call.
  mutating func restart(at now: MonotonicTime) {
    present = Slot()
    passed = 0
    end = now.advanced(bySeconds: Self.length)
  }
}

/// The service rate: heads per second of a destination whose limit is used.
struct ServiceRate: Sendable {
  /// Seconds after which it is forgotten.
  private static let memory = 10.0

  private var last: (perSecond: Double, time: MonotonicTime)?

  /// Nil while it is unknown.
  func value(at now: MonotonicTime) -> Double? {
    guard let last, now.seconds(since: last.time) < Self.memory else { return nil }
    return last.perSecond
  }

  mutating func note(_ measured: Double, at now: MonotonicTime) {
    last = (value(at: now).map { 0.7 * $0 + 0.3 * measured } ?? measured, now)
  }
}
