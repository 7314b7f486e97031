/// A small chart of five minutes, as inline SVG: one unit of its view box is one bucket.
struct StatusChart {
  /// The caption, for people who see the chart and for those who hear the page.
  var title: String
  /// One value of each bucket; nil where there is none.
  var values: [Double?]
  /// Drawn over the values on the same scale, as what is bad among them.
  var bad: [Double?] = []
  var isLine = false
  var isBad = false
  var text: (Double) -> String

  private static let height = 40

  /// The largest value; 0 without values.
  private var peak: Double { values.reduce(0) { max($0, Self.finite($1) ?? 0) } }

  /// With caption and the largest value.
  var figure: HTML {
    let peak = peak
    let most = peak > 0 ? "peak \(text(peak))" : "none"
    return "<figure><figcaption>\(title) <b>\(most)</b></figcaption>\(sparkline)</figure>"
  }

  /// Without a caption, for a row that says the numbers beside it.
  var sparkline: HTML {
    let peak = peak
    let label = "\(title), last 5 minutes: \(peak > 0 ? "peak \(text(peak))" : "none")"
    let width = max(values.count, 1)
    let scale = peak > 0 ? Double(Self.height - 2) / peak : 0
    let line = path(values, scale: scale, closes: !isLine)
    let over = path(bad, scale: scale, closes: true)
    return """
      <svg viewBox="0 0 \(width) \(Self.height)" preserveAspectRatio="none" role="img" aria-label="\(label)">\
      \(HTML.when(!line.isEmpty, "<path class=\"\(isLine ? "l" : isBad ? "b" : "a")\" d=\"\(line)\"/>"))\
      \(HTML.when(!over.isEmpty, "<path class=\"b\" d=\"\(over)\"/>"))</svg>
      """
  }

  /// Steps from bucket to bucket. An area has its base at the lower edge, and a value that isn't 0 is at least one unit
  /// high. A line is interrupted where there is no value.
  private func path(_ values: [Double?], scale: Double, closes: Bool) -> HTML {
    guard scale > 0, values.contains(where: { (Self.finite($0) ?? 0) > 0 }) else { return HTML() }
    var path = ""
    // The ordinate where the pen is, and the buckets that it has still to pass at that height.
    var (level, run) = (closes ? Self.height : -1, 0)
    if closes { path = "M0 \(Self.height)" }
    func pass() {
      if run > 0, level >= 0 { path += "h\(run)" }
      run = 0
    }
    for (index, value) in values.enumerated() {
      var next = Self.finite(value).map { Self.height - 1 - Int(($0 * scale).rounded()) } ?? (closes ? Self.height : -1)
      if closes, let value = Self.finite(value), value == 0 { next = Self.height }
      if next != level {
        pass()
        if next >= 0 { path += level < 0 ? "M\(index) \(next)" : "V\(next)" }
        level = next
      }
      run += 1
    }
    pass()
    return HTML(stringLiteral: closes ? path + "V\(Self.height)z" : path)
  }

  private static func finite(_ value: Double?) -> Double? {
    value.flatMap { $0.isFinite ? max(0, $0) : nil }
  }
}

// The charts of a route or an upstream.
extension StatusReport.History {
  /// Requests, and over them those that failed.
  var requestsChart: StatusChart {
    StatusChart(title: "Requests/s", values: requests.map(Self.rate), bad: failed.map(Self.rate)) {
      StatusFigures.number($0)
    }
  }

  /// - Parameter hasAttempts: Whether attempts and retries are counted, which they are by upstream.
  func charts(hasAttempts: Bool) -> [StatusChart] {
    let failed = StatusChart(title: "Failed/s", values: failed.map(Self.rate), isBad: true) { StatusFigures.number($0) }
    let demand = zip(retriesWanted, requests).map { wanted, requests -> Double? in
      requests > 0 ? Double(wanted) / Double(requests) : nil
    }
    let retries = StatusChart(title: "Retry demand", values: demand) { StatusFigures.number($0) }
    let slow = StatusChart(title: "p99", values: p99, isLine: true) { StatusFigures.seconds($0) }
    return [requestsChart, failed] + (hasAttempts ? [retries] : []) + [slow]
  }

  private static func rate(_ count: Int) -> Double? { Double(count) / Double(bucketSeconds) }
}
