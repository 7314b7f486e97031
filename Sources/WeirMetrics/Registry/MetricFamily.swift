/// A registered metric of any instrument, as encoders see it.
protocol MetricFamily: AnyObject, Sendable {
  var descriptor: MetricDescriptor { get }
  var pieces: ExpositionPieces { get }
  var tally: FamilyTally { get }
  /// The number of series on the page; nil for a metric that is computed at the scrape.
  var seriesCount: Int? { get }
  /// The present series, sorted by their labels.
  func content(_ collected: CollectedSamples) -> FamilyContent
}

/// A family's series. Encoders read the numbers from them; this type has no format.
enum FamilyContent {
  case series([Series])
  case samples([CollectedSample])
}
