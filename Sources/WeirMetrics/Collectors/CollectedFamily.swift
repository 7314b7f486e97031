/// A metric whose samples are computed at the scrape.
final class CollectedFamily: MetricFamily {
  let descriptor: MetricDescriptor
  let pieces: ExpositionPieces
  let schema: LabelSchema
  let tally: FamilyTally
  let limit: Int

  init(_ descriptor: MetricDescriptor, limit: Int, clock: WallClock) {
    tally = FamilyTally(clock: clock)
    self.descriptor = descriptor
    self.limit = limit
    pieces = ExpositionPieces(descriptor)
    schema = LabelSchema(names: descriptor.labels)
  }

  var seriesCount: Int? { nil }

  func content(_ collected: CollectedSamples) -> FamilyContent {
    .samples(collected.sorted(descriptor.name))
  }
}

/// A registered collector and its families.
struct CollectorEntry: Sendable {
  enum Source: Sendable {
    case collector(any Collector)
    /// The registry itself.
    case registry
  }

  let source: Source
  let families: [CollectedFamily]

  /// The collector without one of its metrics; nil if none is left.
  func without(_ name: String) -> CollectorEntry? {
    let rest = families.filter { $0.descriptor.name != name }
    return rest.isEmpty ? nil : CollectorEntry(source: source, families: rest)
  }
}
