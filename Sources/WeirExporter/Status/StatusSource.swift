package import WeirIO

/// A program's own part of the status page, beside the destinations of its requests. Called on the exporter's thread.
package protocol StatusSource: Sendable {
  /// The metrics that tell of its own subjects, such as routes, for each kind of subject.
  var metrics: [[TrafficMetric]] { get }

  /// The requests that it has noted.
  var recent: RecentRequests { get }

  /// Ends a bucket of five seconds.
  func turn()

  /// Adds what it knows to a report, and to what problems are judged by.
  /// - Parameters:
  ///   - traffic: That of each kind of subject.
  ///   - now: The time of the report.
  func complete(
    _ report: inout StatusReport, _ facts: inout StatusFacts, traffic: [[TrafficTable.Subject]], at now: MonotonicTime)
}
