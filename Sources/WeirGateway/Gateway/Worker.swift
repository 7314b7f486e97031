import WeirCurl
import WeirIO
import WeirServer
import WeirTransport

/// One event loop with a server and a transport on it, so that a forwarded request crosses no thread.
final class Worker: Sendable {
  let loop: EventLoop
  private let transport: LoopBound<Transport>
  private let handler: ForwardingHandler

  init(
    number: Int, plan: ForwardingPlan, destinations: DestinationTable, observer: (any SharedTransportObserver)?,
    metrics: GatewayMetrics, connections: Int, log: Logger, failures: FailureLog, upstreams: UpstreamLog
  ) throws(Errno) {
    loop = try EventLoop(name: "weir.gateway.\(number)")
    // Each request under way has a client's connection, so no more connections to upstreams are needed.
    transport = LoopBound(
      Transport(
        loop: loop, options: .gateway(connections: connections), limits: .gateway, table: destinations,
        observer: UpstreamObserver(metrics: observer, log: upstreams)), on: loop)
    if let lag = observer?.lagObserver(ofLoop: "gateway.\(number)") { loop.post { [loop] in loop.observeLag(lag) } }
    handler = ForwardingHandler(
      transport: transport, plan: plan, metrics: metrics, observer: observer, log: log, failures: failures,
      upstreams: upstreams)
  }

  /// Makes the server of a listener on this worker's loop.
  func server(
    for listener: Listener, _ edge: ListenerEdge, limits: ServerLimits,
    refuses: (@Sendable (SocketAddress) -> Bool)?, expectsProxyHeader: (@Sendable (SocketAddress) -> Bool)?,
    tls: TLSSource?, tally: ServerTally, crowd: CrowdLog
  ) -> Server {
    Server(
      listener: listener, loop: loop, limits: limits, handler: EdgeHandler(handler, from: edge), refuses: refuses,
      expectsProxyHeader: expectsProxyHeader, secure: tls?.makeChannel, tally: tally
    ) { [handler] event in
      switch event {
      case .proxyHeaderRefused(let refusal, let peer): handler.noteRefusal(refusal.rawValue, of: peer)
      case .handshakeFailed(let reason, let peer): handler.noteRefusal(reason, of: peer)
      case .requestRefused(let refusal, let peer, let wasHandled):
        handler.noteRefusal(refusal, of: peer, from: edge, wasHandled: wasHandled)
      case .acceptFailed, .connectionsWait, .connectionEvicted: crowd.note(event)
      case .timedOut: break
      }
    }
  }

  func start() {
    loop.post { [handler] in handler.begin() }
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

  /// Returns once the loop has done what it was asked for before.
  func catchUp() async {
    await withCheckedContinuation { continuation in loop.post { continuation.resume() } }
  }

  /// Returns once the access log's writer has all lines of requests that have ended.
  func flushAccessLog() async {
    await withCheckedContinuation { continuation in
      loop.post { [handler] in
        handler.flushAccessLog()
        continuation.resume()
      }
    }
  }

  /// Ends all transfers, and closes the connections to upstreams.
  func close() {
    loop.post { [transport] in transport.value.close() }
  }
}
