import Synchronization
import Testing
import WeirCurl
import WeirIO
import WeirTransport

@testable import WeirGateway

/// The authorities that requests name, as a process keeps them.
@Suite struct RequestedAuthoritiesTests {
  private let context = PlanContext(
    pseudonym: "weir", coders: Gate(limit: 1),
    credentials: CredentialRegistry(monitor: nil, log: Logger(level: .error)))
  private var authorities: RequestedAuthorities { context.authorities }

  private func requested(_ change: (inout Route) -> Void = { _ in }) -> [RequestedRoute] {
    var route = Route(name: "a", action: .requested(RequestedUpstream()))
    change(&route)
    let tunnels = Route(name: "b", match: RouteMatch(pathPrefix: "/b"), action: .connect(ConnectRule()))
    return ForwardingPlan(Configuration(routes: [route, tunnels]), context).requested
  }

  private func plan(_ route: RequestedRoute, _ url: String, at seconds: Double = 0) throws -> RoutePlan {
    route.plan(to: try Upstream(parsing: url), at: MonotonicTime(nanoseconds: 0).advanced(bySeconds: seconds))
  }

  @Test func eachHasAPlanAndAStateOfItsOwn() throws {
    let route = requested()[0]
    let plans = try ["http://a", "https://a", "http://a:81", "http://b"].map { try plan(route, $0) }
    #expect(plans.map(\.spec.url) == ["http://a/", "https://a/", "http://a:81/", "http://b/"])
    #expect(Set(plans.map(\.number)) == [route.number])
    #expect(Set(plans.compactMap(\.authority).map(ObjectIdentifier.init)).count == 4)
    #expect(Set(plans.map { ObjectIdentifier($0.uploads) }).count == 4)
    for plan in plans { #expect(try self.plan(route, plan.upstream.origin) === plan) }
    #expect(authorities.destinations.count == 4)
  }

  @Test func spellingsAndRoutesShareTheState() throws {
    let routes = requested()
    let plans = [
      try plan(routes[0], "http://a:443"), try plan(routes[0], "http://A.:443"), try plan(routes[1], "http://a:443"),
    ]
    #expect(Set(plans.compactMap(\.authority).map(ObjectIdentifier.init)).count == 1)
    #expect(Set(plans.map(ObjectIdentifier.init)).count == 3)
    #expect(authorities.destinations == [Destination(scheme: "http", host: "a", port: 443)])
  }

  @Test func aTunnelIsNoLoad() throws {
    let routes = requested { $0.circuitBreaker = CircuitBreaker() }
    let (request, tunnel) = (try plan(routes[0], "http://a"), try plan(routes[1], "http://a"))
    #expect(!request.spec.opensTunnel && tunnel.spec.opensTunnel)
    #expect(request.controls.overload != nil && tunnel.controls.overload == nil)
    #expect(request.controls.circuitBreaker != nil && tunnel.controls.circuitBreaker == nil)
    #expect(request.tunnels == nil)
    #expect(tunnel.tunnels?.rule.limit == 1024)
  }

  /// But none with requests under way.
  @Test func theLeastRecentlyUsedGo() throws {
    let route = requested()[0]
    let capacity = RequestedAuthorities.capacity
    let first = try plan(route, "http://h0", at: 0)
    #expect(first.uploads.enter())
    for number in 1..<capacity { _ = try plan(route, "http://h\(number)", at: Double(number)) }
    let used = try plan(route, "http://h1", at: Double(capacity))
    #expect(authorities.destinations.count == capacity)
    let forgotten = Mutex<Set<Upstream>>([])
    authorities.onForget { upstreams in forgotten.withLock { $0.formUnion(upstreams) } }
    _ = try plan(route, "http://new", at: Double(capacity + 1))
    let names = Set(authorities.destinations.map(\.host))
    #expect(names.count == capacity - capacity / 8 + 1)
    #expect(names.isSuperset(of: ["h0", "h1", "h999", "new"]))
    #expect(names.isDisjoint(with: ["h2", "h3", "h100"]))
    #expect(forgotten.withLock { $0.map(\.host).sorted() } == (2...126).map { "h\($0)" }.sorted())
    #expect(try plan(route, "http://h0") === first)
    #expect(try plan(route, "http://h1") === used)
    // One that has gone comes back anew.
    _ = try plan(route, "http://h2")
    #expect(authorities.destinations.count == names.count + 1)
  }

  @Test func aReloadKeepsStatesAndNoPlans() throws {
    let before = requested()
    let plan = try plan(before[0], "http://a")
    let after = requested { $0.timeout = .seconds(1) }
    authorities.follow(after)
    let next = try self.plan(after[0], "http://a")
    #expect(next !== plan)
    #expect(next.authority === plan.authority)
    #expect(next.timeout == 1)
    authorities.follow([])
    #expect(authorities.destinations.isEmpty)
  }

  @Test func thePolicyKnowsWhereTheProcessListens() throws {
    context.listening.follow([.loopback(port: 80)], of: "gateway")
    let plan = try plan(requested()[0], "http://127.0.0.1")
    let address = try #require(IPAddress("127.0.0.1"))
    #expect(plan.spec.addressPolicy?.refusal(of: address, port: 80) != nil)
    #expect(plan.spec.addressPolicy?.refusal(of: address, port: 81) == nil)
  }
}
