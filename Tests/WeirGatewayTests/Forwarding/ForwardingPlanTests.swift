import Testing
import WeirHTTP

@testable import WeirGateway

@Suite struct ForwardingPlanTests {
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
    let plan = ForwardingPlan(routes, pseudonym: "weir", gates: UploadGates(limit: 4))
    let host: [UInt8] = [], target = Array("/a/x".utf8)
    let decision = plan.table.decide(host: host.span, target: target.span)
    #expect(decision == .forward(route: 0, target: "/a/x"))
    #expect(plan.routes.map(\.origin) == ["http://a/", "http://b/"])
    #expect(plan.routes.map(\.route.name) == ["a", "b"])
    #expect(plan.routes.map { $0.uploads.enter() } == [true, true])
  }
}
