import Weir
import WeirIO
import WeirServer

/// Forwards the requests of one worker's server through its session. Called on the worker's loop.
final class ForwardingHandler: RequestHandler {
  private let session: Session
  private let log: Logger
  private let current: LoopBound<ActivePlan>

  init(session: Session, plan: ForwardingPlan, metrics: GatewayMetrics, log: Logger, loop: EventLoop) {
    self.session = session
    self.log = log
    current = LoopBound(ActivePlan(plan, metrics), on: loop)
  }

  func handle(_ exchange: Exchange) {
    Forwarding.start(exchange, plan: current.value, session: session, log: log)
  }

  /// Requests from now on follow `plan`. On the loop.
  func install(_ plan: ForwardingPlan, _ metrics: GatewayMetrics) {
    current.value = ActivePlan(plan, metrics)
  }

  /// Counts a request that the server refused before it got here. On the loop.
  func countRefused() {
    current.value.countRefused()
  }
}
