import WeirIO

/// Who may put an attempt on the wire to one destination: a number of slots and a bounded queue, first come, first
/// served. A value; the shell keeps it under a lock and wakes those whom it lets through.
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

  let slots: Int
  let maximumWaiting: Int
  private(set) var taken = 0
  private var queue = Deque<Entry>()
  private var nextTicket: Ticket = 0
  /// Tickets that left the queue early and are skipped when their turn comes.
  private var withdrawn: Set<Ticket> = []

  init(slots: Int, maximumWaiting: Int) {
    self.slots = max(1, slots)
    self.maximumWaiting = max(0, maximumWaiting)
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

  /// Takes a slot even when there is none: a transfer that gave its slot up while it waited for user code goes on.
  mutating func retake() {
    taken += 1
  }

  /// Gives a slot back; whoever is next takes it and is to be told.
  mutating func release() -> Entry? {
    taken -= 1
    while taken < slots, let entry = queue.popFirst() {
      if withdrawn.remove(entry.ticket) != nil { continue }
      taken += 1
      return entry
    }
    return nil
  }

  /// Leaves the queue. A ticket that was let through already is no longer in it: its slot is given back as any other.
  mutating func withdraw(_ ticket: Ticket) {
    guard let first = queue.first, ticket >= first.ticket else { return }
    withdrawn.insert(ticket)
    if withdrawn.count > 64, withdrawn.count > queue.count / 2 { sweep() }
  }

  private mutating func sweep() {
    let gone = withdrawn
    queue.removeAll { gone.contains($0.ticket) }
    withdrawn = []
  }
}
