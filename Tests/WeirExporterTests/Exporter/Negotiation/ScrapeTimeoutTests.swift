import Testing

@testable import WeirExporter

@Suite struct ScrapeTimeoutTests {
  @Test(
    arguments: [
      (nil, 10), ("10", 9.5), ("5.000000", 4.5), ("1", 0.9), ("0.1", 0.09), ("60", 10), ("10.5", 10),
      ("", 10), ("0", 10), ("-1", 10), ("nan", 10), ("inf", 10), ("-inf", 10), ("1e400", 10), ("ten", 10),
      ("10s", 10), ("1e300", 10),
    ] as [(String?, Double)])
  func seconds(field: String?, seconds: Double) {
    #expect(abs(ScrapeTimeout.seconds(field, limit: 10) - seconds) < 1e-9)
  }
}
