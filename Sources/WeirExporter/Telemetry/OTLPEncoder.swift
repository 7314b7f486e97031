import Weir
import WeirHTTP
import WeirMetrics
import WeirOTLP

/// The two encodings of OTLP over HTTP.
struct OTLPEncoder: TelemetryEncoder {
  private let encoding: MessageEncoding
  private let registry: Registry
  private let hasExponential: Bool
  private let scope = Scope("weir", version: WeirInfo.version)

  /// When the process began to count, in nanoseconds since 1970, as far as anybody has asked for it.
  private static let start = now

  /// - Parameter hasExponential: Whether native histograms are exponential ones, without the bounds of the page.
  init(_ encoding: OTLPEndpoint.Encoding, of registry: Registry, hasExponential: Bool = false) {
    self.encoding = encoding == .json ? .json : .protobuf
    self.registry = registry
    self.hasExponential = hasExponential
  }

  private static var now: UInt64 { UInt64(clamping: Timestamp.nanoseconds) }

  var contentType: String { encoding.contentType }

  func message(of spans: [[Span]], resource: [Attribute]) -> [UInt8] {
    TracesMessage(spans, of: Resource(resource), by: scope).encoded(as: encoding)
  }

  func message(ofMetrics resource: [Attribute]) -> [UInt8] {
    MetricsMessage(
      registry, of: Resource(resource), by: scope, from: Self.start, at: Self.now, hasExponential: hasExponential
    ).encoded(as: encoding)
  }

  func remark(in body: [UInt8], isError: Bool) -> (rejected: Int, text: String) {
    let response =
      isError ? CollectorResponse(error: body, as: encoding) : CollectorResponse(body, as: encoding)
    return (response?.rejected ?? 0, response?.message ?? "")
  }
}
