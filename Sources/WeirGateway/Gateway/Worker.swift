import WeirCurl
import WeirExporterTLS
import WeirIO
import WeirServer
import WeirTLS
import WeirTransport

/// One event loop with a server and a transport on it, so that a forwarded request crosses no thread.
final class Worker: Sendable {
  let loop: EventLoop
  private let transport: LoopBound<Transport>
  private let log: Logger
  /// What new requests follow.
  private let current: LoopBound<ActivePlan>

  /// - Parameter observer: Observes the requests to upstreams.
  init(
    number: Int, plan: ForwardingPlan, destinations: DestinationTable, observer: (any SharedTransportObserver)?,
    metrics: GatewayMetrics, connections: Int, logs: SharedLogs
  ) throws(Errno) {
    loop = try EventLoop(name: "weir.gateway.\(number)")
    log = logs.log
    var options = TransportOptions()
    // Short, so that an upstream that swallows packets leaves time for another attempt.
    options.connectTimeout = 5
    // Each request under way has a client's connection, so no more connections to upstreams are needed.
    options.maximumPooledConnections = connections
    // The same with every libcurl, and by our own engine: HTTP/2 goes by libcurl's.
    options.httpVersion = .http1_1
    transport = LoopBound(
      Transport(
        loop: loop, options: options, limits: .gateway, table: destinations,
        observer: UpstreamObserver(metrics: observer, log: logs.upstreams)), on: loop)
    if let lag = observer?.lagObserver(ofLoop: "gateway.\(number)") { loop.post { [loop] in loop.observeLag(lag) } }
    current = LoopBound(
      ActivePlan(
        plan, metrics, transport: transport, observer: observer, log: RequestLog(logs, on: loop),
        slowClients: SlowClients(transport)), on: loop)
  }

  /// Makes the server of a listener on this worker's loop.
  func server(
    for listener: Listener, _ settings: ListenerSettings, _ context: ListenerContext, limits: ServerLimits,
    tls: TLSSource?, tally: ServerTally, crowd: CrowdLog
  ) -> Server {
    Server(
      listener: listener, loop: loop, limits: limits, handler: ListenerHandler(current, from: context),
      refuses: settings.refusesPeer, expectsProxyHeader: settings.expectsProxyHeader, secure: tls?.makeChannel,
      tally: tally
    ) { [log, current] event in
      switch event {
      case .proxyHeaderRefused(let refusal, let peer): log.noteRefusal(refusal.rawValue, of: peer)
      case .handshakeFailed(let reason, let peer): log.noteRefusal(reason, of: peer)
      case .requestRefused(let refusal, let peer, let wasHandled):
        // A request that was being forwarded counts for its route instead.
        if !wasHandled {
          current.value.countRefused()
          current.value.recordRefused(refusal, of: peer, from: context)
        }
        log.debug(
          "request refused",
          ["status": .integer(refusal.status), "client": .string("\(peer)"), "text": .string(refusal.reason)])
      case .acceptFailed, .connectionsWait, .connectionEvicted: crowd.note(event)
      case .timedOut: break
      }
    }
  }

  func start() {
    loop.post { [current] in current.value.begin() }
  }

  /// Closes idle connections to upstreams that are gone, and to endpoints of such.
  func closeIdleConnections(to endpoints: [TransferEndpoint], _ upstreams: Set<Upstream>) {
    loop.post { [transport] in
      transport.value.closeIdleConnections(to: endpoints)
      if !upstreams.isEmpty { transport.value.closeIdleConnections(toOrigins: Set(upstreams.map(\.origin))) }
    }
  }

  /// Returns once new requests follow `plan`.
  func install(_ plan: ForwardingPlan) async {
    await catchUp { [current] in
      current.value = ActivePlan(plan, after: current.value)
      current.value.begin()
    }
  }

  /// Returns once the access log's writer has all lines of requests that have ended.
  func flushAccessLog() async {
    await catchUp { [current] in current.value.log.access.flush() }
  }

  /// Returns once the loop has done what it was asked for before, and `work`.
  func catchUp(_ work: @escaping @Sendable () -> Void = {}) async {
    await withCheckedContinuation { continuation in
      loop.post {
        work()
        continuation.resume()
      }
    }
  }

  /// Ends all transfers, and closes the connections to upstreams.
  func close() {
    loop.post { [transport] in transport.value.close() }
  }
}

/// Begins to forward the requests of one listener on one worker.
private final class ListenerHandler: RequestHandler {
  private let current: LoopBound<ActivePlan>
  private let context: ListenerContext

  init(_ current: LoopBound<ActivePlan>, from context: ListenerContext) {
    self.current = current
    self.context = context
  }

  func handle(_ exchange: Exchange) { Forwarding.start(exchange, from: context, plan: current.value) }
}

/// Hears of a worker's connections and upstreams, for the metrics and the log. The worker's requests tell the metrics
/// themselves.
private final class UpstreamObserver: DestinationObserver {
  private let metrics: (any SharedTransportObserver)?
  private let log: UpstreamLog

  init(metrics: (any SharedTransportObserver)?, log: UpstreamLog) {
    self.metrics = metrics
    self.log = log
  }

  var transportInterests: TransportInterests { (metrics?.transportInterests ?? []).union(.resilience) }

  func connection(_ event: ConnectionEvent) { metrics?.connection(event) }

  func destination(_ destination: Destination, availableRetries: Double) {
    metrics?.destination(destination, availableRetries: availableRetries)
  }

  func destination(_ destination: Destination, entered state: CircuitState) {
    metrics?.destination(destination, entered: state)
  }

  func destination(_ destination: Destination, entered state: OverloadState) {
    metrics?.destination(destination, entered: state)
  }

  func destination(_ destination: Destination, pause report: PauseReport) {
    metrics?.destination(destination, pause: report)
    let now = MonotonicTime.now
    log.note(destination) { $0.paced(report, at: now) }
  }

  func destination(_ destination: Destination, endpoint event: EndpointEvent) { log.note(event, of: destination) }

  func destination(_ destination: Destination, overload report: OverloadReport) {
    metrics?.destination(destination, overload: report)
    let now = MonotonicTime.now
    log.note(destination) { $0.report(report, at: now) }
  }
}

extension Logger {
  /// Logs a connection that ended before its first request.
  fileprivate func noteRefusal(_ reason: String, of peer: SocketAddress) {
    debug("connection refused", ["client": .string("\(peer)"), "text": .string(reason)])
  }
}
