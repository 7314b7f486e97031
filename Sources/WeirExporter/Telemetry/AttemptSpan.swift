import Foundation
package import Weir
import WeirIO
package import WeirOTLP
package import WeirTransport

extension Span {
  /// The span of an attempt by OpenTelemetry's conventions for HTTP clients; nil for an attempt that is none.
  ///
  /// An attempt is one span, with its redirects as events; by the conventions each hop would be a span.
  package init?(_ record: AttemptRecord) {
    guard let place = record.traceContext, let parent = record.parent else { return nil }
    let start = UInt64(nanosecondsOf: record.metrics.taskInterval.start)
    let end = start &+ UInt64(nanosecondsIn: record.metrics.total ?? 0)
    let name = Self.name(of: record.method.rawValue, record.namedOperation)
    self.init(name, .client, at: Place(place), from: start, to: end)
    self.parent = parent.parent
    traceState = place.traceState
    flags = place.flags
    links = record.previous.map { [Place($0)] } ?? []
    add(method: record.method.rawValue)
    attributes += Self.attributes(of: record)
    add(operation: record.namedOperation)
    events = Self.events(of: record, from: start)
    let error = record.isAbandoned ? nil : record.error
    note(status: record.metrics.statusCode, ErrorLabel.of(status: record.metrics.statusCode, error), error)
  }

  /// The span of a request with which a trace began.
  ///
  /// - Parameter duration: Seconds from its setup to its outcome.
  init(
    ofRequest trace: RecordedTrace, method: HTTPMethod?, operation: NamedOperation? = nil, destination: Destination?,
    outcome: RequestOutcome, status: Int?, error: WeirError?, duration: Double
  ) {
    let start = UInt64(nanosecondsOf: trace.start)
    self.init(
      Self.name(of: method?.rawValue, operation), .internal, at: Place(trace.parent), from: start,
      to: start &+ UInt64(nanosecondsIn: duration))
    flags = trace.parent.flags
    if let method { add(method: method.rawValue) }
    if let destination { attributes += Self.attributes(ofServer: destination) }
    add(operation: operation)
    attributes.append(Attribute("weir.outcome", outcome.rawValue))
    let label = ErrorLabel.of(status: status, error)
    // A serializer's failure is that of a handler, and not the request's.
    note(status: status, label.isEmpty && outcome != .success ? outcome.rawValue : label, error)
  }

  /// Sets the status of the response, and that of the span.
  ///
  /// - Parameter failure: What `error.type` says; empty without a failure.
  private mutating func note(status: Int?, _ failure: String, _ error: WeirError?) {
    if let status { attributes.append(Attribute("http.response.status_code", status)) }
    if failure.isEmpty { return }
    isError = true
    attributes.append(Attribute("error.type", failure))
    // A status says enough.
    if let error, failure == error.label { statusText = error.cause }
  }

  // MARK: Names and attributes

  /// The name of a request's span, or its first word.
  ///
  /// - Parameter method: Nil if there was no request.
  package static func name(of method: String?, _ operation: NamedOperation? = nil) -> String {
    let label = method.map { MethodLabel.of($0) } ?? MethodLabel.other
    let name = label == MethodLabel.other ? "HTTP" : label
    return operation?.spanName(of: name) ?? name
  }

  package mutating func add(method: String) {
    let label = MethodLabel.of(method)
    attributes.append(Attribute("http.request.method", label))
    if label == MethodLabel.other {
      attributes.append(Attribute("http.request.method_original", method.cut(after: 64)))
    }
  }

  package mutating func add(operation: NamedOperation?) {
    if let template = operation?.pathTemplate { attributes.append(Attribute("url.template", template)) }
  }

  private static func attributes(ofServer destination: Destination) -> [Attribute] {
    [Attribute("server.address", destination.host), Attribute("server.port", destination.port)]
  }

  private static func attributes(of record: AttemptRecord) -> [Attribute] {
    let metrics = record.metrics
    var attributes: [Attribute] = []
    if let destination = record.destination {
      attributes += Self.attributes(ofServer: destination)
      attributes.append(Attribute("url.scheme", destination.scheme))
    }
    attributes += [Attribute("url.path", record.path), Attribute("url.full", record.url)]
    if let address = metrics.remoteAddress { attributes.append(Attribute("network.peer.address", address)) }
    if let port = metrics.remotePort { attributes.append(Attribute("network.peer.port", port)) }
    if let name = metrics.networkProtocolName {
      attributes.append(Attribute("network.protocol.version", VersionLabel.of(name)))
    }
    // An attempt before it may have had no span, as it was not sent.
    if record.previous != nil { attributes.append(Attribute("http.request.resend_count", record.number - 1)) }
    if let reason = record.retryReason { attributes.append(Attribute("weir.retry.reason", reason.rawValue)) }
    if let queue = metrics.queue { attributes.append(Attribute("weir.queue.wait", .double(queue))) }
    if let endpoint = record.endpoint { attributes.append(Attribute("weir.endpoint", endpoint)) }
    if record.isHedge { attributes.append(Attribute("weir.hedge", .boolean(true))) }
    if record.isAbandoned { attributes.append(Attribute("weir.outcome", "abandoned")) }
    return attributes
  }

  private static func events(of record: AttemptRecord, from start: UInt64) -> [Event] {
    // Phases of several hops are summed, and have no one end.
    if record.metrics.redirectCount == 0 {
      return Event.phases(record.metrics.report.phases, from: start, isBroken: record.metrics.statusCode == nil)
    }
    return record.redirects.map {
      Event.redirect($0.status, to: $0.destination, at: start &+ UInt64(nanosecondsIn: $0.elapsed))
    }
  }
}

extension Span.Place {
  /// The span to which a context leads.
  package init(_ context: TraceContext) { self.init(high: context.high, low: context.low, id: context.parent) }
}
