import WeirIO

/// An attempt's share of its destination's slots: a slot it holds, or a ticket for one.
///
/// Without a destination there is no slot to count, and every question is granted. Such an attempt fails soon for want
/// of a host.
struct SlotLease {
  enum Answer {
    case granted, waiting, queueFull
  }

  let destination: DestinationState?
  private var ticket: Ticket?
  /// When a slot was last asked for, and when that slot was granted.
  private var asked: MonotonicTime?
  private(set) var grantedAt: MonotonicTime?

  private enum Ticket {
    case first(UInt64)
    case again(UInt64)
  }

  init(_ destination: DestinationState?) {
    self.destination = destination
  }

  /// Seconds from the last question for a slot to the answer, or to `now`; nil when the attempt never asked.
  func waited(until now: MonotonicTime) -> Double? { asked.map { (grantedAt ?? now).seconds(since: $0) } }

  /// Asks for a first slot. If the attempt has to wait, `waiter` is called once the slot is there.
  ///
  /// - Parameter start: Nil when the request counts as started already.
  /// - Returns: The answer, and whether the asker is to report the destination's retry budget from now on.
  mutating func ask(
    _ start: DestinationState.Start?, at now: MonotonicTime, _ waiter: @autoclosure () -> DestinationState.Waiter
  ) -> (answer: Answer, beginsWatch: Bool) {
    asked = now
    grantedAt = nil
    guard let destination else { return (.granted, false) }
    let (answer, beginsWatch) = destination.ask(start, at: now, waiter())
    switch answer {
    case .admitted: return (.granted, beginsWatch)
    case .queueFull: return (.queueFull, beginsWatch)
    case .waiting(let ticket):
      self.ticket = .first(ticket)
      return (.waiting, beginsWatch)
    }
  }

  /// Asks for a slot ahead of the attempts that never had one; true when it is granted at once.
  mutating func askAgain(_ waiter: @autoclosure () -> DestinationState.Waiter) -> Bool {
    guard case .waiting(let ticket)? = destination?.askAgain(waiter()) else { return true }
    self.ticket = .again(ticket)
    asked = .now
    grantedAt = nil
    return false
  }

  mutating func withdraw() {
    let ticket = ticket
    self.ticket = nil
    switch ticket {
    case .first(let ticket)?: destination?.withdraw(ticket)
    case .again(let ticket)?: destination?.withdrawAgain(ticket)
    case nil: break
    }
  }

  /// The slot that was asked for is there.
  mutating func granted(at now: MonotonicTime) {
    ticket = nil
    grantedAt = now
  }

  func release() { destination?.release() }

  /// Gives the slot up and keeps the connection; false when too many connections of the destination are parked.
  func park() -> Bool { destination?.park() ?? false }

  /// The connection is no longer parked.
  func unpark() { destination?.unpark() }
}
