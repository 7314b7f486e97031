import Weir
import WeirIO
import WeirServer

/// Forwards the requests of one worker's server through its session. Called on the worker's loop.
final class ForwardingHandler: RequestHandler {
  private let session: Session
  private let log: Logger
  private let requests: LoopBound<RequestLog>
  private let current: LoopBound<ActivePlan>

  init(
    session: Session, plan: ForwardingPlan, metrics: GatewayMetrics, log: Logger, failures: FailureLog, loop: EventLoop
  ) {
    self.session = session
    self.log = log
    requests = LoopBound(RequestLog(log, failures, on: loop), on: loop)
    current = LoopBound(ActivePlan(plan, metrics), on: loop)
  }

  func handle(_ exchange: Exchange) {
    Forwarding.start(exchange, plan: current.value, session: session, log: requests.value)
  }

  /// Requests from now on follow `plan`. On the loop.
  func install(_ plan: ForwardingPlan, _ metrics: GatewayMetrics) {
    current.value = ActivePlan(plan, metrics)
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
