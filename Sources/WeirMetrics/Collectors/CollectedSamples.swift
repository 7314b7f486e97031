import Synchronization

/// Receives the samples that a ``Collector`` computes for one page.
///
/// A sample is ignored if the collector did not declare its metric, if the number of labels is wrong, or if the value
/// of a counter is negative, NaN or infinite. Label sets beyond the registry's limit are ignored too. If two samples
/// have the same labels, the last one counts.
public struct CollectedSamples {
  private var families: [String: CollectedFamily] = [:]
  private var samples: [String: [CollectedSample]] = [:]

  init() {}

  /// Gives a metric's value for label values in the order of the metric's labels.
  public mutating func set(_ metric: String, _ value: Double, labels: [String] = []) {
    guard let family = families[metric] else { return }
    let usable = family.descriptor.kind == .gauge || (value >= 0 && value < .infinity)
    guard usable, labels.count == family.schema.names.count else { return family.tally.countInvalidUpdate() }
    guard samples[metric]?.count ?? 0 < family.limit else {
      family.tally.folded.wrappingAdd(1, ordering: .relaxed)
      return
    }
    let rendered = family.schema.render(labels.map { LabelText.canonical($0) })
    samples[metric, default: []].append(CollectedSample(labels: rendered, value: value))
  }

  mutating func set(_ metric: String, _ value: borrowing Atomic<UInt64>, labels: [String]) {
    set(metric, Double(value.load(ordering: .relaxed)), labels: labels)
  }

  /// Sets the families to which the next samples belong.
  mutating func begin(_ families: [CollectedFamily]) {
    self.families = Dictionary(families.map { ($0.descriptor.name, $0) }) { first, _ in first }
  }

  /// A metric's samples, sorted by their labels, each label set once.
  func sorted(_ metric: String) -> [CollectedSample] {
    let samples = samples[metric] ?? []
    guard samples.count > 1 else { return samples }
    var latest: [RenderedLabels: Double] = [:]
    for sample in samples { latest[sample.labels] = sample.value }
    return latest.map { CollectedSample(labels: $0.key, value: $0.value) }.sorted { $0.labels < $1.labels }
  }
}

/// One line of the page.
package struct CollectedSample: Sendable {
  let labels: RenderedLabels
  package let value: Double

  /// Passes each label's name and its value, which is no longer escaped, to `body`, in their order.
  package func forEachLabel(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
    labels.text.withUnsafeBytes { LabelSchema.forEachPair(in: $0, body) }
  }
}

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
