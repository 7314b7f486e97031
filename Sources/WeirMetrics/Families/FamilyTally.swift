import Synchronization

/// The clock that a family's series share, and the counts of what the family refused.
final class FamilyTally: Sendable {
  /// Updates ignored because their value has no meaning for the instrument.
  let invalidUpdates = Atomic<UInt64>(0)
  /// Lookups beyond the limit on label sets.
  let folded = Atomic<UInt64>(0)

  let clock: WallClock

  init(clock: WallClock) {
    self.clock = clock
  }

  func countInvalidUpdate() {
    invalidUpdates.wrappingAdd(1, ordering: .relaxed)
  }
}
