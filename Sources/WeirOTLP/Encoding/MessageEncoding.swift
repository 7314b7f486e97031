/// The two encodings of messages to a collector, named as OpenTelemetry's variables name the protocols.
package enum MessageEncoding: String, Sendable, CaseIterable {
  case protobuf = "http/protobuf"
  case json = "http/json"

  /// The value of `Content-Type` of a request, and of its response.
  package var contentType: String {
    switch self {
    case .protobuf: "application/x-protobuf"
    case .json: "application/json"
    }
  }
}
