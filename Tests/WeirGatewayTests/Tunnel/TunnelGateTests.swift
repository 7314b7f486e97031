import Testing

@testable import WeirGateway

@Suite struct TunnelGateTests {
  private static func route(_ name: String, limit: Int?) throws -> Route {
    var route = try Route(to: 1, name: name)
    if let limit {
      route.upgrade = TunnelRule(protocols: ["websocket"])
      route.upgrade?.limit = limit
    }
    return route
  }

  @Test func placesAreTakenAndGivenBack() {
    let gate = TunnelGate(limit: 2)
    #expect([gate.enter(), gate.enter(), gate.enter()] == [true, true, false])
    gate.leave()
    #expect([gate.enter(), gate.enter()] == [true, false])
  }

  @Test func aReloadKeepsTheCountOfARoute() throws {
    let gates = TunnelGates()
    let first = try gates.follow([Self.route("a", limit: 2), Self.route("b", limit: nil)])
    #expect(Array(first.keys) == ["a"])
    #expect(first["a"]?.enter() == true)
    let second = try gates.follow([Self.route("a", limit: 1)])
    #expect(second["a"] === first["a"])
    #expect(second["a"]?.enter() == false)
  }

  @Test func tunnelsCountWhenTheirRouteIsBack() throws {
    let gates = TunnelGates()
    let first = try gates.follow([Self.route("a", limit: 1)])["a"]
    #expect(first?.enter() == true)
    for _ in 0..<2 { #expect(gates.follow([]).isEmpty) }
    let second = try gates.follow([Self.route("a", limit: 1)])["a"]
    #expect(second?.enter() == false)
    first?.leave()
    #expect(second?.enter() == true)
  }

  @Test func anEmptyGateLeavesWithItsRoute() throws {
    let gates = TunnelGates()
    let first = try gates.follow([Self.route("a", limit: 1)])["a"]
    #expect(gates.follow([]).isEmpty)
    #expect(try gates.follow([Self.route("a", limit: 1)])["a"] !== first)
  }
}
