import WeirCurl
import WeirHTTP
import WeirIO
import WeirServer
import WeirTransport

// Requests that ask for another protocol (RFC 9110 §7.8), and what becomes of them.
extension Forwarding {
  /// The protocols that the request asks for, as far as the route allows them; nil for an ordinary request.
  func upgrade(by route: RoutePlan) -> String? {
    guard let tunnels = route.tunnels, knownMethod == .get, !isHTTP10, case .none = exchange.head.bodyLength else {
      return nil
    }
    return tunnels.rule.offered(by: exchange.head.fields)
  }

  /// Takes a place among the route's tunnels for a request that may need one. Returns false if there is none, which the
  /// client has been told.
  func takesTunnelPlace(_ request: OutgoingRequest) -> Bool {
    guard request.upgrade != nil, let gate = request.route.tunnels?.gate else { return true }
    guard gate.enter() else {
      answer(.tooManyTunnels, as: .busy)
      return false
    }
    tunnelGate = gate
    return true
  }

  /// Gives the place back, unless a tunnel has it.
  func leaveTunnelPlace() {
    tunnelGate?.leave()
    tunnelGate = nil
  }

  /// The upstream has switched to another protocol: passes its head on. That is the end of the request, its attempt, its
  /// slot and its timeout. What follows is the tunnel's.
  func openTunnel(_ attempt: Attempt, _ head: ResponseHead) -> Flow {
    guard let outgoing, let gate = tunnelGate, let rule = outgoing.route.tunnels?.rule else { return .stop }
    let policy = outgoing.route.headers
    var fields = WeirServer.ResponseFields(reservingBytes: 512)
    _ = policy.response(head, isHTTP10: false, to: &fields)
    policy.addUpgrade(of: head, to: &fields)
    if policy.responseRules.adds { withFacts { policy.responseRules.add(to: &fields, $0) } }
    addRequestID(to: &fields, unless: policy.responseRules)
    if fields.isRepaired { plan.countRepaired(route) }
    guard exchange.upgrade(fields: fields) else { return .stop }
    status = head.status
    tunnelGate = nil
    let tunnel = Tunnel(
      exchange, TunnelTerms(rule: rule, gate: gate), plan.tunnels(of: route), onEnd: tunnelEnd(of: outgoing.route))
    let transfer = attempt.handOver(to: tunnel)
    end(attempt)
    perform(machine.handedOver())
    if let transfer { tunnel.begin(transfer) }
    return .proceed
  }

  /// Makes the closure for the end of the tunnel, which takes over the request's places in limits.
  private func tunnelEnd(of target: RoutePlan) -> (TunnelOutcome, Double) -> Void {
    let log = tunnelLog(of: target)
    guard let places = limitPlaces else { return log }
    limitPlaces = nil
    return { outcome, seconds in
      places.leave()
      log(outcome, seconds)
    }
  }

  /// Makes the closure that logs the end of the tunnel. A request's line in the access log waits for that.
  private func tunnelLog(of target: RoutePlan) -> (TunnelOutcome, Double) -> Void {
    let log = plan.tunnelLog(of: route)
    guard plan.accessNames != nil else { return log }
    return { [self] outcome, seconds in
      log(outcome, seconds)
      recordAccess(
        outcome.rawValue, MonotonicTime.now.seconds(since: began), target, isCut: outcome != .success)
    }
  }
}
