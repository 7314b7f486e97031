/// A registered metric, whatever its instrument: what an encoder walks over.
protocol MetricFamily: AnyObject, Sendable {
  var descriptor: MetricDescriptor { get }
  var pieces: ExpositionPieces { get }
  var tally: FamilyTally { get }
  /// The number of series on the page; nil for what is computed at the scrape.
  var seriesCount: Int? { get }
  /// The series now, sorted by their labels.
  func content(_ collected: CollectedSamples) -> FamilyContent
}

/// A family's series. Encoders read the numbers from them; no format is in here.
enum FamilyContent {
  case series([Series])
  case samples([CollectedSample])
}
