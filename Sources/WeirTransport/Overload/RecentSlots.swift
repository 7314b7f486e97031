import WeirIO

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
