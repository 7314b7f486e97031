/// Decides which scrape waits for which page, and which page is written next.
///
/// Identical scrapes share one rendering, but never one that began before they came: a page is never older than the
/// request for it. So at most one rendering of a variant is under way and one waits.
struct ScrapeQueue: Sendable {
  typealias Waiter = Int
  typealias Variant = ScrapeRequest.Variant

  /// A page that is being written, or will be.
  struct Rendering: Hashable, Sendable {
    let id: Int
    let variant: Variant
  }

  private struct Entry {
    let rendering: Rendering
    var isRunning = false
    var waiters: [Waiter]
  }

  private let waiterLimit: Int
  private let width: Int
  /// The pages that are being written, and those that will be in this order.
  private var entries: [Entry] = []
  private var nextID = 0
  private(set) var waiterCount = 0

  /// - Parameters:
  ///   - waiterLimit: the number of scrapes that may wait at once.
  ///   - width: the number of pages that may be written at once.
  init(waiterLimit: Int, width: Int) {
    self.waiterLimit = max(1, waiterLimit)
    self.width = max(1, width)
  }

  /// Takes a scrape in; returns false if too many wait already.
  mutating func add(_ waiter: Waiter, for variant: Variant) -> Bool {
    guard waiterCount < waiterLimit else { return false }
    waiterCount += 1
    if let index = entries.firstIndex(where: { !$0.isRunning && $0.rendering.variant == variant }) {
      entries[index].waiters.append(waiter)
    } else {
      entries.append(Entry(rendering: Rendering(id: nextID, variant: variant), waiters: [waiter]))
      nextID += 1
    }
    return true
  }

  /// The page to write now, if there is one and a writer is free. After each change, call it again until it returns
  /// nil.
  mutating func start() -> Rendering? {
    let running = entries.filter(\.isRunning).map(\.rendering.variant)
    guard running.count < width,
      let index = entries.firstIndex(where: { !$0.isRunning && !running.contains($0.rendering.variant) })
    else { return nil }
    entries[index].isRunning = true
    return entries[index].rendering
  }

  /// Ends a rendering. Returns the scrapes that still wait for it, in the order in which they came.
  mutating func finish(_ rendering: Rendering) -> [Waiter] {
    guard let index = entries.firstIndex(where: { $0.isRunning && $0.rendering.id == rendering.id }) else { return [] }
    let waiters = entries.remove(at: index).waiters
    waiterCount -= waiters.count
    return waiters
  }

  /// Removes a scrape that waits no longer: its time is up or its client has gone. A page without a waiting scrape
  /// isn't begun; one that has begun can't be stopped.
  mutating func remove(_ waiter: Waiter) {
    for index in entries.indices {
      guard let position = entries[index].waiters.firstIndex(of: waiter) else { continue }
      entries[index].waiters.remove(at: position)
      waiterCount -= 1
      if entries[index].waiters.isEmpty, !entries[index].isRunning { entries.remove(at: index) }
      return
    }
  }
}
