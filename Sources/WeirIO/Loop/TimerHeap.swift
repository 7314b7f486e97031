/// The pending timers of a loop, earliest first: a 4-ary heap whose timers know their place, so that cancelling one
/// costs a sift and leaves nothing behind.
struct TimerHeap {
  private var entries: [LoopTimer] = []

  var count: Int { entries.count }
  var earliest: MonotonicTime? { entries.first?.due }

  mutating func insert(_ timer: LoopTimer) {
    timer.slot = entries.count
    entries.append(timer)
    siftUp(from: timer.slot)
  }

  mutating func remove(_ timer: LoopTimer) {
    let slot = timer.slot
    guard slot >= 0, slot < entries.count, entries[slot] === timer else { return }
    timer.slot = -1
    let last = entries.removeLast()
    guard last !== timer else { return }
    place(last, at: slot)
    siftUp(from: slot)
    siftDown(from: last.slot)
  }

  /// Restores the order after a timer that is in the heap got another due time.
  mutating func update(_ timer: LoopTimer) {
    siftUp(from: timer.slot)
    siftDown(from: timer.slot)
  }

  mutating func popDue(at now: MonotonicTime) -> LoopTimer? {
    guard let first = entries.first, first.due <= now else { return nil }
    remove(first)
    return first
  }

  private mutating func place(_ timer: LoopTimer, at slot: Int) {
    entries[slot] = timer
    timer.slot = slot
  }

  private mutating func siftUp(from start: Int) {
    var slot = start
    let timer = entries[slot]
    while slot > 0 {
      let parent = (slot - 1) / 4
      guard timer.due < entries[parent].due else { break }
      place(entries[parent], at: slot)
      slot = parent
    }
    place(timer, at: slot)
  }

  private mutating func siftDown(from start: Int) {
    var slot = start
    let timer = entries[slot]
    while true {
      let first = slot * 4 + 1
      guard first < entries.count else { break }
      var least = first
      for child in (first + 1)..<max(first + 1, min(first + 4, entries.count))
      where entries[child].due < entries[least].due {
        least = child
      }
      guard entries[least].due < timer.due else { break }
      place(entries[least], at: slot)
      slot = least
    }
    place(timer, at: slot)
  }
}
