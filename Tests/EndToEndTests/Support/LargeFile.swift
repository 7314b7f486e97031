import Foundation
import Synchronization
import WeirTestSupport

/// A file that goes up or down whole: as large as is promised with `script/test --large`, else as a machine has time for.
enum LargeFile {
  static let size = ProcessInfo.processInfo.environment["WEIR_TEST_LARGE"] == nil ? 64 << 20 : 1 << 30
}

/// The most memory that the process has, as seen from time to time.
final class MemoryPeak: Sendable {
  private let before: Int
  private let most: Mutex<Int>

  init() throws {
    before = try ThisProcess.residentBytes
    most = Mutex(0)
  }

  /// How much more it was than in the beginning; the largest number there is when nobody has looked.
  var growth: Int { most.withLock { $0 == 0 ? .max : $0 - before } }

  func note() {
    guard let now = try? ThisProcess.residentBytes else { return }
    most.withLock { $0 = max($0, now) }
  }
}
