import WeirCurl
import WeirIO
import WeirServer
import WeirTransport

// Another upstream, or a fixed response, in place of a failure of the gateway's own.
extension Forwarding {
  /// Replaces an answer of the gateway's own as the route says. Returns false if the route leaves it as it is.
  ///
  /// - Parameter outcome: The one that the answer would have.
  func fallsBack(from answer: GatewayAnswer, as outcome: GatewayOutcome) -> Bool {
    guard let request = outgoing, let fallback = request.route.fallback,
      fallback.statusCodes.contains(answer.status), failure != .cancelled, failure != .ended
    else { return false }
    switch fallback.action {
    case .answer(let replacement):
      logHidden(answer, outcome)
      self.answer(by: replacement, as: .answered)
      return true
    case .forward(let route): return forwards(request, by: route, from: answer, as: outcome)
    }
  }

  /// Sends the request to another upstream, once, if a retry of it could be sent there.
  private func forwards(
    _ request: OutgoingRequest, by route: RoutePlan, from answer: GatewayAnswer, as outcome: GatewayOutcome
  ) -> Bool {
    let now = MonotonicTime.now
    guard request.route.route.retry.methods.contains(request.method),
      case .forward(let fields, _, _) = exchange.head.withAuthorityBytes({ self.fields($0, by: route) })
    else { return false }
    let next = ExchangeAdmission(route.controls, state: plan.state(of: route), earnsRetryBudget: false)
    next.priority = admission.priority
    next.callerLeaves = admission.callerLeaves
    let verdict = next.verdict(
      on: .retry(after: 0, source: .backoff), canReplayBody: canReplayBody, deadline: tally.deadline,
      at: now)
    if case .deny(let reason) = verdict {
      denyFallback(by: next, reason)
      return false
    }
    logHidden(answer, outcome)
    admission = next
    outgoing = OutgoingRequest(fallback: request, after: machine.retries, by: route, fields: fields)
    machine = ExchangeMachine(mayRetry: route.mayConnectElsewhere)
    (failure, head, ending, grantedReason) = (nil, nil, nil, nil)
    isResponseBad = false
    tally.begins(at: now)
    beginExchange(by: route)
    return true
  }

  /// Logs the failure that a fallback hides. Refusals of load control have lines of their own.
  private func logHidden(_ answer: GatewayAnswer, _ outcome: GatewayOutcome) {
    if answer.refusal == nil { logFailure(outcome, status: answer.status, line: answer.line) }
  }

  /// Tells the observer that the other upstream refuses the request, as it refuses a retry.
  private func denyFallback(by next: ExchangeAdmission, _ reason: RetryDenial.Reason) {
    let own = admission
    admission = next
    observer?.exchange(self, didDenyRetry: reason)
    admission = own
  }
}
