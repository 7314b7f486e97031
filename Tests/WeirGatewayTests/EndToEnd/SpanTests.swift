import Foundation
import Testing
import WeirMetrics
import WeirOTLP
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// The spans of requests on their way through a gateway.
@Suite(.timeLimit(.minutes(5))) struct SpanTests {
  private static let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
  private static let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  private let bin = SpanBin()

  private func rig(_ routes: Route..., change: (inout Configuration) -> Void = { _ in }) throws -> GatewayRig {
    var configuration = Configuration(routes: routes)
    configuration.trace = TraceSettings(begins: true, sample: 1)
    change(&configuration)
    return try GatewayRig(configuration, spans: bin)
  }

  @discardableResult
  private func ask(_ rig: GatewayRig, _ line: String = "GET /a/b?secret=1", _ fields: String = "") throws -> Int? {
    let client = try rig.client()
    client.send("\(line) HTTP/1.1\r\nHost: shop.test:81\r\nUser-Agent: test/1\r\n\(fields)\r\n")
    return client.response()?.status
  }

  /// Their parents are there, and all are of one trace.
  private func expectJoined(_ parent: UInt64 = 0) {
    let ids = Set(bin.all.map(\.place.id))
    #expect(ids.count == bin.all.count && !ids.contains(0))
    #expect(Set(bin.all.map { [$0.place.high, $0.place.low] }).count == 1)
    #expect(bin.request?.parent == parent)
    #expect(bin.attempts.allSatisfy { $0.parent == bin.request?.place.id && $0.start <= $0.end })
  }

  @Test(arguments: [
    ("shop.test", "shop.test", 80), ("shop.test.", "shop.test", 80), ("[::1]:8443", "::1", 8443), ("[::1]", "::1", 80),
    ("shop.test:99999", "shop.test", 80), ("shop.test:", "shop.test", 80),
  ]) func theServerIsWhatTheClientAskedFor(host: String, address: String, port: Int) throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let rig = try rig(Route(to: server.port))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
    #expect(client.response()?.status == 200)
    #expect(eventually { bin.request != nil })
    #expect(bin.request?.text("server.address") == address && bin.request?["server.port"] == .integer(port))
  }

  @Test func aRequestAndItsAttempt() throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    #expect(try ask(rig(Route(to: server.port))) == 200)
    #expect(eventually { bin.all.count == 2 })
    expectJoined()
    let request = try #require(bin.request), attempt = try #require(bin.attempts.first)
    #expect(request.name == "GET r" && attempt.name == "GET")
    #expect(!request.isError && !attempt.isError && !request.hasRemoteParent)
    #expect(request.start <= attempt.start && attempt.end <= request.end)
    #expect(request.text("http.request.method") == "GET" && request.text("url.path") == "/a/b")
    #expect(request.text("url.scheme") == "http" && request.text("http.route") == "r")
    #expect(request["http.response.status_code"] == .integer(200))
    #expect(request.text("server.address") == "shop.test" && request["server.port"] == .integer(81))
    #expect(request.text("client.address") == "127.0.0.1" && request.text("user_agent.original") == "test/1")
    #expect(request.text("network.protocol.version") == "1.1" && request.text("weir.outcome") == "success")
    #expect(attempt.text("url.full") == "http://127.0.0.1:\(server.port)/a/b")
    #expect(attempt.text("server.address") == "127.0.0.1" && attempt["server.port"] == .integer(server.port))
    #expect(attempt["http.response.status_code"] == .integer(200) && attempt["http.request.resend_count"] == nil)
    #expect(attempt.text("network.peer.address") == "127.0.0.1")
    #expect(attempt["network.peer.port"] == .integer(server.port))
    #expect(attempt.text("network.protocol.version") == "1.1")
    #expect(!bin.all.contains { "\($0)".contains("secret") })
  }

  @Test func theCallersSpanIsTheParent() throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    #expect(try ask(rig(Route(to: server.port)), "GET /", "traceparent: \(Self.traceparent)\r\n") == 200)
    #expect(eventually { bin.all.count == 2 })
    expectJoined(0x00f0_67aa_0ba9_02b7)
    #expect(bin.request?.hasRemoteParent == true)
    #expect(bin.request?.place.high == 0x4bf9_2f35_77b3_4da6)
  }

  @Test func retriesAreSiblingsWithLinks() throws {
    let server = try ScriptedServer(
      Script(.head, .send(Self.busy), .head, .send(Self.busy), .head, .send(okResponse("")), .awaitClose))
    var route = try Route(to: server.port)
    route.retry.limit = 3
    #expect(try ask(rig(route)) == 200)
    #expect(eventually { bin.all.count == 4 })
    expectJoined()
    let attempts = bin.attempts
    #expect(attempts.map { $0["http.request.resend_count"] } == [nil, .integer(1), .integer(2)])
    #expect(attempts.map { $0.text("weir.retry.reason") } == [nil, "503", "503"])
    #expect(attempts.map(\.links) == [[], [attempts[0].place], [attempts[1].place]])
    #expect(attempts.map(\.isError) == [true, true, false])
    #expect(attempts[0].text("error.type") == "503")
    let request = try #require(bin.request)
    #expect(!request.isError && request.events.map(\.name) == ["retry", "retry"])
  }

  @Test func aDeniedRetryIsAnEvent() throws {
    let server = try ScriptedServer(.answering(Self.busy))
    var route = try Route(to: server.port)
    route.retry.limit = 3
    route.retry.budget = RetryBudget(ratio: 0, minimumPerSecond: 0, burst: 0)
    #expect(try ask(rig(route)) == 503)
    #expect(eventually { bin.all.count == 2 })
    let request = try #require(bin.request)
    #expect(request.isError && request.text("error.type") == "503")
    #expect(request.events.map(\.name) == ["retry denied"])
    #expect(request.events.first?.attributes == [Attribute("weir.retry.denied", "budget")])
  }

  @Test func aHedgeHasALink() throws {
    let server = try ScriptedServer(Script(.head, .awaitClose), Script(.head, .send(okResponse("")), .awaitClose))
    var route = try Route(to: server.port)
    route.hedge = HedgePlan(delay: .seconds(0.05), limit: 1)
    #expect(try ask(rig(route)) == 200)
    #expect(eventually { bin.all.count == 3 })
    expectJoined()
    let attempts = bin.attempts
    #expect(attempts.map { $0["weir.hedge"] } == [nil, .boolean(true)])
    #expect(attempts.map(\.links) == [[], [attempts[0].place]])
    // The one that is of no use any more has not failed.
    #expect(attempts.map { $0.text("weir.outcome") } == ["abandoned", nil] && attempts.allSatisfy { !$0.isError })
  }

  @Test func aFallbackIsAnEvent() throws {
    let (first, second) = (try ScriptedServer(Script(.head, .close)), try ScriptedServer(.answering(okResponse(""))))
    var route = try Route(to: first.port)
    route.fallback = RouteFallback(action: .upstream(try Upstream(parsing: "http://127.0.0.1:\(second.port)")))
    #expect(try ask(rig(route)) == 200)
    #expect(eventually { bin.all.count == 3 })
    expectJoined()
    let request = try #require(bin.request), attempts = bin.attempts
    #expect(!request.isError && request.events.map(\.name).contains("fallback"))
    #expect(attempts.map(\.isError) == [true, false] && attempts[1].links == [attempts[0].place])
    #expect(attempts.map { $0["server.port"] } == [.integer(first.port), .integer(second.port)])
  }

  @Test func longTextsAreCut() throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let long = String(repeating: "a", count: 5000)
    let rig = try rig(Route(to: server.port))
    let client = try rig.client()
    client.send("GET /\(long) HTTP/1.1\r\nHost: h\r\nUser-Agent: \(long)\r\n\r\n")
    #expect(client.response()?.status == 200)
    #expect(eventually { bin.all.count == 2 })
    #expect(bin.request?.text("user_agent.original")?.count == 512 && bin.request?.text("url.path")?.count == 512)
    #expect(bin.attempts.first?.text("url.full")?.count == 512)
    // One character, however many octets it has.
    let marks = "e" + String(repeating: "\u{301}", count: 4000)
    client.send("GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: \(marks)\r\n\r\n")
    #expect(client.response()?.status == 200)
    #expect(eventually { bin.all.count == 4 })
    #expect(bin.all.allSatisfy { $0.text("user_agent.original")?.utf8.count ?? 0 <= 520 })
  }

  @Test func whatReachesNobodyHasOneSpan() throws {
    #expect(try ask(rig(Route(to: LoopbackPort.free(), path: "/other"))) == 404)
    #expect(eventually { bin.all.count == 1 })
    let request = try #require(bin.request)
    #expect(request.name == "GET" && !request.isError && request.text("weir.outcome") == "no_route")
  }

  @Test func anUpstreamThatIsDown() throws {
    #expect(try ask(rig(Route(to: LoopbackPort.free())), "BREW /pot") == 502)
    #expect(eventually { bin.all.count == 2 })
    let request = try #require(bin.request), attempt = try #require(bin.attempts.first)
    #expect(request.name == "HTTP r" && attempt.name == "HTTP")
    #expect(request.text("http.request.method") == "_OTHER")
    #expect(request.text("http.request.method_original") == "BREW")
    #expect(request.isError && attempt.isError)
    #expect(request.text("error.type") == "cannot_connect_to_host")
    #expect(attempt.text("error.type") == "cannot_connect_to_host")
  }

  @Test func linesAndExemplarsNameTheSpan() throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let directory = try TemporaryDirectory()
    let rig = try rig(Route(to: server.port)) {
      $0.accessLog = AccessLogSettings(to: .file("\(directory.path)/log"))
    }
    #expect(try ask(rig) == 200)
    #expect(eventually { bin.all.count == 2 })
    let id = TraceContext.digits(try #require(bin.request).place.id)
    var line = ""
    #expect(
      eventually {
        line = (try? String(contentsOfFile: "\(directory.path)/log", encoding: .utf8)) ?? ""
        return line.hasSuffix("\n")
      })
    #expect(line.contains("\",\"span_id\":\"\(id)\""))
    let page = rig.registry.text(Exposition(.openMetrics))
    for name in ["http_server_request_duration_seconds", "weir_request_duration_seconds"] {
      #expect(page.split(separator: "\n").contains { $0.hasPrefix(name) && $0.contains(",span_id=\"\(id)\"}") })
    }
  }

  // MARK: Failures of traces that are not sampled

  private func keeping(_ route: Route, slower seconds: Double? = nil) throws -> GatewayRig {
    try rig(route) { $0.trace = TraceSettings(begins: true, sample: 0, keepsFailures: true, keepsSlower: seconds) }
  }

  @Test func failuresAreKept() throws {
    let server = try ScriptedServer(.answering(Self.busy))
    let unsampled = Self.traceparent.dropLast() + "0"
    #expect(try ask(keeping(Route(to: server.port)), "GET /", "traceparent: \(unsampled)\r\n") == 503)
    #expect(eventually { bin.all.count == 2 })
    expectJoined(0x00f0_67aa_0ba9_02b7)
    #expect(bin.all.allSatisfy { $0.flags == 0 })
    // The upstream decides as its caller has.
    #expect(server.requestHeads.first?.contains("traceparent: \(unsampled)\r\n") == true)
  }

  @Test func whatWasRetriedIsKept() throws {
    let server = try ScriptedServer(Script(.head, .send(Self.busy), .head, .send(okResponse("")), .awaitClose))
    var route = try Route(to: server.port)
    route.retry.limit = 1
    #expect(try ask(keeping(route)) == 200)
    #expect(eventually { bin.all.count == 3 })
    expectJoined()
    let sent = server.requestHeads.compactMap { head in
      head.components(separatedBy: "\r\n").first { $0.hasPrefix("traceparent: ") }
    }
    let id = TraceContext.digits(try #require(bin.request).place.id)
    #expect(sent.count == 2 && sent.allSatisfy { $0.hasSuffix("-\(id)-00") })
  }

  @Test(arguments: [(0.0, 2), (60, 0)]) func whatWasSlowIsKept(seconds: Double, count: Int) throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    #expect(try ask(keeping(Route(to: server.port), slower: seconds)) == 200)
    #expect(eventually { bin.all.count == count })
  }

  @Test func whatIsNotSampledHasNone() throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let unsampled = Self.traceparent.dropLast() + "0"
    #expect(try ask(rig(Route(to: server.port)), "GET /", "traceparent: \(unsampled)\r\n") == 200)
    #expect(server.requestHeads.first?.contains("traceparent: \(unsampled)\r\n") == true)
    #expect(bin.all.isEmpty)
  }
}
