import Testing
import WeirCurl
import WeirHTTP
import WeirTransport

@testable import WeirGateway

@Suite struct ForwardingPlanTests {
  private let context = PlanContext(
    pseudonym: "weir", coders: Gate(limit: 1),
    credentials: CredentialRegistry(monitor: nil, log: Logger(level: .error)))

  @Test func pseudonymsAreTokensOfOneLength() {
    var random = Xorshift(state: 9)
    let names = (0..<1000).map { _ in ForwardingPlan.pseudonym(using: &random) }
    #expect(Set(names).count == names.count)
    #expect(names.allSatisfy { $0.hasPrefix("weir-") && $0.count == 13 && FieldSyntax.isToken($0.utf8) })
  }

  @Test func routesKeepTheirPlaces() throws {
    let routes = [
      Route(name: "a", match: RouteMatch(pathPrefix: "/a"), upstream: try Upstream(parsing: "http://a")),
      Route(name: "b", upstream: try Upstream(parsing: "http://b")),
    ]
    let plan = ForwardingPlan(Configuration(routes: routes), context)
    #expect(plan.table.decide("", "/a/x") == .forward(route: 0, target: "/a/x"))
    #expect(plan.forwarding.map(\.spec.url) == ["http://a/", "http://b/"])
    #expect(plan.forwarding.map(\.route.name) == ["a", "b"])
    #expect(Set(plan.forwarding.map { ObjectIdentifier($0.uploads) }).count == 2)
  }

  /// An entry may bound the silence of its upstream, and a route that of its requests. Streams are bounded anyway.
  @Test(arguments: [
    ("", "", 0, 300), ("20s", "", 20, 20), ("off", "", 0, 0), ("", "5s", 5, 5), ("20s", "5s", 5, 5),
    ("20s", "off", 0, 0), ("off", "5s", 5, 5),
  ])
  func theSilenceOfAnUpstream(entry: String, own: String, usual: Double, ofStreams: Double) throws {
    func key(_ value: String) -> String { value.isEmpty ? "" : ", silenceTimeout: \(value)" }
    let text = """
      upstreams: [{name: u, endpoints: ["127.0.0.1:1"]\(key(entry))}]
      routes: [{name: r, upstream: u\(key(own))}]
      """
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    let plan = ForwardingPlan(configuration, context)
    #expect(plan.forwarding.map(\.spec.silenceTimeout) == [usual])
    #expect(plan.forwarding.map(\.streamSilence) == [ofStreams])
  }

  @Test(arguments: [
    (["http://127.0.0.1:80", "http://127.1", "http://0x7f.1", "http://2130706433"], "127.0.0.1"),
    (["http://[::1]", "http://[0:0:0:0:0:0:0:1]"], "::1"), (["http://h", "http://H."], "h"),
  ])
  func spellingsOfOneHostAreOneUpstream(texts: [String], host: String) throws {
    let routes = try texts.map { Route(name: $0, upstream: try Upstream(parsing: $0)) }
    let plan = ForwardingPlan(Configuration(routes: routes), context)
    #expect(plan.upstreams.keys.map(\.host) == [host])
    #expect(Set(plan.forwarding.map { ObjectIdentifier($0.uploads) }).count == 1)
  }

  @Test func aReloadKeepsTheTunnelsOfARoute() throws {
    var tunnelling = Route(name: "a", upstream: try Upstream(parsing: "http://a"))
    tunnelling.upgrade = TunnelRule(protocols: ["websocket"])
    tunnelling.upgrade?.limit = 2
    let plain = Route(name: "b", upstream: try Upstream(parsing: "http://b"))
    let first = ForwardingPlan(Configuration(routes: [tunnelling, plain]), context).forwarding.map(\.tunnels?.gate)
    #expect(first.map { $0?.enter() } == [true, nil])
    tunnelling.upgrade?.limit = 1
    let second = ForwardingPlan(Configuration(routes: [tunnelling]), context).forwarding.map(\.tunnels?.gate)
    #expect(second.map { $0?.enter() } == [false])
  }
}

extension ForwardingPlan {
  /// The plans of the routes that forward.
  fileprivate var forwarding: [RoutePlan] {
    work.compactMap { if case .forward(let plan) = $0 { plan } else { nil } }
  }
}
