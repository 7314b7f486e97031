package import WeirOTLP

/// Writes messages in one encoding, and reads a collector's answers to them.
package protocol TelemetryEncoder: Sendable {
  /// The media type of messages.
  var contentType: String { get }

  /// A message with the spans of all lists, which are of one resource.
  func message(of spans: [[Span]], resource: [Attribute]) -> [UInt8]

  /// A message with the present values of all metrics. It runs the registry's collectors on the calling thread.
  func message(ofMetrics resource: [Attribute]) -> [UInt8]

  /// The remark of a collector in the body of an answer: how many spans or data points it has not taken, and why. A body that
  /// can't be read says nothing.
  ///
  /// - Parameter isError: Whether the status is none of 2xx.
  func remark(in body: [UInt8], isError: Bool) -> (rejected: Int, text: String)
}
