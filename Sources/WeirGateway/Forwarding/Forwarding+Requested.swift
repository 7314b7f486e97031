import WeirCurl
import WeirServer
import WeirTransport

// Requests of clients for which the gateway is their proxy: they say themselves where they go.
extension Forwarding {
  /// The plan for the authority that the request names. Nil if it may not go there, of which the client has been told.
  func requestedPlan(of route: RequestedRoute) -> RoutePlan? {
    do throws(TargetRefusal) {
      return try route.plan(of: exchange.head)
    } catch {
      switch error {
      case .malformed(let reason): answer(.badTarget(reason), as: .refused)
      case .forbidden(let upstream, let reason): answer(.forbidden(upstream, reason), as: .forbidden)
      }
      return nil
    }
  }

  /// Opens a connection to the place that a CONNECT names. Nothing of the request goes there.
  func connect(by route: RoutePlan) {
    forward(
      OutgoingRequest(
        route: route, method: "CONNECT", target: "", fields: HeaderBlock(), body: .none, retriesBefore: 0),
      SchedulingHints())
  }

  /// The path as logs and pages show it. A CONNECT has the host and port in its place.
  var shownPath: String { exchange.head.form == .authority ? exchange.head.authority : exchange.head.path }

  /// Whether a proxy on the way has failed, or has refused the request.
  var isOfProxy: Bool { failure?.transferFailure?.isOfProxy ?? false }

  /// Whether the client has asked for an address to which it may not go.
  var isForbidden: Bool {
    outgoing?.route.authority != nil && failure?.transferFailure?.isDestinationRefused ?? false
  }

  /// Answers a request that has failed at an authority. Returns false, and answers nothing, if the answer is the same
  /// as for an upstream of the configuration.
  func answersRequested(_ outcome: RequestOutcome) -> Bool {
    guard let route = outgoing?.route, route.authority != nil, let failure = failure?.transferFailure else {
      return false
    }
    if failure.isDestinationRefused {
      answer(.forbidden(route.upstream, failure.text), as: .forbidden)
      return true
    }
    guard route.spec.opensTunnel, failure.proxyKind == nil else { return false }
    switch GatewayAnswer(outcome).status {
    case 502: answer(.noTunnel(to: route.upstream, Redaction.errorText(failure.text)), as: .forwarded(outcome))
    case 504: answer(.lateTunnel(to: route.upstream), as: .forwarded(outcome))
    default: return false
    }
    return true
  }
}
