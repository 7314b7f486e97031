import WeirIO

/// Whether an upstream has ceased to answer, and which arrivals may find out whether it still does.
struct Silence: Sendable {
  /// The attempts sent since the upstream was last heard of.
  ///
  /// Eight attempts are evidence if at least a second lies between the first and the last: those sent within one moment
  /// may all be long polls. One that waits, since others have all places, is as good as one that was sent.
  private struct Unanswered: Sendable {
    static let count = 8
    static let seconds = 1.0

    var first: MonotonicTime
    var count = 1
    /// When the attempt was sent that completed the evidence.
    var complete: MonotonicTime?

    /// Whether they came nearly as often as signs of the upstream had come: in a lull it may be that only long polls
    /// are left.
    func isNoLull(_ interval: Double, waiting: Int, at now: MonotonicTime) -> Bool {
      Double(count + waiting) * interval > 0.5 * now.seconds(since: first)
    }

    mutating func sent(at now: MonotonicTime) {
      count += 1
      look(waiting: 0, at: now)
    }

    mutating func look(waiting: Int, at now: MonotonicTime) {
      if complete == nil, count + waiting >= Self.count, now.seconds(since: first) >= Self.seconds { complete = now }
    }

    mutating func neverSent() {
      count -= 1
      if count < Self.count { complete = nil }
    }
  }

  /// A silence that a sign of the upstream has ended.
  struct Ended: Sendable, Equatable {
    let time: MonotonicTime
    let seconds: Double
  }

  /// Seconds between two arrivals that are let through while the upstream is silent.
  private static let interval = 0.5
  /// Seconds without a sign of the upstream, and callers that gave up in them, where no answer time is known.
  private static let unknown = (seconds: 10.0, givenUp: 3)
  /// The callers that must have left before arrivals are refused, at least, and for each that still waits.
  private static let departed = (least: 5, perWaiting: 3)
  /// How many times longer than it takes to notice it a silence lasts before it is a hang.
  private static let hang = 2.6

  private(set) var isSilent = false
  /// The last one that has ended.
  private(set) var ended: Ended?
  /// Whether arrivals are refused. Silence alone is no reason, as all may be long polls: callers must leave as well, or
  /// it must be a hang.
  private(set) var refuses = false
  /// Whether the silence has lasted so long, and so many wait, that long polls are no explanation.
  private var isHang = false
  private var unanswered: Unanswered?
  /// When the upstream was last heard of, or an attempt was sent while none counted.
  private var heard: MonotonicTime
  /// When the last sign of the upstream came; nothing else changes it.
  private var lastSign: MonotonicTime
  /// Seconds between two signs of the upstream, on average.
  private var interval = 0.0
  /// The callers that have left since then, and the seconds that they had waited, together.
  private var givenUp = (count: 0, seconds: 0.0)
  private var lastThrough: MonotonicTime

  init(at now: MonotonicTime) {
    heard = now
    lastSign = now
    lastThrough = now
  }

  mutating func sent(isOnly: Bool, at now: MonotonicTime) {
    if isOnly { heard = now }
    if unanswered == nil { unanswered = Unanswered(first: now) } else { unanswered?.sent(at: now) }
  }

  /// An attempt that was counted as sent has not been sent.
  mutating func neverSent() {
    unanswered?.neverSent()
    if unanswered?.count == 0 { unanswered = nil }
  }

  mutating func gaveUpOnWire(after seconds: Double) {
    givenUp.count += 1
    givenUp.seconds += seconds
  }

  /// Whether callers have left since the upstream was last heard of, and few of the others have a longer timeout.
  ///
  /// - Parameter stillWaiting: The number of attempts on the wire for so many seconds.
  func callersLeave(stillWaiting: (Double) -> Int) -> Bool {
    guard givenUp.count >= Self.departed.least else { return false }
    return givenUp.count >= Self.departed.perWaiting * stillWaiting(givenUp.seconds / Double(givenUp.count))
  }

  /// Arrivals are refused while the upstream is silent and callers leave, or it hangs.
  mutating func refuse(_ callersLeave: Bool, at now: MonotonicTime) {
    let refused = refuses
    refuses = isHang || isSilent && callersLeave
    if refuses, !refused { lastThrough = now }
  }

  /// Ends a silence without a sign of the upstream, and forgets what speaks for one.
  mutating func forget(at now: MonotonicTime) {
    (isSilent, refuses, isHang) = (false, false, false)
    (heard, unanswered, givenUp) = (now, nil, (0, 0))
  }

  /// A head or a failure came. Returns whether that ends a silence.
  mutating func heard(at now: MonotonicTime) -> Bool {
    if let seconds = seconds(at: now) { ended = Ended(time: now, seconds: seconds) }
    interval += (min(1, now.seconds(since: lastSign)) - interval) / 16
    (heard, lastSign) = (now, now)
    unanswered = nil
    givenUp = (0, 0)
    defer { (isSilent, refuses, isHang) = (false, false, false) }
    return isSilent
  }

  /// Seconds of the present silence, since the first attempt that was sent after the last sign of the upstream; nil if
  /// it is not silent.
  func seconds(at now: MonotonicTime) -> Double? {
    isSilent ? now.seconds(since: unanswered?.first ?? heard) : nil
  }

  /// Whether enough attempts older than this were sent since the upstream was last heard of.
  func isUnanswered(for seconds: Double, at now: MonotonicTime) -> Bool {
    guard let complete = unanswered?.complete else { return false }
    return now.seconds(since: complete) > seconds
  }

  /// Looks whether a silence begins, or has become a hang.
  ///
  /// - Parameters:
  ///   - average: Nil while it is unknown.
  ///   - shortest: Seconds that a silence lasts at least.
  ///   - waiting: The number of attempts that wait for a place.
  mutating func look(average: Double?, shortest: Double, waiting: Int, at now: MonotonicTime) {
    if waiting > 0 { unanswered?.look(waiting: waiting, at: now) }
    guard let unanswered, !isHang else { return }
    let seconds = now.seconds(since: heard)
    if seconds < shortest { return }
    if isSilent {
      guard let average, seconds > Self.hang * max(shortest, 20 * average) else { return }
      isHang = unanswered.isNoLull(interval, waiting: waiting, at: now)
      if isHang { refuse(true, at: now) }
    } else if let average {
      isSilent = seconds > 20 * average && isUnanswered(for: max(0.5, 8 * average), at: now)
    } else {
      isSilent = seconds > Self.unknown.seconds && givenUp.count >= Self.unknown.givenUp
    }
  }

  /// Whether an arrival is let through though the upstream is silent.
  mutating func letsThrough(at now: MonotonicTime) -> Bool {
    guard now.seconds(since: lastThrough) >= Self.interval else { return false }
    lastThrough = now
    return true
  }
}
