/// How long a scraper waits for its page.
enum ScrapeTimeout {
  /// Seconds after which the answer must be on its way: the limit, or less where the scraper waits less.
  ///
  /// A tenth of what the scraper announced, at most half a second, is kept for the way back, so that it reads why there
  /// is no page instead of giving up by itself.
  /// - Parameter field: `X-Prometheus-Scrape-Timeout-Seconds`; ignored unless it is a number above 0.
  static func seconds(_ field: String?, limit: Double) -> Double {
    guard let field, let announced = Double(field), announced > 0, announced.isFinite else { return limit }
    return min(limit, announced - min(0.5, announced / 10))
  }
}
