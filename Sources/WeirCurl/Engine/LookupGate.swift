internal import WeirIO

/// Who may look a name up. Each lookup is a thread of libcurl's that nobody can stop, so there are not more than a number
/// of them at once, and never two for one name: whoever else needs that name waits for the end of the lookup that is
/// under way. Names that wait for a place get one in the order in which they came; a name that hangs takes no more than
/// one place, and while there is another no other name waits for it.
///
/// A value; what it returns is to be acted on by its owner.
struct LookupGate<Waiter> {
  typealias Ticket = UInt64
  /// Those who wait for one name, by their tickets, which ascend.
  private typealias Waiters = [Ticket: Waiter]

  private let limit: Int
  private var underWay: [String: Waiters] = [:]
  private var waiting: [String: Waiters] = [:]
  /// Names without a place; one whose waiters have left is skipped when its turn comes.
  private var queue = Deque<String>()
  private var lastTicket: Ticket = 0

  init(limit: Int) {
    self.limit = max(1, limit)
  }

  /// Lookups that are under way.
  var running: Int { underWay.count }

  /// Whether the name may be looked up now; then that counts until `end`.
  mutating func begin(_ name: String) -> Bool {
    guard underWay.count < limit, underWay[name] == nil else { return false }
    // Who waited for a place finds the lookup under way.
    underWay[name] = waiting.removeValue(forKey: name) ?? [:]
    return true
  }

  /// Has someone wait for the present lookup of the name to end or, if there is none, for a place.
  mutating func wait(_ waiter: Waiter, for name: String) -> Ticket {
    lastTicket += 1
    if underWay[name] != nil {
      underWay[name]?[lastTicket] = waiter
    } else {
      if waiting[name] == nil { enqueue(name) }
      waiting[name, default: [:]][lastTicket] = waiter
    }
    return lastTicket
  }

  /// Takes out one who waits no longer.
  mutating func leave(_ ticket: Ticket, for name: String) {
    underWay[name]?[ticket] = nil
    waiting[name]?[ticket] = nil
    if waiting[name]?.isEmpty == true { waiting[name] = nil }
  }

  /// The lookup of the name has ended; those who waited for it, in their order.
  mutating func end(_ name: String) -> [Waiter] {
    let waiters = underWay.removeValue(forKey: name) ?? [:]
    return waiters.sorted { $0.key < $1.key }.map(\.value)
  }

  /// The first who waits for the next name for which there is a place: that lookup counts from now on, so that no newcomer
  /// takes the place, and the name's other waiters wait for its end.
  mutating func next() -> Waiter? {
    while underWay.count < limit, let name = queue.popFirst() {
      guard var waiters = waiting.removeValue(forKey: name), let first = waiters.keys.min() else { continue }
      let waiter = waiters.removeValue(forKey: first)
      underWay[name] = waiters
      return waiter
    }
    return nil
  }

  private mutating func enqueue(_ name: String) {
    if queue.count > 64 + 2 * waiting.count {
      let wanted = waiting
      queue.removeAll { wanted[$0] == nil }
    }
    queue.append(name)
  }
}
