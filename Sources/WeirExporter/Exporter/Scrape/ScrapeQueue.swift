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
    var waiters: [Waiter]
  }

  private let waiterLimit: Int
  private let width: Int
  private var queued: [Entry] = []
  private var running: [Entry] = []
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
    if let index = queued.firstIndex(where: { $0.rendering.variant == variant }) {
      queued[index].waiters.append(waiter)
    } else {
      queued.append(Entry(rendering: Rendering(id: nextID, variant: variant), waiters: [waiter]))
      nextID += 1
    }
    return true
  }

  /// The page to write now, if there is one and a writer is free. After each change, call it again until it returns
  /// nil.
  mutating func start() -> Rendering? {
    guard running.count < width, let index = queued.firstIndex(where: { !isRunning($0.rendering.variant) }) else {
      return nil
    }
    let entry = queued.remove(at: index)
    running.append(entry)
    return entry.rendering
  }

  /// Ends a rendering. Returns the scrapes that still wait for it, in the order in which they came.
  mutating func finish(_ rendering: Rendering) -> [Waiter] {
    guard let index = running.firstIndex(where: { $0.rendering.id == rendering.id }) else { return [] }
    let waiters = running.remove(at: index).waiters
    waiterCount -= waiters.count
    return waiters
  }

  /// Removes a scrape that waits no longer: its time is up or its client has gone. A page without a waiting scrape
  /// isn't begun; one that has begun can't be stopped.
  mutating func remove(_ waiter: Waiter) {
    if Self.remove(waiter, from: &queued) {
      queued.removeAll { $0.waiters.isEmpty }
      waiterCount -= 1
    } else if Self.remove(waiter, from: &running) {
      waiterCount -= 1
    }
  }

  private func isRunning(_ variant: Variant) -> Bool {
    running.contains { $0.rendering.variant == variant }
  }

  private static func remove(_ waiter: Waiter, from entries: inout [Entry]) -> Bool {
    for index in entries.indices {
      guard let position = entries[index].waiters.firstIndex(of: waiter) else { continue }
      entries[index].waiters.remove(at: position)
      return true
    }
    return false
  }
}
