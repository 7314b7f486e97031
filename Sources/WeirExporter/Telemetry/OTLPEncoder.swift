import WeirMetrics
import WeirOTLP

/// The two encodings of OTLP over HTTP.
struct OTLPEncoder: TelemetryEncoder {
  let encoding: OTLPEndpoint.Encoding
  let registry: Registry
  var hasExponentialHistograms = false

  var contentType: String { encoding == .json ? "application/json" : "application/x-protobuf" }

  func message(of spans: [Span], resource: [Attribute]) -> [UInt8] { [] }

  func message(ofMetrics resource: [Attribute]) -> [UInt8] { [] }

  func remark(in body: [UInt8], isError: Bool) -> (rejected: Int, text: String) { (0, "") }
}
