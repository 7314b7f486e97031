import WeirCurl
import WeirIO
import WeirServer
import WeirTransport

/// A route whose requests say where they go, by their absolute targets or by CONNECT: the parts of its plans that all
/// authorities have in common.
final class RequestedRoute: Sendable {
  /// The number of its plans among all plans of a configuration.
  let number: Int
  let route: Route
  let fallback: ForwardingPlan.Fallback?
  let credential: OutboundCredential?
  /// The limits on the attempts at each authority.
  let controls: DestinationControls
  /// The addresses that are allowed, without those on which this process listens.
  let addresses: AddressPolicy
  private let maker: RoutePlan.Maker

  init(_ number: Int, _ route: Route, _ maker: RoutePlan.Maker, _ fallback: ForwardingPlan.Fallback?) {
    self.number = number
    self.route = route
    self.fallback = fallback
    self.maker = maker
    credential = maker.context.credentials[route.credential]
    controls = DestinationControls(of: route)
    addresses = AddressPolicy(route.destinationPolicy.rules, refusing: maker.context.listening)
  }

  /// The plan for the authority that a request names.
  func plan(of head: RequestHead) throws(TargetRefusal) -> RoutePlan {
    switch route.action {
    case .requested(let requested): plan(to: try requested.upstream(of: head))
    case .connect(let rule): plan(to: try rule.upstream(of: head.authority))
    case .upstream, .split, .redirect, .respond: throw .malformed("the route has an upstream of its own")
    }
  }

  /// The plan for an authority.
  func plan(to upstream: Upstream, at now: MonotonicTime = .now) -> RoutePlan {
    maker.context.authorities.plan(to: upstream, of: self, at: now) { maker.plan(of: self, to: upstream, at: $0) }
  }
}
