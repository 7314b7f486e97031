import WeirIO
import WeirServer
import WeirTransport

/// Forwards the requests of one worker's server by its transport. Called on the worker's loop.
final class ForwardingHandler: RequestHandler {
  private let transport: LoopBound<Transport>
  private let observer: (any SharedTransportObserver)?
  private let log: Logger
  private let requests: LoopBound<RequestLog>
  private let current: LoopBound<ActivePlan>

  init(
    transport: LoopBound<Transport>, plan: ForwardingPlan, metrics: GatewayMetrics,
    observer: (any SharedTransportObserver)?, log: Logger, failures: FailureLog
  ) {
    let loop = transport.loop
    self.transport = transport
    self.observer = observer
    self.log = log
    requests = LoopBound(RequestLog(log, failures, on: loop), on: loop)
    current = LoopBound(ActivePlan(plan, metrics, observer), on: loop)
  }

  func handle(_ exchange: Exchange) {
    Forwarding.start(exchange, plan: current.value, transport: transport.value, log: requests.value)
  }

  /// Requests from now on follow `plan`. On the loop.
  func install(_ plan: ForwardingPlan, _ metrics: GatewayMetrics) {
    current.value = ActivePlan(plan, metrics, observer)
  }

  /// Counts and logs a request that the server refused itself; one that was being forwarded counts for its route. On the
  /// loop.
  func noteRefusal(_ refusal: RequestRefusal, of peer: SocketAddress, wasHandled: Bool) {
    if !wasHandled { current.value.countRefused() }
    log.debug(
      "request refused",
      ["status": .integer(refusal.status), "client": .string("\(peer)"), "text": .string(refusal.reason)])
  }
}
