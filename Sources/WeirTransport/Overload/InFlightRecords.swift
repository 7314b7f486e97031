import WeirIO

/// The records of attempts, in one array with the unused places linked, so that a record costs no allocation of its
/// own.
struct InFlightRecords: Sendable {
  struct Ticket: Hashable, Sendable {
    fileprivate let place: Int32
    /// Tells the record from a later one at the same place.
    fileprivate let number: UInt32
  }

  enum Stage: UInt8, Sendable {
    case unused
    case waiting
    /// On the wire; counts against the limit.
    case counted
    /// On the wire without counting: its request's body is on its way, or a later attempt has overtaken it.
    case uncounted
    /// The caller has left and the upstream still works for it; counts against the limit.
    case abandoned
  }

  struct Record: Sendable {
    fileprivate(set) var number: UInt32 = 0
    var stage = Stage.unused
    var priority: UInt8 = 0
    /// The place in the heap that orders it by time.
    var heapPlace: Int32 = 0
    fileprivate var previous: Int32 = none
    fileprivate var next: Int32 = none
    var arrived = MonotonicTime(nanoseconds: 0)
    var sent = MonotonicTime(nanoseconds: 0)

    /// Whether it is on the wire and counts against the limit.
    var isCounted: Bool { stage == .counted }
  }

  /// A list of records in the order in which they were appended.
  struct Chain: Sendable {
    fileprivate var head: Int32 = none
    fileprivate var tail: Int32 = none
    fileprivate(set) var count = 0

    /// The place of the first.
    var first: Int? { head == none ? nil : Int(head) }
  }

  fileprivate static let none: Int32 = -1
  /// The capacity that is kept without attempts.
  private static let idleCapacity = 16

  private var records: [Record] = []
  private var firstUnused: Int32 = none
  private var used = 0
  private var number: UInt32 = 0

  subscript(place: Int) -> Record {
    _read { yield records[place] }
    _modify { yield &records[place] }
  }

  func ticket(_ place: Int) -> Ticket { Ticket(place: Int32(place), number: records[place].number) }

  /// The place of the record; nil if it was freed.
  func place(_ ticket: Ticket) -> Int? {
    let place = Int(ticket.place)
    guard place < records.count, records[place].number == ticket.number else { return nil }
    return place
  }

  /// The place of the next record in its chain.
  func next(_ place: Int) -> Int? { records[place].next == Self.none ? nil : Int(records[place].next) }

  mutating func take(at now: MonotonicTime) -> Int {
    // A free record has the number 0, which no ticket has.
    number = number == .max ? 1 : number + 1
    used += 1
    let place: Int
    if firstUnused == Self.none {
      place = records.count
      records.append(Record())
    } else {
      place = Int(firstUnused)
      firstUnused = records[place].next
    }
    records[place].number = number
    records[place].arrived = now
    return place
  }

  mutating func free(_ place: Int) {
    used -= 1
    if used == 0, records.count > Self.idleCapacity {
      records = []
      firstUnused = Self.none
    } else {
      records[place] = Record()
      records[place].next = firstUnused
      firstUnused = Int32(place)
    }
  }

  mutating func append(_ place: Int, to chain: inout Chain) {
    records[place].previous = chain.tail
    records[place].next = Self.none
    if chain.tail == Self.none { chain.head = Int32(place) } else { records[Int(chain.tail)].next = Int32(place) }
    chain.tail = Int32(place)
    chain.count += 1
  }

  mutating func remove(_ place: Int, from chain: inout Chain) {
    let (previous, next) = (records[place].previous, records[place].next)
    if previous == Self.none { chain.head = next } else { records[Int(previous)].next = next }
    if next == Self.none { chain.tail = previous } else { records[Int(next)].previous = previous }
    chain.count -= 1
  }
}

/// Records by the time at which something is due for them, the earliest first. Each record knows its place in the heap,
/// so that one that leaves early is removed and leaves nothing behind.
struct DueHeap: Sendable {
  struct Entry: Sendable {
    let due: MonotonicTime
    /// The place of the record.
    let place: Int
  }

  /// The capacity that is kept without entries.
  private static let idleCapacity = 16

  private var entries: [Entry] = []

  var count: Int { entries.count }
  var first: Entry? { entries.first }

  mutating func insert(_ place: Int, due: MonotonicTime, in records: inout InFlightRecords) {
    entries.append(Entry(due: due, place: place))
    moveUp(from: entries.count - 1, in: &records)
  }

  mutating func remove(_ place: Int, in records: inout InFlightRecords) {
    let index = Int(records[place].heapPlace)
    let last = entries.removeLast()
    if index < entries.count {
      entries[index] = last
      moveDown(from: moveUp(from: index, in: &records), in: &records)
    }
    if entries.isEmpty, entries.capacity > Self.idleCapacity { entries = [] }
  }

  /// Returns where the entry has come to lie.
  @discardableResult
  private mutating func moveUp(from start: Int, in records: inout InFlightRecords) -> Int {
    var index = start
    let entry = entries[index]
    while index > 0, entry.due < entries[(index - 1) / 2].due {
      put(entries[(index - 1) / 2], at: index, in: &records)
      index = (index - 1) / 2
    }
    put(entry, at: index, in: &records)
    return index
  }

  private mutating func moveDown(from start: Int, in records: inout InFlightRecords) {
    var index = start
    let entry = entries[index]
    while true {
      var child = 2 * index + 1
      guard child < entries.count else { break }
      if child + 1 < entries.count, entries[child + 1].due < entries[child].due { child += 1 }
      guard entries[child].due < entry.due else { break }
      put(entries[child], at: index, in: &records)
      index = child
    }
    put(entry, at: index, in: &records)
  }

  private mutating func put(_ entry: Entry, at index: Int, in records: inout InFlightRecords) {
    entries[index] = entry
    records[entry.place].heapPlace = Int32(index)
  }
}
