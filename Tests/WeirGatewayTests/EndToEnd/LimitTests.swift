import Foundation
import Testing
import Weir
import WeirCompression
import WeirIO
import WeirServer
import WeirTestSupport

@testable import WeirGateway

/// Limits on requests of a route, before upstreams that send exact bytes.
@Suite(.timeLimit(.minutes(5))) struct LimitTests {
  private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

  /// So seldom that no test sees a second token.
  private static let seldom = RequestRate(1, per: 3600)

  private static func route(
    to port: Int, rates: [RateLimit] = [], concurrency: [ConcurrencyLimit] = []
  ) throws -> Route {
    var route = try Route(to: port)
    route.limits.rates = rates
    route.limits.concurrency = concurrency
    return route
  }

  private static func limited(_ rig: GatewayRig, _ limit: String, enforced: Bool = true) -> Double? {
    rig.sample("weir_gateway_limited_total{route=\"r\",limit=\"\(limit)\",enforced=\"\(enforced)\"}")
  }

  /// The statuses of requests one after another on a connection.
  private static func statuses(
    _ count: Int, of rig: GatewayRig, _ request: (Int) -> String = { _ in get }
  ) throws -> [Int] {
    let client = try rig.client()
    return (0..<count).map { number in
      client.send(request(number))
      return client.response()?.status ?? 0
    }
  }

  // MARK: Rates

  @Test func beyondTheRateIsTooMany() throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try GatewayRig(Self.route(to: server.port, rates: [RateLimit("a", Self.seldom, burst: 2)]))
    #expect(Self.limited(rig, "a") == 0)
    #expect(rig.count("rate_limited") == 0)
    #expect(rig.count("busy") == nil)
    let client = try rig.client()
    for _ in 0..<2 {
      client.send(Self.get)
      #expect(client.response()?.status == 200)
    }
    client.send(Self.get)
    let response = client.response()
    #expect(response?.status == 429)
    #expect(response?.text == "too many requests have come\n")
    #expect(response?.values("Retry-After").first.flatMap { Int($0) }.map { (3500...3600).contains($0) } == true)
    // The connection is as good as before.
    client.send(Self.get)
    #expect(client.response()?.status == 429)
    #expect(eventually { rig.count("rate_limited") == 2 })
    #expect(Self.limited(rig, "a") == 2)
    #expect(rig.count("success") == 2)
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
    #expect(server.receivedText().split(separator: "GET ").count == 2)
  }

  @Test func tokensComeBack() throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try GatewayRig(Self.route(to: server.port, rates: [RateLimit("a", RequestRate(5), burst: 1)]))
    let client = try rig.client()
    var waits: Set<String> = []
    #expect(
      eventually {
        client.send(Self.get)
        waits.formUnion(client.response()?.values("Retry-After") ?? [])
        return rig.count("success") ?? 0 >= 3 && rig.count("rate_limited") ?? 0 >= 3
      })
    #expect(waits == ["1"])
  }

  @Test func withoutEnforcementTheyOnlyCount() throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    var limit = RateLimit("a", Self.seldom, burst: 2)
    limit.enforces = false
    var places = ConcurrencyLimit(1, key: .route)
    places.enforces = false
    let rig = try GatewayRig(Self.route(to: server.port, rates: [limit], concurrency: [places]))
    #expect(try Self.statuses(5, of: rig) == [200, 200, 200, 200, 200])
    #expect(eventually { Self.limited(rig, "a", enforced: false) == 3 })
    #expect(Self.limited(rig, "concurrency:route", enforced: false) == 0)
    #expect(rig.count("rate_limited") == 0)
  }

  @Test func eachHeaderValueHasItsOwn() throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    let limit = RateLimit("a", Self.seldom, burst: 1, key: .header("x-tenant"))
    let rig = try GatewayRig(Self.route(to: server.port, rates: [limit]))
    let fields = ["", "X-Tenant: a\r\n", "x-tenant: b\r\n", "", "X-Tenant: a\r\n", "X-TENANT: b\r\n"]
    let statuses = try Self.statuses(6, of: rig) { "GET / HTTP/1.1\r\nHost: h\r\n\(fields[$0])\r\n" }
    #expect(statuses == [200, 200, 200, 429, 429, 429])
  }

  /// A request that a later limit refuses takes nothing of an earlier one.
  @Test func severalLimitsAreOne() throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    let route = try Self.route(
      to: server.port,
      rates: [
        RateLimit("all", Self.seldom, burst: 3, key: .route),
        RateLimit("each", Self.seldom, burst: 1, key: .header("x-tenant")),
      ])
    let rig = try GatewayRig(route)
    let tenants = ["a", "a", "a", "a", "a", "b", "c", "d", "a"]
    let statuses = try Self.statuses(9, of: rig) { "GET / HTTP/1.1\r\nHost: h\r\nX-Tenant: \(tenants[$0])\r\n\r\n" }
    #expect(statuses == [200, 429, 429, 429, 429, 200, 200, 429, 429])
    #expect(eventually { rig.count("rate_limited") == 6 })
    #expect(Self.limited(rig, "each") == 4)
    #expect(Self.limited(rig, "all") == 2)
  }

  @Test func aTrustedProxysClientCounts() throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    var configuration = Configuration(routes: [
      try Self.route(to: server.port, rates: [RateLimit("a", Self.seldom, burst: 1)])
    ])
    var listener = ListenerSettings(name: "l", address: .loopback(port: 0))
    listener.trustedProxies = try ClientNetworks.parse(["127.0.0.1"])
    configuration.listeners = [listener]
    let rig = try GatewayRig(configuration)
    let clients = ["192.0.2.1", "192.0.2.2", "192.0.2.1", "2001:db8::1", "2001:db8::2", "::ffff:192.0.2.2"]
    let statuses = try Self.statuses(6, of: rig) {
      "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: \(clients[$0])\r\n\r\n"
    }
    #expect(statuses == [200, 200, 429, 200, 429, 429])
  }

  @Test func workersShareTheLimit() throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try GatewayRig(
      Self.route(to: server.port, rates: [RateLimit("a", Self.seldom, burst: 5)]), workers: 2)
    let statuses = try (0..<12).map { _ in try Self.statuses(1, of: rig)[0] }
    #expect(statuses.count { $0 == 200 } == 5)
  }

  @Test func aReloadKeepsBucketsUnlessTheKeyChanges() async throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    var limit = RateLimit("a", Self.seldom, burst: 2, key: .route)
    let rig = try GatewayRig(Self.route(to: server.port, rates: [limit]))
    #expect(try Self.statuses(3, of: rig) == [200, 200, 429])
    limit.burst = 3
    try await rig.gateway.reload(Configuration(routes: [Self.route(to: server.port, rates: [limit])]))
    #expect(try Self.statuses(2, of: rig) == [200, 429])
    limit.key = .standard
    try await rig.gateway.reload(Configuration(routes: [Self.route(to: server.port, rates: [limit])]))
    #expect(try Self.statuses(1, of: rig) == [200])
    limit.name = "b"
    try await rig.gateway.reload(Configuration(routes: [Self.route(to: server.port, rates: [limit])]))
    #expect(Self.limited(rig, "a") == nil)
    #expect(Self.limited(rig, "b") == 0)
    try await rig.gateway.reload(Configuration(routes: [Self.route(to: server.port)]))
    #expect(try Self.statuses(5, of: rig) == [200, 200, 200, 200, 200])
  }

  @Test func aRouteThatAnswersItselfIsLimitedToo() throws {
    var route = Route(name: "r", action: .respond(RouteResponse(status: 204)))
    route.limits.rates = [RateLimit("a", Self.seldom, burst: 1)]
    route.limits.concurrency = [ConcurrencyLimit(1)]
    let rig = try GatewayRig(route)
    #expect(try Self.statuses(2, of: rig) == [204, 429])
  }

  // MARK: Requests under way

  @Test(arguments: [(LimitKey.route, 503), (.standard, 429)])
  func beyondThePlacesIsBusy(key: LimitKey, status: Int) throws {
    let gate = Gate()
    let answer = Script.Step.send(okResponse("ok"))
    let server = try ScriptedServer(Script(.head, .wait(gate), answer, .forever([.head, answer])))
    let rig = try GatewayRig(Self.route(to: server.port, concurrency: [ConcurrencyLimit(1, key: key)]))
    let label = key == .route ? "concurrency:route" : "concurrency:client"
    #expect(Self.limited(rig, label) == 0)
    #expect(rig.count("busy") == 0)
    let first = try rig.client(), other = try rig.client()
    first.send(Self.get)
    #expect(eventually { server.receivedText().hasSuffix("\r\n\r\n") })
    other.send(Self.get)
    let response = other.response()
    #expect(response?.status == status)
    #expect(response?.values("Retry-After") == ["1"])
    #expect(eventually { rig.count("busy") == 1 })
    #expect(Self.limited(rig, label) == 1)
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
    gate.open()
    #expect(first.response()?.status == 200)
    first.send(Self.get)
    #expect(first.response()?.status == 200)
  }

  /// A request that finds no place takes no token.
  @Test func aBusyRouteTakesNoTokens() throws {
    let gate = Gate()
    let answer = Script.Step.send(okResponse("ok"))
    let server = try ScriptedServer(Script(.head, .wait(gate), answer, .forever([.head, answer])))
    let rig = try GatewayRig(
      Self.route(
        to: server.port, rates: [RateLimit("a", Self.seldom, burst: 2)], concurrency: [ConcurrencyLimit(1)]))
    let first = try rig.client()
    first.send(Self.get)
    #expect(eventually { server.receivedText().hasSuffix("\r\n\r\n") })
    let other = try rig.client()
    for _ in 0..<3 {
      other.send(Self.get)
      #expect(other.response()?.text == "too many of your requests are under way\n")
    }
    gate.open()
    #expect(first.response()?.status == 200)
    #expect(try Self.statuses(2, of: rig) == [200, 429])
    #expect(Self.limited(rig, "a") == 1)
  }

  /// How a request may end, after which its place is free.
  @Test(arguments: ["client", "reset", "upstream", "fallback", "reload"])
  func everyEndGivesThePlaceBack(end: String) async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.head, .wait(gate), .reset), Script(.forever([.head, .send(okResponse("ok"))])))
    var route = try Self.route(to: server.port, concurrency: [ConcurrencyLimit(1, key: .route)])
    route.overload = nil
    if end == "fallback" {
      route.fallback = RouteFallback(action: .respond(RouteResponse(status: 299)))
    }
    let rig = try GatewayRig(route)
    let client = try rig.client(), other = try rig.client()
    client.send(Self.get)
    #expect(eventually { server.receivedText().hasSuffix("\r\n\r\n") })
    other.send(Self.get)
    #expect(other.response()?.status == 503)
    switch end {
    case "client": client.halfClose()
    case "reset": client.reset()
    case "reload":
      try await rig.gateway.reload(Configuration(routes: [route]))
      other.send(Self.get)
      #expect(other.response()?.status == 503)
    default: break
    }
    gate.open()
    if end == "upstream" || end == "reload" { #expect(client.response()?.status == 502) }
    if end == "fallback" { #expect(client.response()?.status == 299) }
    #expect(
      eventually {
        other.send(Self.get)
        return other.response()?.status == 200
      })
    #expect(try Self.statuses(3, of: rig) == [200, 200, 200])
  }

  @Test(.enabled(if: isOwnEngine)) func aTunnelHasAPlaceUntilItsEnd() throws {
    let switching = "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    let server = try ScriptedServer(
      Script(.head, .send(switching), .awaitEnd), Script(.forever([.head, .send(okResponse("ok"))])))
    var route = try Self.route(to: server.port, concurrency: [ConcurrencyLimit(1, key: .route)])
    route.upgrade = TunnelRule(protocols: ["websocket"])
    let rig = try GatewayRig(route)
    let client = try rig.client(), other = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    #expect(eventually { rig.sample("weir_gateway_open_tunnels{route=\"r\"}") == 1 })
    // For all other metrics the request is over.
    #expect(rig.count("success") == 1)
    other.send(Self.get)
    #expect(other.response()?.status == 503)
    client.halfClose()
    #expect(
      eventually {
        other.send(Self.get)
        return other.response()?.status == 200
      })
    #expect(try Self.statuses(3, of: rig) == [200, 200, 200])
  }

  // MARK: Bodies

  private static func bodyRig(
    _ server: ScriptedServer, _ limit: Int64, _ change: (inout Route) -> Void = { _ in }
  ) throws -> GatewayRig {
    var route = try Route(to: server.port)
    route.bodyBytes = limit
    change(&route)
    return try GatewayRig(route)
  }

  @Test func aLongerBodyIsRefusedAtOnce() throws {
    let server = try ScriptedServer(Script(.forever([.request, .send(okResponse("ok"))])))
    let rig = try Self.bodyRig(server, 5)
    #expect(rig.count("too_large") == 0)
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12345")
    #expect(client.response()?.status == 200)
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\n")
    let response = client.response()
    #expect(response?.status == 413)
    #expect(response?.text == "the body is larger than this route takes\n")
    #expect(client.rest().isEmpty)
    #expect(eventually { rig.count("too_large") == 1 })
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
  }

  @Test func moreInChunksIsRefused() throws {
    let server = try ScriptedServer(
      Script(.forever([.head, .chunkedBody, .send(okResponse("ok"))])))
    let rig = try Self.bodyRig(server, 5)
    let client = try rig.client()
    let head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    client.send(head + "5\r\n12345\r\n0\r\n\r\n")
    #expect(client.response()?.status == 200)
    client.send(head + "5\r\n12345\r\n1\r\n6\r\n")
    #expect(client.response()?.status == 413)
    #expect(eventually { rig.count("too_large") == 1 })
    #expect(!server.receivedText().contains("6\r\n"))
  }

  /// More than is kept: the request is under way when its body turns out to be too large.
  @Test func moreThanIsKeptIsRefusedToo() throws {
    let server = try ScriptedServer(Script(.head, .awaitClose))
    let rig = try Self.bodyRig(server, 300_000)
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
    let chunk = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
    for _ in 0..<6 { client.send(chunk) }
    #expect(client.response()?.status == 413)
    #expect(eventually { rig.count("too_large") == 1 })
    // The upstream must not take it for a whole body.
    #expect(eventually { server.closedByClientCount == 1 })
    #expect(!server.receivedText().hasSuffix("0\r\n\r\n"))
  }

  @Test func aResponseThatHasBegunIsCutOff() throws {
    let server = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart"), .awaitClose))
    let rig = try Self.bodyRig(server, 300_000)
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
    let chunk = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
    for _ in 0..<4 { client.send(chunk) }
    #expect(client.awaitBytes())
    for _ in 0..<2 { client.send(chunk) }
    #expect(client.response()?.isComplete == false)
    #expect(eventually { rig.count("too_large") == 1 })
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
  }

  @Test func aDecodedBodyIsLimitedToo() throws {
    let server = try ScriptedServer(Script(.forever([.head, .chunkedBody, .send(okResponse("ok"))])))
    let rig = try Self.bodyRig(server, 1000) {
      var rules = CompressionRules()
      rules.decodesRequests = true
      $0.compression = rules
    }
    let client = try rig.client()
    for (size, status) in [(1000, 200), (1001, 413)] {
      let body = try Compression.deflate([UInt8](repeating: 0, count: size), .gzip)
      client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n")
      client.send(body)
      #expect(client.response()?.status == status)
    }
    #expect(eventually { rig.count("too_large") == 1 })
  }
}
