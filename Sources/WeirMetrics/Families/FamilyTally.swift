import Synchronization

/// What a family's series share: the clock, and counts of what they refused.
final class FamilyTally: Sendable {
  /// Updates ignored because their value has no meaning for the instrument.
  let invalidUpdates = Atomic<UInt64>(0)
  /// Lookups that met the cap on label sets.
  let folded = Atomic<UInt64>(0)

  let clock: WallClock

  init(clock: WallClock) {
    self.clock = clock
  }

  func countInvalidUpdate() {
    invalidUpdates.wrappingAdd(1, ordering: .relaxed)
  }
}
