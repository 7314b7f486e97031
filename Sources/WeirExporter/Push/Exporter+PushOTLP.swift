import Foundation
public import Weir
import WeirMetrics

extension Exporter {
  /// Sends all metrics to a collector by OTLP, as totals since the process began. The exporter need not be started.
  ///
  /// ```swift
  /// try await exporter.push(to: OTLPEndpoint("http://collector.internal:4318"), resource: ["service.name": "backup"])
  /// ```
  ///
  /// A push is repeated up to five times within 30 s: after a failed transfer, and the statuses 429, 502, 503 and 504, after
  /// which the collector's `Retry-After` is waited for. Collectors of the registry run on the calling thread.
  ///
  /// - `resource`: Attributes that tell what the metrics are of. `service.name` is `unknown_service` and the program's name
  ///   unless it is among them; host, process and an identifier of the instance are there in any case.
  /// - `session`: The session to send with; by default one of its own.
  /// - Throws: ``PushError``, also if the collector has not taken all data points.
  public func push(
    to endpoint: OTLPEndpoint, resource: [String: String] = [:], using session: Session? = nil
  ) async throws(PushError) {
    try await push(
      to: endpoint, resource: resource, using: session,
      encoder: OTLPEncoder(endpoint.encoding, of: registry))
  }

  func push(
    to endpoint: OTLPEndpoint, resource: [String: String], using session: Session?, encoder: any TelemetryEncoder
  ) async throws(PushError) {
    let url = endpoint.url(of: .metrics)
    if let problem = OTLPEndpoint.problem(url: url) { throw .invalidURL("a collector's URL \(problem)") }
    let collector = "the collector"
    var settings = TelemetrySettings()
    settings.resource = resource
    let body = encoder.message(ofMetrics: TelemetryResource.attributes(settings, service: nil))
    let session = session ?? Session(configuration: .telemetry(endpoint))
    let response = await session.send(body, to: url, of: endpoint, by: encoder, within: settings.metrics.timeout)
      .serializingData(emptyResponseCodes: Set(200..<300), emptyRequestMethods: [.post]).response
    switch OTLPOutcome(response, by: encoder) {
    case .taken(0, _): return
    case .taken(let rejected, let text): throw .partial(rejected: rejected, text)
    case .refused(let status, let text): throw .refused(status: status, answer: text.utf8, by: collector)
    case .failed:
      if let status = response.response?.statusCode {
        throw .refused(status: status, answer: [], by: collector)
      }
      throw .unreachable(response.error ?? .sessionDeinitialized, collector)
    }
  }
}
