import WeirIO

/// Who may put an attempt on the wire to one destination: a number of slots and a bounded queue, first come, first
/// served. A value; the shell keeps it under a lock and wakes those whom it lets through.
///
/// A transfer that waits for the caller's code is *parked*: it keeps its connection and gives up its slot, so that this
/// code can use the same destination. To go on it needs a slot again, and gets it before those who never had one; so
/// there are never more than `slots` transfers under way, nor more than `maximumParked` beside them.
struct Admission<Waiter: Sendable>: Sendable {
  typealias Ticket = UInt64

  struct Entry: Sendable {
    let ticket: Ticket
    let waiter: Waiter
  }

  enum Answer: Equatable {
    case admitted
    case waiting(Ticket)
    case queueFull
  }

  enum Parking {
    case parked(next: Entry?)
    case refused
  }

  private(set) var slots: Int
  let maximumWaiting: Int
  let maximumParked: Int
  private(set) var taken = 0
  private(set) var parked = 0
  private var queue = Deque<Entry>()
  /// Who had a slot before; at most as many as there are slots and parked transfers.
  private var returning = Deque<Entry>()
  private var nextTicket: Ticket = 0
  /// Tickets that left the queue early and are skipped when their turn comes.
  private var withdrawn: Set<Ticket> = []
  /// Who left, until the shell takes them: their waiters hold the caller's objects, which must not end under its lock.
  private var departed: [Entry] = []

  init(slots: Int, maximumWaiting: Int, maximumParked: Int = 256) {
    self.slots = max(1, slots)
    self.maximumWaiting = max(0, maximumWaiting)
    self.maximumParked = max(0, maximumParked)
  }

  var waiting: Int { queue.count - withdrawn.count }

  /// Takes a slot, or a place in the queue.
  mutating func ask(_ waiter: @autoclosure () -> Waiter) -> Answer {
    if taken < slots {
      taken += 1
      return .admitted
    }
    guard waiting < maximumWaiting else { return .queueFull }
    nextTicket += 1
    queue.append(Entry(ticket: nextTicket, waiter: waiter()))
    return .waiting(nextTicket)
  }

  /// Takes a slot if one is free.
  mutating func take() -> Bool {
    guard taken < slots else { return false }
    taken += 1
    return true
  }

  /// Takes a slot again, or a place among those who had one; never refused.
  mutating func askAgain(_ waiter: @autoclosure () -> Waiter) -> Answer {
    if taken < slots {
      taken += 1
      return .admitted
    }
    nextTicket += 1
    returning.append(Entry(ticket: nextTicket, waiter: waiter()))
    return .waiting(nextTicket)
  }

  /// There are so many slots from now on; who has one keeps it. Those who get one are to be told.
  mutating func resize(to slots: Int) -> [Entry] {
    self.slots = max(1, slots)
    var entries: [Entry] = []
    while let entry = letThrough() { entries.append(entry) }
    return entries
  }

  /// Gives a slot back; whoever is next takes it and is to be told.
  mutating func release() -> Entry? {
    taken -= 1
    return letThrough()
  }

  private mutating func letThrough() -> Entry? {
    guard taken < slots else { return nil }
    if let entry = returning.popFirst() {
      taken += 1
      return entry
    }
    while let entry = queue.popFirst() {
      if withdrawn.remove(entry.ticket) != nil {
        departed.append(entry)
        continue
      }
      taken += 1
      return entry
    }
    return nil
  }

  /// Gives a slot back for as long as the transfer is parked; refused when too many are: it keeps its slot.
  mutating func park() -> Parking {
    guard parked < maximumParked else { return .refused }
    parked += 1
    return .parked(next: release())
  }

  /// A parked transfer has its slot again, or has ended.
  mutating func unpark() {
    parked -= 1
  }

  /// Leaves the queue. A ticket that was let through already is no longer in it: its slot is given back as any other.
  mutating func withdraw(_ ticket: Ticket) {
    guard let first = queue.first, ticket >= first.ticket else { return }
    withdrawn.insert(ticket)
    if withdrawn.count > 64, withdrawn.count > queue.count / 2 { sweep() }
  }

  /// The same for one who asked again.
  mutating func withdrawAgain(_ ticket: Ticket) {
    departed += returning.removeAll { $0.ticket == ticket }
  }

  /// Who left since the last time.
  mutating func takeDeparted() -> [Entry] {
    if departed.isEmpty { return [] }
    defer { departed = [] }
    return departed
  }

  private mutating func sweep() {
    let gone = withdrawn
    departed += queue.removeAll { gone.contains($0.ticket) }
    withdrawn = []
  }
}
