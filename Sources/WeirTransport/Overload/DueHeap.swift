import WeirIO

/// Records by the time at which something is due for them, the earliest first. Each record knows its place in the heap, so
/// that one that leaves early is removed and leaves nothing behind.
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

  mutating func insert(_ place: Int, due: MonotonicTime, in records: inout AttemptRecords) {
    entries.append(Entry(due: due, place: place))
    moveUp(from: entries.count - 1, in: &records)
  }

  mutating func remove(_ place: Int, in records: inout AttemptRecords) {
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
  private mutating func moveUp(from start: Int, in records: inout AttemptRecords) -> Int {
    var index = start
    let entry = entries[index]
    while index > 0, entry.due < entries[(index - 1) / 2].due {
      put(entries[(index - 1) / 2], at: index, in: &records)
      index = (index - 1) / 2
    }
    put(entry, at: index, in: &records)
    return index
  }

  private mutating func moveDown(from start: Int, in records: inout AttemptRecords) {
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

  private mutating func put(_ entry: Entry, at index: Int, in records: inout AttemptRecords) {
    entries[index] = entry
    records[entry.place].heapPlace = Int32(index)
  }
}
