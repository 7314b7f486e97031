import HTTPTypes
import Logging
import OpenAPIRuntime
import ServiceLifecycle
import Tracing
import Weir
import WeirExporter
import WeirMetrics

enum Records {
  static func monitor(writingTo logger: Logger) -> LoggingEventMonitor {
    LoggingEventMonitor(record: { record in
      let metadata = record.metadata.map { ($0.name, Logger.MetadataValue.string($0.value)) }
      logger.log(
        level: Logger.Level(rawValue: record.level.rawValue) ?? .info, "\(record.message)",
        metadata: Logger.Metadata(metadata) { $1 })
    })
  }
}

struct Fields: Injector {
  func inject(_ value: String, forKey key: String, into fields: inout [String: String]) { fields[key] = value }
}

/// For `SessionConfiguration.traceContext`. The tracer's propagator has to be that of W3C Trace Context.
func placeOfCaller() -> TraceContext? {
  var fields: [String: String] = [:]
  InstrumentationSystem.instrument.inject(ServiceContext.current ?? .topLevel, into: &fields, using: Fields())
  return fields["traceparent"].flatMap { TraceContext(traceparent: $0, tracestate: fields["tracestate"]) }
}

struct Outbound: Service {
  let exporter: Exporter
  let session: Session

  func run() async throws {
    await cancelWhenGracefulShutdown { [session] in await session.run() }
    // Scrapes see the requests' ends.
    await exporter.stop()
  }
}

struct SmallTransport: ClientTransport {
  let session: Session

  func send(
    _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
  ) async throws -> (HTTPResponse, HTTPBody?) {
    var message = try URLRequest(
      url: baseURL.absoluteString + (request.path ?? ""), method: HTTPMethod(rawValue: request.method.rawValue))
    for field in request.headerFields { message.addValue(field.value, forHTTPHeaderField: field.name.rawName) }
    if let body { message.httpBody = try await Data(collecting: body, upTo: 1 << 20) }
    let response = try await session.streamRequest(message).operation(operationID).streaming()
    var head = HTTPResponse(status: .init(code: response.head.statusCode))
    for field in response.head.headers {
      if let name = HTTPField.Name(field.name) { head.headerFields.append(HTTPField(name: name, value: field.value)) }
    }
    return (head, HTTPBody(response.body.map { ArraySlice($0) }, length: .unknown, iterationBehavior: .single))
  }
}

@main struct WithoutBridges {
  static func main() async throws {
    let exporter = try Exporter().start()
    let served = try exporter.registry.counter("prices_served_total", help: "Prices that were told.")
    served.increment()

    let logger = Logger(label: "prices")
    var configuration = SessionConfiguration.server
    configuration.traceContext = placeOfCaller
    let session = Session(
      configuration: configuration,
      eventMonitors: [try MetricsMonitor(registry: exporter.registry), Records.monitor(writingTo: logger)])
    let group = ServiceGroup(
      services: [Outbound(exporter: exporter, session: session)], logger: logger)
    try await group.run()
  }
}
