/// Who waits for which page, and which page is written next.
///
/// Identical scrapes share one rendering, but never one that has begun before they came: a page is never older than
/// the request for it. So of one variant at most one rendering is under way and one waits.
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
  ///   - waiterLimit: how many scrapes may wait at once.
  ///   - width: how many pages may be written at once.
  init(waiterLimit: Int, width: Int) {
    self.waiterLimit = max(1, waiterLimit)
    self.width = max(1, width)
  }

  /// Takes a scrape in; false when too many wait already.
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

  /// The page to write now, if there is one and a writer is free. Ask again until nil, after each change.
  mutating func start() -> Rendering? {
    guard running.count < width, let index = queued.firstIndex(where: { !isRunning($0.rendering.variant) }) else {
      return nil
    }
    let entry = queued.remove(at: index)
    running.append(entry)
    return entry.rendering
  }

  /// A page is written; gives those who still wait for it, in the order they came.
  mutating func finish(_ rendering: Rendering) -> [Waiter] {
    guard let index = running.firstIndex(where: { $0.rendering.id == rendering.id }) else { return [] }
    let waiters = running.remove(at: index).waiters
    waiterCount -= waiters.count
    return waiters
  }

  /// A scrape waits no longer: its time is up or its client has gone. A page that nobody waits for isn't begun; one that
  /// has begun can't be stopped.
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
