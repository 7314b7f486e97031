import WeirIO

/// When one endpoint is checked. A value: times and random numbers are passed in.
///
/// A check is due, waits for its turn, is under way, and has ended; only then the next one may become due. So there are
/// never two checks of one endpoint at once.
struct CheckSchedule: Sendable {
  /// Seconds within which an endpoint is checked first.
  static let longestFirst = 1.0
  /// The part of the interval by which the time between two checks may differ from it.
  static let spread = 0.2

  let interval: Double
  /// When the next check begins; while one is under way, the earliest time for that.
  private(set) var due: MonotonicTime
  private(set) var isUnderWay = false

  /// The endpoint is known from now on.
  ///
  /// - Parameters:
  ///   - interval: Seconds from the begin of one check to that of the next.
  ///   - random: From 0 to 1.
  init(interval: Double, random: Double, at now: MonotonicTime) {
    self.interval = interval
    due = now.advanced(bySeconds: random * Self.longestFirst)
  }

  /// Begins a check. Returns false, and does not, before the check is due and while another one is under way.
  ///
  /// - Parameter random: From 0 to 1.
  mutating func begin(random: Double, at now: MonotonicTime) -> Bool {
    guard !isUnderWay, now >= due else { return false }
    isUnderWay = true
    due = now.advanced(bySeconds: interval * (1 - Self.spread + 2 * Self.spread * random))
    return true
  }

  /// The check has ended. A check that took longer than it may delays the next one.
  mutating func end(at now: MonotonicTime) {
    isUnderWay = false
    due = max(due, now)
  }
}

/// Limits the checks that are under way at once. Further ones wait, the first first. A value.
struct CheckTurns<Key: Hashable & Sendable>: Sendable {
  let limit: Int
  private(set) var underWay: Set<Key> = []
  private var waiting: Set<Key> = []
  /// The order of those that wait, with some that do so no more.
  private var queue = Deque<Key>()

  init(limit: Int) {
    self.limit = limit
  }

  /// The length of the queue, with those that wait no more.
  var length: Int { queue.count }

  /// Asks for a turn. Returns false if the check has to wait until ``next()`` names it.
  mutating func take(_ key: Key) -> Bool {
    if underWay.count < limit {
      underWay.insert(key)
      return true
    }
    if waiting.insert(key).inserted { queue.append(key) }
    return false
  }

  /// The check has ended, or is not wanted any more.
  mutating func leave(_ key: Key) {
    underWay.remove(key)
    guard waiting.remove(key) != nil, queue.count > 2 * waiting.count + limit else { return }
    let waiting = waiting
    queue.removeAll { !waiting.contains($0) }
  }

  /// Gives a turn to the check that has waited longest; nil if there is none, or no turn.
  mutating func next() -> Key? {
    while underWay.count < limit, let key = queue.popFirst() {
      guard waiting.remove(key) != nil else { continue }
      underWay.insert(key)
      return key
    }
    return nil
  }
}
