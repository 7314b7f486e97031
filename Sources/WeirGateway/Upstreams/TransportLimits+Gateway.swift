import WeirTransport

extension TransportLimits {
  /// The connections to one upstream. Streams and long polls hold theirs for long, so there are more than for a
  /// service's own client.
  static let gateway = TransportLimits(slots: 512, waiting: 10_000, admissionTimeout: 30, parked: 512)

  /// The number of requests whose bodies are still coming that may have a connection to one upstream: half of them.
  static let gatewayUploads = gateway.slots / 2
}
