/// The receiver of a loop's timers that are due.
package protocol TimerHandler: AnyObject {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime)
}

/// A timer that can be armed again and again on one event loop. Confined to that loop.
///
/// While armed, the loop keeps the timer and its handler alive. Cancelling or firing releases both.
package final class LoopTimer {
  @exclusivity(unchecked) private var time = MonotonicTime.distantFuture
  @exclusivity(unchecked) var slot = -1
  /// The time of the turn in which it fired last.
  @exclusivity(unchecked) var lastTurn = MonotonicTime.distantFuture
  @exclusivity(unchecked) var handler: (any TimerHandler)?

  package init() {}

  /// When it fires, or fired last. It is stored under another name, since code in other modules checks each access to a
  /// stored property.
  package internal(set) var due: MonotonicTime {
    get { time }
    set { time = newValue }
  }

  package var isArmed: Bool { slot >= 0 }
}

/// The pending timers of a loop, earliest first. It is a 4-ary heap whose timers know their place, so that cancelling
/// one costs a sift and leaves nothing behind.
struct TimerHeap {
  /// The due time is stored beside its timer, so that comparing two entries touches neither timer.
  private struct Entry {
    var due: MonotonicTime
    let timer: LoopTimer
  }

  private var entries: [Entry] = []

  var count: Int { entries.count }
  var earliest: MonotonicTime? { entries.first?.due }

  mutating func insert(_ timer: LoopTimer) {
    entries.append(Entry(due: timer.due, timer: timer))
    siftUp(from: entries.count - 1)
  }

  mutating func remove(_ timer: LoopTimer) {
    let slot = timer.slot
    guard slot >= 0, slot < entries.count, entries[slot].timer === timer else { return }
    timer.slot = -1
    let last = entries.removeLast()
    guard last.timer !== timer else { return }
    entries[slot] = last
    siftDown(from: siftUp(from: slot))
  }

  /// Restores the order after the due time of a timer in the heap has changed.
  mutating func update(_ timer: LoopTimer) {
    let slot = timer.slot
    guard slot >= 0, slot < entries.count else { return }
    entries[slot].due = timer.due
    siftDown(from: siftUp(from: slot))
  }

  mutating func popDue(at now: MonotonicTime) -> LoopTimer? {
    guard let first = entries.first, first.due <= now else { return nil }
    remove(first.timer)
    return first.timer
  }

  /// Moves an entry towards the front and returns its new place.
  @discardableResult
  private mutating func siftUp(from start: Int) -> Int {
    var slot = start
    while slot > 0 {
      let parent = (slot - 1) / 4
      guard entries[slot].due < entries[parent].due else { break }
      swap(slot, parent)
      slot = parent
    }
    entries[slot].timer.slot = slot
    return slot
  }

  private mutating func siftDown(from start: Int) {
    var slot = start
    while true {
      let first = slot * 4 + 1
      guard first < entries.count else { break }
      var least = first
      for child in (first + 1)..<max(first + 1, min(first + 4, entries.count))
      where entries[child].due < entries[least].due {
        least = child
      }
      guard entries[least].due < entries[slot].due else { break }
      swap(slot, least)
      slot = least
    }
    entries[slot].timer.slot = slot
  }

  /// Swaps the moving entry with another, and tells that other timer its new place.
  private mutating func swap(_ moving: Int, _ other: Int) {
    entries.swapAt(moving, other)
    entries[moving].timer.slot = moving
  }
}
