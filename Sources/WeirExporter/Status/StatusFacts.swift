/// The facts beside traffic by which problems are judged.
package struct StatusFacts: Sendable {
  /// The 99th percentile of the lag of loops in the last ten seconds, by the loop's name; the worst first.
  package var lags: [(loop: String, seconds: Double)] = []
  /// Open descriptors and how many there may be.
  package var descriptors: (open: Int, most: Int)?
  /// Certificates that are shown to clients, and when they end, in seconds since 1970.
  package var certificates: [(listener: String, name: String, notAfter: Double)] = []
  /// Places that tell of endpoints and whose last answer was a failure, by upstream; with the seconds since the last
  /// good answer, nil if there was none.
  package var failedDiscoveries: [(upstream: String, age: Double?)] = []
  /// Requests of routes that a limit of the gateway's own refused in the last ten seconds.
  package var limited: [(route: String, refused: Int)] = []
  /// Lines of the access log that were dropped in the last ten seconds.
  package var droppedLines = 0

  package init() {}
}
