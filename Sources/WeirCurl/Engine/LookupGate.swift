internal import WeirIO

/// Bounds the name lookups that run at once, as each is a thread of libcurl's. First come, first served.
struct LookupGate<Waiter: AnyObject> {
  private let limit: Int
  private(set) var running = 0
  private var waiters = Deque<Waiter>()

  init(limit: Int) {
    self.limit = max(1, limit)
  }

  /// Whether a lookup may start now; then it counts until `end`.
  mutating func begin() -> Bool {
    guard running < limit else { return false }
    running += 1
    return true
  }

  mutating func end() {
    running = max(0, running - 1)
  }

  mutating func postpone(_ waiter: Waiter) {
    waiters.append(waiter)
  }

  /// The next waiter for whom there is room; it counts from now on, so that no newcomer takes its place.
  mutating func next() -> Waiter? {
    guard running < limit, let waiter = waiters.popFirst() else { return nil }
    running += 1
    return waiter
  }
}
