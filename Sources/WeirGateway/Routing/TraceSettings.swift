/// How traces go on through the gateway (W3C Trace Context).
package struct TraceSettings: Sendable, Equatable {
  /// Whether a request without a trace begins one.
  package var begins = true
  /// The share of the traces that begin here that are sampled.
  package var sample = 0.01
}

/// The field that names a request in the logs of all that handle it.
package struct RequestIDSettings: Sendable, Equatable {
  package var header = "X-Request-ID"
  /// Whether the client's name for the request is kept.
  package var trust = true

  /// The longest name of a client.
  static let longest = 128
}
