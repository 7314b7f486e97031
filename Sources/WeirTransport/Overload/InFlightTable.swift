import WeirIO

/// The attempts that the overload control knows of one destination: those that wait, by priority and then in the order
/// of arrival; those on the wire, in the order in which they were sent; and the work that callers have left to the
/// upstream.
///
/// A change costs the same however many attempts there are, save for the two heaps, where it costs the logarithm of
/// their number.
struct InFlightTable: Sendable {
  typealias Ticket = InFlightRecords.Ticket

  static let priorities = 8

  /// Attempts and abandoned work that count against the limit.
  private(set) var counted = 0
  private(set) var waiting = 0

  private var records = InFlightRecords()
  private var queues = [InFlightRecords.Chain](repeating: InFlightRecords.Chain(), count: priorities)
  /// A bit for each queue that is not empty.
  private var occupied: UInt8 = 0
  private var bounds = DueHeap()
  private var wire = InFlightRecords.Chain()
  /// Attempts on the wire that do not count any more.
  private var aside = InFlightRecords.Chain()
  private var work = DueHeap()

  var onWire: Int { wire.count + aside.count }

  // MARK: Waiting

  /// Attempts that wait with the same or a higher priority.
  func waiting(upTo priority: Int) -> Int {
    if waiting == 0 { return 0 }
    return queues[...priority].reduce(0) { $0 + $1.count }
  }

  /// The earliest end of a wait.
  var firstBound: MonotonicTime? { bounds.first?.due }

  /// When the attempt arrived that has waited longest; nil when none waits.
  var oldestArrival: MonotonicTime? {
    if waiting == 0 { return nil }
    return queues.reduce(MonotonicTime.distantFuture) { oldest, queue in
      queue.first.map { min(oldest, records[$0].arrived) } ?? oldest
    }
  }

  mutating func wait(_ priority: Int, until bound: MonotonicTime, at now: MonotonicTime) -> Ticket {
    let place = records.take(at: now)
    records[place].stage = .waiting
    records[place].priority = UInt8(priority)
    records.append(place, to: &queues[priority])
    occupied |= 1 << priority
    waiting += 1
    bounds.insert(place, due: bound, in: &records)
    return records.ticket(place)
  }

  /// Removes an attempt whose wait has ended by now.
  mutating func popOverdue(at now: MonotonicTime) -> Ticket? {
    guard let first = bounds.first, first.due <= now else { return nil }
    return pop(first.place)
  }

  /// Removes the attempt that would be served next.
  mutating func popFirst() -> Ticket? { firstWaiting.map { pop($0) } }

  /// Puts the attempt on the wire that is to be served next.
  mutating func sendFirst(at now: MonotonicTime) -> Ticket? {
    guard let place = firstWaiting else { return nil }
    leaveRoom(place)
    enterWire(place, at: now)
    return records.ticket(place)
  }

  /// Removes an attempt that waits. Returns when it had arrived; nil if it does not wait.
  mutating func leave(_ ticket: Ticket) -> MonotonicTime? {
    guard let place = records.place(ticket), records[place].stage == .waiting else { return nil }
    let arrived = records[place].arrived
    _ = pop(place)
    return arrived
  }

  private var firstWaiting: Int? { occupied == 0 ? nil : queues[occupied.trailingZeroBitCount].first }

  private mutating func pop(_ place: Int) -> Ticket {
    let ticket = records.ticket(place)
    leaveRoom(place)
    records.free(place)
    return ticket
  }

  private mutating func leaveRoom(_ place: Int) {
    let priority = Int(records[place].priority)
    bounds.remove(place, in: &records)
    records.remove(place, from: &queues[priority])
    if queues[priority].count == 0 { occupied &= ~(1 << priority) }
    waiting -= 1
  }

  // MARK: On the wire

  mutating func send(at now: MonotonicTime) -> Ticket {
    let place = records.take(at: now)
    enterWire(place, at: now)
    return records.ticket(place)
  }

  /// The attempt on the wire as it was sent; nil if it is not there.
  func sent(_ ticket: Ticket) -> InFlightRecords.Record? { records.place(ticket).flatMap(sent) }

  /// Takes an attempt off the wire; nil if it is not there.
  mutating func end(_ ticket: Ticket) -> InFlightRecords.Record? {
    guard let place = records.place(ticket), let sent = sent(place) else { return nil }
    leaveWire(place)
    records.free(place)
    return sent
  }

  /// The request's body is on its way: the attempt does not count until it has been sent.
  ///
  /// Returns whether it counted before.
  mutating func uploads(_ ticket: Ticket) -> Bool {
    guard let place = records.place(ticket), records[place].stage == .counted else { return false }
    setAside(place)
    return true
  }

  /// The request has been sent as a whole: the attempt counts from now on.
  ///
  /// Returns whether it did not count before.
  mutating func hasUploaded(_ ticket: Ticket, at now: MonotonicTime) -> Bool {
    guard let place = records.place(ticket), records[place].stage == .uncounted else { return false }
    leaveWire(place)
    enterWire(place, at: now)
    return true
  }

  /// Whether an attempt that counts was sent before that time.
  func hasSent(before time: MonotonicTime) -> Bool { wire.first.map { records[$0].sent < time } ?? false }

  /// Attempts that count and were sent before that time.
  func onWire(sentBefore time: MonotonicTime) -> Int {
    var (count, place) = (0, wire.first)
    while let each = place, records[each].sent < time {
      count += 1
      place = records.next(each)
    }
    return count
  }

  /// Attempts sent before `bound` no longer count once an attempt that was sent after them has its head.
  mutating func setAside(overtakenBy latest: MonotonicTime, sentBefore bound: MonotonicTime) {
    let bound = min(latest, bound)
    while let place = wire.first, records[place].sent < bound { setAside(place) }
  }

  private func sent(_ place: Int) -> InFlightRecords.Record? {
    let record = records[place]
    return record.stage == .uncounted || record.isCounted ? record : nil
  }

  private mutating func enterWire(_ place: Int, at now: MonotonicTime) {
    records[place].stage = .counted
    records[place].sent = now
    records.append(place, to: &wire)
    counted += 1
  }

  private mutating func setAside(_ place: Int) {
    leaveWire(place)
    records[place].stage = .uncounted
    records.append(place, to: &aside)
  }

  private mutating func leaveWire(_ place: Int) {
    guard records[place].stage == .counted else { return records.remove(place, from: &aside) }
    records.remove(place, from: &wire)
    counted -= 1
  }

  // MARK: Abandoned work

  /// The earliest end of abandoned work.
  var firstWorkEnd: MonotonicTime? { work.first?.due }

  /// Takes an attempt off the wire whose caller has left. If it counted, it counts on until the upstream's work for it
  /// ends.
  ///
  /// - Parameter maximum: The number of abandoned attempts beyond which no further one counts.
  mutating func abandon(_ ticket: Ticket, workEnds end: MonotonicTime, at now: MonotonicTime, maximum: Int) {
    guard let place = records.place(ticket), let sent = sent(place) else { return }
    leaveWire(place)
    guard sent.isCounted, end > now, work.count < maximum else { return records.free(place) }
    records[place].stage = .abandoned
    counted += 1
    work.insert(place, due: end, in: &records)
  }

  /// Removes the work that ends first; it counts no more.
  mutating func popWork() {
    guard let first = work.first else { return }
    work.remove(first.place, in: &records)
    records.free(first.place)
    counted -= 1
  }
}
