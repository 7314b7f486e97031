import Synchronization

/// Limits the bodies that are coded or decoded at one time, because each holds up to 300 KiB. One per process.
final class CoderLimit: Sendable {
  static let standard = 1000

  private let limit: Int
  private let count = Atomic(0)

  init(_ limit: Int = standard) {
    self.limit = limit
  }

  /// The number of bodies under way.
  var present: Int { count.load(ordering: .relaxed) }

  /// Takes a place. Returns false if there is none.
  func enter() -> Bool {
    if count.wrappingAdd(1, ordering: .relaxed).newValue <= limit { return true }
    leave()
    return false
  }

  func leave() { count.wrappingSubtract(1, ordering: .relaxed) }
}
