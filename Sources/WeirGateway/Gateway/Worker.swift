import WeirCurl
import WeirIO
import WeirServer
import WeirTransport

/// One event loop with a server and a transport on it, so that a forwarded request crosses no thread.
final class Worker: Sendable {
  let loop: EventLoop
  private let transport: LoopBound<Transport>
  private let server: Server
  private let handler: ForwardingHandler

  init(
    number: Int, listener: Listener, plan: ForwardingPlan, destinations: DestinationTable,
    observer: (any SharedTransportObserver)?, metrics: GatewayMetrics, limits: ServerLimits, crowd: CrowdLog,
    log: Logger, failures: FailureLog, upstreams: UpstreamLog
  ) throws(Errno) {
    loop = try EventLoop(name: "weir.gateway.\(number)")
    // Each request under way has a client's connection, so no more connections to upstreams are needed.
    transport = LoopBound(
      Transport(
        loop: loop, options: .gateway(connections: limits.connections), limits: .gateway, table: destinations,
        observer: UpstreamObserver(metrics: observer, log: upstreams)), on: loop)
    if let lag = observer?.lagObserver(ofLoop: "gateway.\(number)") { loop.post { [loop] in loop.observeLag(lag) } }
    let handler = ForwardingHandler(
      transport: transport, plan: plan, metrics: metrics, observer: observer, log: log, failures: failures,
      upstreams: upstreams)
    self.handler = handler
    server = Server(listener: listener, loop: loop, limits: limits, handler: handler) { event in
      switch event {
      case .requestRefused(let refusal, let peer, let wasHandled):
        handler.noteRefusal(refusal, of: peer, wasHandled: wasHandled)
      case .acceptFailed, .connectionsWait, .connectionEvicted: crowd.note(event)
      case .timedOut: break
      }
    }
  }

  func start() {
    loop.post { [handler] in handler.begin() }
    server.start()
  }

  /// Closes idle connections to upstreams that are gone, and to endpoints of such.
  func closeIdleConnections(to endpoints: [TransferEndpoint], _ upstreams: Set<Upstream>) {
    loop.post { [handler] in handler.closeIdleConnections(to: endpoints, upstreams) }
  }

  /// Returns once new requests follow `plan`.
  func install(_ plan: ForwardingPlan, _ metrics: GatewayMetrics) async {
    await withCheckedContinuation { continuation in
      loop.post { [handler] in
        handler.install(plan, metrics)
        continuation.resume()
      }
    }
  }

  /// Lets requests under way end, and after `grace` seconds cuts those that have not.
  func stop(grace: Double) async {
    await server.stop(grace: grace)
    loop.post { [transport] in transport.value.close() }
  }
}
