import Synchronization

/// The most memory that the process has, as seen from time to time.
package final class MemoryPeak: Sendable {
  private let before: Int
  private let most: Mutex<Int>

  package init() throws {
    before = try ThisProcess.residentBytes
    most = Mutex(0)
  }

  /// How much more it was than in the beginning; the largest number there is when nobody has looked.
  package var growth: Int { most.withLock { $0 == 0 ? .max : $0 - before } }

  package func note() {
    guard let now = try? ThisProcess.residentBytes else { return }
    most.withLock { $0 = max($0, now) }
  }
}
