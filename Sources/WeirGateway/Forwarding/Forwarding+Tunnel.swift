import WeirCurl
import WeirHTTP
import WeirIO
import WeirServer
import WeirTransport

// Requests that ask for another protocol (RFC 9110 §7.8) or for a tunnel (§9.3.6), and what becomes of them.
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
    guard let gate = request.route.tunnels?.gate, request.upgrade != nil || request.route.spec.opensTunnel else {
      return true
    }
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

  /// The upstream has switched to another protocol, or the connection for a CONNECT is there: tells the client. That is
  /// the end of the request, its attempt, its slot and its timeout. What follows is the tunnel's.
  func openTunnel(_ attempt: Attempt, _ head: ResponseHead) -> Flow {
    guard let outgoing, let gate = tunnelGate, let rule = outgoing.route.tunnels?.rule,
      exchange.upgrade(status: head.status, fields: tunnelFields(head, outgoing.route))
    else { return .stop }
    status = head.status
    isTunnel = true
    self.head = nil
    tunnelGate = nil
    let tunnel = Tunnel(
      exchange, TunnelTerms(rule: rule, gate: gate), plan.tunnels(of: route), onEnd: tunnelEnd(of: outgoing.route))
    let transfer = attempt.handOver(to: tunnel)
    // Its transfer goes on as the tunnel.
    end(attempt)
    perform(machine.handedOver())
    if let transfer { tunnel.begin(transfer) }
    return .proceed
  }

  /// The fields of the head with which a tunnel begins. That of a CONNECT is the gateway's own.
  private func tunnelFields(_ head: ResponseHead, _ route: RoutePlan) -> WeirServer.ResponseFields {
    var fields = WeirServer.ResponseFields(reservingBytes: 512)
    if route.spec.opensTunnel {
      addRequestID(to: &fields)
    } else {
      _ = route.headers.response(head, isHTTP10: false, to: &fields)
      complete(&fields, of: head, by: route.headers)
    }
    return fields
  }

  /// Makes the closure for the end of the tunnel, which takes over the request's permits. A request's line in the access
  /// log waits for that; without an access log the tunnel keeps nothing else of the request.
  private func tunnelEnd(of target: RoutePlan) -> (TunnelOutcome, Double) -> Void {
    let log = plan.log.log, name = routeName, permits = permits
    self.permits = nil
    let logged = plan.accessNames == nil ? nil : (request: self, target: target)
    return { outcome, seconds in
      permits?.release()
      log.debug(
        "tunnel", ["route": .string(name), "outcome": .string(outcome.rawValue), "seconds": .seconds(seconds)])
      guard let (request, target) = logged else { return }
      request.recordAccess(
        outcome.rawValue, MonotonicTime.now.seconds(since: request.began), target, isCut: outcome != .success)
    }
  }
}
