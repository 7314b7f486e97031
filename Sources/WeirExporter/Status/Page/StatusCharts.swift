/// The charts of a route or an upstream.
struct StatusCharts {
  private let history: StatusReport.History

  init(_ traffic: StatusReport.Traffic) {
    history = traffic.history
  }

  /// Requests, and over them those that failed.
  var requests: StatusChart {
    StatusChart(
      title: "Requests/s", values: history.requests.map(Self.rate), bad: history.failed.map(Self.rate)
    ) { StatusFigures.number($0) }
  }

  /// - Parameter hasAttempts: Whether attempts and retries are counted, which they are by upstream.
  func all(hasAttempts: Bool) -> [StatusChart] {
    hasAttempts ? [requests, failed, retries, slow] : [requests, failed, slow]
  }

  private var failed: StatusChart {
    StatusChart(title: "Failed/s", values: history.failed.map(Self.rate), isBad: true) {
      StatusFigures.number($0)
    }
  }

  private var retries: StatusChart {
    let demand = zip(history.retriesWanted, history.requests).map { wanted, requests -> Double? in
      requests > 0 ? Double(wanted) / Double(requests) : nil
    }
    return StatusChart(title: "Retry demand", values: demand) { StatusFigures.number($0) }
  }

  private var slow: StatusChart {
    StatusChart(title: "p99", values: history.p99, isLine: true) { StatusFigures.seconds($0) }
  }

  private static func rate(_ count: Int) -> Double? {
    Double(count) / Double(StatusReport.History.bucketSeconds)
  }
}
