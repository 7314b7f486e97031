import Weir
import WeirIO
import WeirServer

/// One event loop with a server and a session on it: a forwarded request crosses no thread.
final class Worker: Sendable {
  let loop: EventLoop
  private let session: Session
  private let server: Server
  private let handler: ForwardingHandler

  init(
    number: Int, listener: Listener, plan: ForwardingPlan, destinations: DestinationTable,
    monitors: [any EventMonitor], metrics: GatewayMetrics, limits: ServerLimits, crowd: CrowdLog, log: Logger,
    failures: FailureLog
  ) throws(Errno) {
    loop = try EventLoop(name: "weir.gateway.\(number)")
    // Each request that is under way has a client's connection.
    session = Session(
      loop: loop, shared: destinations, configuration: .gateway(connections: limits.connections),
      eventMonitors: monitors)
    let handler = ForwardingHandler(
      session: session, plan: plan, metrics: metrics, log: log, failures: failures, loop: loop)
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
    server.start()
  }

  /// Returns when new requests follow `plan`.
  func install(_ plan: ForwardingPlan, _ metrics: GatewayMetrics) async {
    await withCheckedContinuation { continuation in
      loop.post { [handler] in
        handler.install(plan, metrics)
        continuation.resume()
      }
    }
  }

  /// Lets requests under way end, and cuts after `grace` seconds those that don't.
  func stop(grace: Double) async {
    await server.stop(grace: grace)
    session.invalidateAndCancel()
  }
}
