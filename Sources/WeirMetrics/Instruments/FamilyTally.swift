public import Synchronization

/// What a family refused: shown as metrics of the registry itself.
@usableFromInline
final class FamilyTally: Sendable {
  /// Updates ignored because their value has no meaning for the instrument.
  let invalidUpdates = Atomic<UInt64>(0)
  /// Lookups that met the cap on label sets.
  @usableFromInline let folded = Atomic<UInt64>(0)

  @usableFromInline
  func countInvalidUpdate() {
    invalidUpdates.wrappingAdd(1, ordering: .relaxed)
  }
}
