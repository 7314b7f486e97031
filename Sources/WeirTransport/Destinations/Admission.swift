import Synchronization
package import WeirIO

/// Limits the attempts on the wire to one destination: a number of slots and a bounded first-in, first-out queue. A
/// value; the shell keeps it under a lock and wakes the waiters that it admits.
///
/// A transfer that waits for the caller's code is *parked*: it keeps its connection and gives up its slot, so that this
/// code can use the same destination. To continue it needs a slot again, and gets one before the attempts that never
/// had one. There are thus never more than `slots` transfers under way, nor more than `maximumParked` beside them.
///
/// A response whose receiver is slow *drains*. It counts as parked, and never needs a slot again. So that there is always
/// room for another one, the slowest receiver is given up.
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

  private(set) var slots: Int
  let maximumWaiting: Int
  private(set) var maximumParked: Int
  private(set) var taken = 0
  private var waitingForCaller = 0
  private var readers = SlowReaders()
  private var queue = Deque<Entry>()
  /// Waiters that had a slot before; at most as many as there are slots and parked transfers.
  private var returning = Deque<Entry>()
  private var nextTicket: Ticket = 0
  /// Tickets that left the queue early and are skipped when their turn comes.
  private var withdrawn: Set<Ticket> = []
  /// Entries that left a queue, until the shell takes them. Their waiters hold objects of the caller, which must not be
  /// deallocated under the shell's lock.
  private var departed: [Entry] = []
  /// The capacity of the queue that is kept without entries.
  private static var idleCapacity: Int { 16 }

  init(slots: Int, maximumWaiting: Int, maximumParked: Int = TransportLimits.usualParked) {
    self.slots = max(1, slots)
    self.maximumWaiting = max(0, maximumWaiting)
    self.maximumParked = max(0, maximumParked)
  }

  /// Takes other limits. Attempts that have more slots than there are keep them. Returns the entries that get slots now.
  mutating func resize(slots: Int, maximumParked: Int) -> [Entry] {
    self.slots = max(1, slots)
    self.maximumParked = max(0, maximumParked)
    var admitted: [Entry] = []
    while let entry = letThrough() { admitted.append(entry) }
    return admitted
  }

  /// Transfers without a slot that have their connections.
  var parked: Int { waitingForCaller + readers.count }

  var waiting: Int { queue.count - withdrawn.count }

  var hasFreeSlot: Bool { taken < slots }

  /// Takes a slot, or a place in the queue.
  mutating func ask(_ waiter: @autoclosure () -> Waiter) -> Answer {
    if take() { return .admitted }
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

  /// Takes a slot again, or a place in the queue of returning transfers; never refused.
  mutating func askAgain(_ waiter: @autoclosure () -> Waiter) -> Answer {
    if take() { return .admitted }
    nextTicket += 1
    returning.append(Entry(ticket: nextTicket, waiter: waiter()))
    return .waiting(nextTicket)
  }

  /// Gives a slot back. Returns the next entry, which takes the slot and must be told.
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
    defer { dropIdleCapacity() }
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

  private mutating func dropIdleCapacity() {
    guard queue.isEmpty else { return }
    if queue.capacity > Self.idleCapacity { queue = Deque() }
    if withdrawn.capacity > Self.idleCapacity { withdrawn = [] }
  }

  /// Gives a slot back while the transfer is parked. When too many transfers are parked, it is refused and keeps its
  /// slot.
  mutating func park() -> (isParked: Bool, next: Entry?) {
    guard parked < maximumParked else { return (false, nil) }
    waitingForCaller += 1
    return (true, release())
  }

  /// A parked transfer has its slot again, or has ended.
  mutating func unpark() {
    waitingForCaller -= 1
  }

  /// Gives a slot back for good, as the response drains to its slow reader. Returns the readers that are to be ended, as
  /// there are too many; if the new one is among them, its transfer keeps the slot until its end.
  mutating func drain(to reader: SlowReader) -> (next: Entry?, ended: [SlowReader]) {
    readers.add(reader)
    var ended: [SlowReader] = []
    while parked > maximumParked, let slowest = readers.removeSlowest() { ended.append(slowest) }
    return (ended.contains { $0 === reader } ? nil : release(), ended)
  }

  /// The transfer to a slow reader has ended.
  mutating func forget(_ reader: SlowReader) { readers.remove(reader) }

  /// Leaves the queue. A ticket that was admitted already is no longer in it; its slot is given back like any other.
  mutating func withdraw(_ ticket: Ticket) {
    guard let first = queue.first, ticket >= first.ticket else { return }
    withdrawn.insert(ticket)
    if withdrawn.count > 64, withdrawn.count > queue.count / 2 { sweep() }
  }

  /// Leaves the queue of returning transfers.
  mutating func withdrawAgain(_ ticket: Ticket) {
    departed += returning.removeAll { $0.ticket == ticket }
  }

  /// Returns the entries that have left since the last call.
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

/// The receiver of a response that drains without a slot: how much it takes, and how it is ended.
package final class SlowReader: Sendable {
  /// Ends the reader's exchange: by posting a job to its loop, never at once.
  let end: @Sendable () -> Void
  private let bytes: Atomic<Int>

  /// - Parameters:
  ///   - recent: The bytes that it took in the last seconds (``RecentBytes``).
  ///   - end: Called on any thread, at most once.
  package init(recent: Int, end: @escaping @Sendable () -> Void) {
    bytes = Atomic(recent)
    self.end = end
  }

  /// The bytes that it took in the last seconds.
  package var recent: Int {
    get { bytes.load(ordering: .relaxed) }
    set { bytes.store(newValue, ordering: .relaxed) }
  }
}

/// The slow readers of one destination. A value; the shell keeps it under a lock.
struct SlowReaders: Sendable {
  private var places: [ObjectIdentifier: (reader: SlowReader, number: UInt64)] = [:]
  private var lastNumber: UInt64 = 0

  var count: Int { places.count }

  mutating func add(_ reader: SlowReader) {
    lastNumber += 1
    places[ObjectIdentifier(reader)] = (reader, lastNumber)
  }

  mutating func remove(_ reader: SlowReader) { places[ObjectIdentifier(reader)] = nil }

  /// Takes out the reader that took least in the last seconds; among equal ones, the one that came first.
  mutating func removeSlowest() -> SlowReader? {
    let slowest = places.min { ($0.value.reader.recent, $0.value.number) < ($1.value.reader.recent, $1.value.number) }
    return slowest.flatMap { places.removeValue(forKey: $0.key)?.reader }
  }
}

/// The bytes that a receiver took in the last five seconds, by looks at their sum once a second. A value.
package struct RecentBytes: Sendable {
  /// Seconds.
  package static let window = 5
  package static let interval = 1.0

  /// The sums at the last looks, the oldest first.
  private var sums: [Int]

  /// - Parameters:
  ///   - sum: The bytes that were taken since `began`. What was taken longer ago than the window counts by its mean rate.
  package init(sum: Int, since began: MonotonicTime, at now: MonotonicTime) {
    let seconds = max(now.seconds(since: began), Double(Self.window))
    let before = sum - Int(Double(sum) / seconds * Double(Self.window))
    // As if they had been taken evenly.
    sums = (0...Self.window).map { before + (sum - before) * $0 / Self.window }
  }

  /// Another second has passed.
  package mutating func look(sum: Int) {
    sums.removeFirst()
    sums.append(max(sum, sums.last ?? 0))
  }

  package var count: Int { (sums.last ?? 0) - (sums.first ?? 0) }
}
