import Testing

@testable import WeirMetrics

@Suite struct HistogramTests {
  let registry = Registry()

  @Test func countsInTheFirstBucketNotBelow() throws {
    let histogram = try registry.histogram("wait_seconds", help: "", buckets: [-1, 0, 0.5, 2])
    for value in [-7, -1, -0.5, 0, 0.25, 0.5, 0.5.nextUp, 2, 2.5, 1e300, -0.0] { histogram.observe(value) }
    #expect(histogram.snapshot.counts == [2, 3, 2, 2, 2])
    #expect(histogram.snapshot.count == 11)
    #expect(histogram.snapshot.bounds == [-1, 0, 0.5, 2])
  }

  /// Every number of bounds up to several blocks, every place between them: what a plain search says.
  @Test(arguments: [1, 2, 3, 4, 5, 7, 8, 9, 12, 31, 32, 33, 34, 63, 64, 65, 100, 511, 512])
  func findsTheBucketAsAPlainSearchDoes(count: Int) throws {
    let bounds = (0..<count).map { Double($0) * 1.5 - 20 }
    let histogram = try registry.histogram("wait_seconds", help: "", buckets: Buckets(bounds))
    for bound in bounds {
      for value in [bound.nextDown, bound, bound.nextUp] {
        #expect(histogram.bucket(of: value) == bounds.firstIndex { value <= $0 } ?? count)
      }
    }
    #expect(histogram.bucket(of: -.greatestFiniteMagnitude) == 0)
    #expect(histogram.bucket(of: .greatestFiniteMagnitude) == count)
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity])
  func ignoresAndCountsWhatIsNotFinite(value: Double) throws {
    let histogram = try registry.histogram("wait_seconds", help: "", buckets: [1])
    histogram.observe(value)
    histogram.observe(value, traceID: "a")
    #expect(histogram.snapshot == HistogramSnapshot(bounds: [1], counts: [0, 0], sum: 0))
    #expect(registry.text().contains("weir_metrics_invalid_updates_total{metric=\"wait_seconds\"} 2\n"))
  }

  @Test func takesDurationsInSeconds() throws {
    let histogram = try registry.histogram("wait_seconds", help: "", buckets: [1])
    histogram.observe(.milliseconds(1_250))
    histogram.observe(.nanoseconds(500))
    #expect(histogram.snapshot.counts == [1, 1])
    #expect(abs(histogram.snapshot.sum - 1.250_000_5) < 1e-12)
  }
}
