import WeirCurl
import WeirIO
import WeirServer
import WeirTransport

/// Forwards the requests of one worker's server over its transport. Called on the worker's loop.
final class ForwardingHandler: Sendable {
  private let log: Logger
  private let current: LoopBound<ActivePlan>

  /// - Parameter observer: Observes the requests to upstreams.
  init(
    transport: LoopBound<Transport>, plan: ForwardingPlan, metrics: GatewayMetrics,
    observer: (any SharedTransportObserver)?, log: Logger, failures: FailureLog,
    upstreams: UpstreamLog
  ) {
    let loop = transport.loop
    self.log = log
    current = LoopBound(
      ActivePlan(
        plan, metrics, transport: transport, observer: observer,
        log: RequestLog(log, failures, upstreams, on: loop), slowClients: SlowClients(transport)), on: loop)
  }

  func handle(_ exchange: Exchange, from edge: ListenerEdge) {
    Forwarding.start(exchange, from: edge, plan: current.value)
  }

  /// Makes new requests follow `plan`. On the loop.
  func install(_ plan: ForwardingPlan, _ metrics: GatewayMetrics) {
    let before = current.value
    current.value = ActivePlan(
      plan, metrics, transport: before.boundTransport, observer: before.observer, log: before.log,
      slowClients: before.slowClients)
    current.value.begin()
  }

  /// Begins with the first plan. On the loop, before the first request.
  func begin() { current.value.begin() }

  /// Hands the lines of the access log to its writer. On the loop.
  func flushAccessLog() { current.value.log.access.flush() }

  /// Closes idle connections to upstreams that are gone, and to endpoints of such. On the loop.
  func closeIdleConnections(to endpoints: [TransferEndpoint], _ upstreams: Set<Upstream>) {
    let transport = current.value.transport
    transport.closeIdleConnections(to: endpoints)
    for upstream in upstreams {
      transport.closeIdleConnections(toOrigin: upstream.authority, isSecure: upstream.scheme == .https)
    }
  }

  /// Logs a connection that ended before its first request.
  func noteRefusal(_ reason: String, of peer: SocketAddress) {
    log.debug("connection refused", ["client": .string("\(peer)"), "text": .string(reason)])
  }

  /// Counts and logs a request that the server itself refused. A request that was being forwarded counts for its route
  /// instead. On the loop.
  func noteRefusal(
    _ refusal: RequestRefusal, of peer: SocketAddress, from edge: ListenerEdge, wasHandled: Bool
  ) {
    if !wasHandled {
      current.value.countRefused()
      current.value.recordRefused(refusal, of: peer, from: edge)
    }
    log.debug(
      "request refused",
      ["status": .integer(refusal.status), "client": .string("\(peer)"), "text": .string(refusal.reason)])
  }
}

/// Hands the requests of one listener to the worker's handler.
final class EdgeHandler: RequestHandler {
  private let handler: ForwardingHandler
  private let edge: ListenerEdge

  init(_ handler: ForwardingHandler, from edge: ListenerEdge) {
    self.handler = handler
    self.edge = edge
  }

  func handle(_ exchange: Exchange) { handler.handle(exchange, from: edge) }
}
