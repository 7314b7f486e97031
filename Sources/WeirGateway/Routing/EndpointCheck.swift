package import WeirTransport

/// The active checks of an upstream's endpoints. Times are in seconds.
package struct EndpointCheck: Sendable, Equatable {
  /// The path of the request; nil checks only that a connection can be opened, with TLS on https.
  package var path: String?
  package var method = "GET"
  /// The Host field; nil for the endpoint as it is written.
  package var host: String?
  package var headers: [HeaderRule] = []
  /// In place of each endpoint's own port.
  package var port: Int?
  /// The statuses of good answers.
  package var statuses = [200...399]
  package var interval = 10.0
  package var timeout = 2.0
  package var thresholds = CheckThresholds()

  package init() {}

  /// The range of `timeout`, which is also at most `interval`.
  static let timeouts = 0.1...3600
}
