import Synchronization
import Testing
import Weir
import WeirIO
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// What a client sees when an upstream, or it itself, breaks off.
@Suite(.slow, .serialized) struct FailureTests {
  @Test func nothingListens() throws {
    let upstream = try ScriptedServer(Script(.close))
    let port = upstream.port
    upstream.stop()
    let rig = try GatewayRig(Route(to: port))
    let client = try rig.client()
    client.send("GET /?token=secret HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try #require(client.response())
    #expect(response.status == 502)
    #expect(response.text == "the upstream can't be reached or broke off\n")
    #expect(eventually { rig.count("transport_error") == 1 })
  }

  @Test func silenceEndsWithTheTimeout() throws {
    let upstream = try BlackHole()
    var route = try Route(to: upstream.port)
    route.timeout = .seconds(1)
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try #require(client.response())
    #expect(response.status == 504)
    #expect(response.text == "the upstream did not answer in time\n")
    #expect(eventually { rig.count("timeout") == 1 && upstream.closedByClientCount == 1 })
  }

  /// With status, client and reason, and nothing of the request: secrets travel there.
  @Test func whatTheServerRefusesIsLoggedAtDebug() throws {
    let lines = Mutex("")
    let log = Logger(level: .debug, format: .logfmt) { line in
      lines.withLock { $0 += String(decoding: line, as: UTF8.self) }
    }
    let rig = try GatewayRig(Route(to: 1), log: log)
    let requests = [
      ("GET /?token=secret HTTP/1.1\r\n\r\n", 400),
      ("GET /\(String(repeating: "secret", count: 2000)) HTTP/1.1\r\nHost: h\r\n\r\n", 414),
      ("GET / HTTP/1.1\r\nHost: h\r\nCookie: \(String(repeating: "secret", count: 8000))\r\n\r\n", 431),
      ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: secret, chunked\r\n\r\n", 501),
      ("GET /secret HTTP/3.0\r\nHost: h\r\n\r\n", 505),
    ]
    for (request, status) in requests {
      let client = try rig.client()
      client.send(request)
      #expect(client.response()?.status == status)
    }
    #expect(eventually { lines.withLock { $0.split(separator: "\n").count } >= requests.count })
    let text = lines.withLock { $0.split(separator: "\n") }
    try #require(text.count == requests.count, "\(text)")
    for (line, (_, status)) in zip(text, requests) {
      #expect(line.contains(" level=debug msg=\"request refused\" status=\(status) client=127.0.0.1:"), "\(line)")
      #expect(line.contains(" text=\"") && !line.contains("secret"), "\(line)")
    }
    #expect(
      eventually { rig.sample("weir_gateway_requests_total{route=\"\",outcome=\"refused\"}") == Double(requests.count) }
    )
  }

  @Test func aBodyThatBreaksTheRulesWhileItIsForwardedCountsOnce() throws {
    let upstream = try BlackHole()
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    client.send("xyz\r\n")
    #expect(client.response()?.status == 400)
    #expect(eventually { rig.count("refused") == 1 })
    #expect(rig.count("cancelled") == 0)
    #expect(rig.sample("weir_gateway_requests_total{route=\"\",outcome=\"refused\"}") == 0)
  }

  /// At the default level, where requests that went well leave no line.
  @Test func whatFailedIsLogged() throws {
    let gate = Gate()
    let upstream = try ScriptedServer(
      .once("HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
      Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"), .wait(gate), .close))
    let lines = Mutex("")
    let log = Logger(level: .info, format: .logfmt) { line in
      lines.withLock { $0 += String(decoding: line, as: UTF8.self) }
    }
    let dead = try Route(to: 1, path: "/dead", name: "dead")
    let rig = try GatewayRig(Route(to: upstream.port), dead, log: log)
    for path in ["/own", "/cut", "/dead"] {
      let client = try rig.client()
      client.send("GET \(path)?token=secret HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
      if path == "/cut" {
        #expect(client.discard(20) == 20)
        gate.open()
      }
      _ = client.rest()
    }
    #expect(eventually { lines.withLock { $0.split(separator: "\n").count } == 3 })
    let text = lines.withLock { $0 }.split(separator: "\n")
    try #require(text.count == 3, "\(text)")
    #expect(text[0].contains("level=warn msg=\"request failed\" route=r method=GET status=503 outcome=http_error"))
    #expect(text[1].contains("level=warn msg=\"request failed\" route=r method=GET status=200 outcome=transport_error"))
    #expect(text[2].contains("route=dead method=GET status=502 outcome=transport_error upstream=127.0.0.1:1 "))
    #expect(text[2].contains("error=couldnt_connect") || text[2].contains("error=cannot_connect"))
    #expect(!text.joined().contains("secret"))
  }

  /// What an upstream in trouble answers is as much worth a line as what the gateway does.
  @Test(arguments: [(500, false), (502, true), (503, true), (504, true), (404, false)])
  func aBrownOutLeavesALine(status: Int, isLogged: Bool) throws {
    let upstream = try ScriptedServer(.answering("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n"))
    let lines = Mutex("")
    let log = Logger(level: .info, format: .logfmt) { line in
      lines.withLock { $0 += String(decoding: line, as: UTF8.self) }
    }
    let rig = try GatewayRig(Route(to: upstream.port), log: log)
    let client = try rig.client()
    for _ in 0..<20 {
      client.send("GET /secret HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == status)
    }
    #expect(eventually { rig.count("http_error") == 20 })
    let text = lines.withLock { $0 }.split(separator: "\n")
    #expect(text.count == (isLogged ? 1 : 0), "\(text)")
    let start = "level=warn msg=\"request failed\" route=r method=GET status=\(status) outcome=http_error upstream=127"
    // An answer is no error of the transfer, and needs no text.
    if isLogged { #expect(text.first?.contains(start) == true && text.first?.hasSuffix(" attempts=1") == true) }
    #expect(!text.joined().contains("secret"))
  }

  /// At debug each request has its own line with path and client; at warn a dead upstream's don't bury all else.
  @Test func aDeadUpstreamIsToldOncePerWindow() throws {
    let lines = Mutex("")
    let log = Logger(level: .debug, format: .logfmt) { line in
      lines.withLock { $0 += String(decoding: line, as: UTF8.self) }
    }
    let rig = try GatewayRig(Route(to: 1), log: log)
    let client = try rig.client()
    for _ in 0..<20 {
      client.send("GET /path HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == 502)
    }
    #expect(eventually { rig.count("transport_error") == 20 })
    // The first has two lines.
    #expect(eventually { lines.withLock { $0.split(separator: "\n").count } >= 21 })
    let text = lines.withLock { $0 }.split(separator: "\n")
    let warnings = text.filter { $0.contains("level=warn") }, details = text.filter { $0.contains("level=debug") }
    #expect(warnings.count == 1)
    #expect(!warnings.joined().contains("/path") && !warnings.joined().contains("client="))
    #expect(details.count == 20)
    #expect(details.allSatisfy { $0.contains("path=/path") && $0.contains("client=127.0.0.1:") })
  }

  /// What a window held beyond its first is told when it ends, and at the latest when the gateway does.
  @Test(arguments: [0.05, 60]) func theOthersAreCounted(window: Double) async throws {
    let lines = Mutex("")
    let log = Logger(level: .info, format: .logfmt) { line in
      lines.withLock { $0 += String(decoding: line, as: UTF8.self) }
    }
    var options = Gateway.Options(address: .loopback(port: 0))
    options.failureWindow = window
    let gateway = try Gateway(
      Configuration(routes: [Route(to: 1)]), options: options, metrics: GatewayMetrics(Registry()), log: log)
    gateway.start()
    let client = try RawClient(port: gateway.address.port ?? 0)
    for _ in 0..<20 {
      client.send("GET /path HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == 502)
    }
    func told() -> Int {
      lines.withLock { $0 }.split(separator: "\n").reduce(0) { sum, line in
        if line.contains("msg=\"request failed\" route=r ") { return sum + 1 }
        let count = line.split(separator: " ").first { $0.hasPrefix("count=") }?.dropFirst(6)
        return sum + (line.contains("msg=\"more requests failed\"") ? count.flatMap { Int($0) } ?? 0 : 0)
      }
    }
    if window < 1 { #expect(eventually { told() == 20 }) } else { #expect(told() == 1) }
    await gateway.stop(grace: 1)
    #expect(told() == 20)
  }

  @Test(
    arguments: [
      ("GET / HTTP/1.1\r\nHost: other\r\n\r\n", 404, "no route matches this request\n"),
      ("CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n", 501, "this gateway makes no tunnels\n"),
      ("GET /r/%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400, "the path has a % without two hexadecimal digits\n"),
      ("GET /r HTTP/1.1\r\nHost: h\r\nVia: 1.1 weir\r\n\r\n", 508, "this request has already passed this gateway\n"),
      ("OPTIONS /r HTTP/1.1\r\nHost: h\r\nMax-Forwards: 0\r\n\r\n", 200, "this is the gateway\n"),
    ])
  func theGatewayAnswersItself(request: String, status: Int, text: String) throws {
    let upstream = try ScriptedServer(.answering(okResponse("no")))
    let rig = try GatewayRig(Route(to: upstream.port, path: "/r"))
    let client = try rig.client()
    client.send(request)
    let response = try #require(client.response())
    #expect(response.status == status)
    #expect(response.text == text)
    #expect(upstream.connectionCount == 0)
  }

  @Test(
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n12345",
    ])
  func aCutBodyNeverLooksWhole(answer: String) throws {
    for end in [Script.Step.close, .reset] {
      // Not before its head has reached the client: until then the request could be sent again.
      let hasHead = Gate()
      let upstream = try ScriptedServer(Script(.head, .send(answer), .wait(hasHead), end))
      var route = try Route(to: upstream.port)
      route.retry.limit = 2
      let rig = try GatewayRig(route)
      let client = try rig.client()
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.awaitBytes())
      hasHead.open()
      let response = try #require(client.response())
      #expect(response.status == 200)
      #expect(!response.isComplete)
      #expect(upstream.connectionCount == 1)
      #expect(eventually { rig.count("transport_error") == 1 })
    }
  }

  /// Of a response whose head and failure come in one piece nothing has reached the client.
  @Test(
    arguments: [
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\nxyz\r\n",
    ])
  func aFailureInTheTurnOfItsHeadIsAnsweredOrRetried(answer: String) throws {
    let upstream = try ScriptedServer(.once(answer), .once(answer), .answering(okResponse("third")))
    let bare = try GatewayRig(Route(to: upstream.port))
    let client = try bare.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 502)
    #expect(eventually { bare.count("transport_error") == 1 })
    client.send("GET /again HTTP/1.1\r\nHost: h\r\nX-No: retry\r\n\r\n")
    #expect(client.response()?.status == 502)
    client.send("GET /again HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == "third")
  }

  @Test func aFailureInTheTurnOfItsHeadIsRetriedByTheRoutesRules() throws {
    let bad = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n12"
    let upstream = try ScriptedServer(
      .once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"), .once(bad), .answering(okResponse("third"))
    )
    var route = try Route(to: upstream.port)
    route.retry.limit = 2
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try #require(client.response())
    // The second one's end may come a turn after its head: then it is cut.
    #expect(response.text == "third" || !response.isComplete && response.text == "12")
    #expect(upstream.connectionCount >= 2)
  }

  /// What was passed on arrives before the end does, and the end can't be taken for the body's.
  @Test(arguments: ["1.1", "1.0"])
  func whatHasLeftArrivesBeforeTheEnd(version: String) throws {
    let gate = Gate()
    let upstream = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"), .wait(gate),
        .send("5\r\n67890\r\nxyz\r\n"), .close))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("GET / HTTP/\(version)\r\nHost: h\r\n\r\n")
    var head: [UInt8] = []
    while !head.contains(UInt8(ascii: "5")) || !String(decoding: head, as: UTF8.self).contains("12345") {
      #expect(client.read(1, into: &head))
    }
    gate.open()
    let rest = String(decoding: client.rest(), as: UTF8.self)
    #expect(rest.contains("67890") && !rest.contains("0\r\n\r\n"), "\(rest)")
    #expect(client.wasReset == (version == "1.0"))
  }

  @Test(
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
      "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/3.0 200 OK\r\n\r\n",
      "HTTP/1.1 OK\r\n\r\n", "HTTP/1.10 200 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 000 OK\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ])
  func malformedResponsesAreNotPassedOn(answer: String) throws {
    let upstream = try ScriptedServer(.once(answer))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 502)
    #expect(eventually { rig.count("transport_error") == 1 })
    let labels = "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\""
    #expect(rig.sample("weir_requests_failed_total{\(labels)}") == 1)
  }

  @Test(arguments: [true, false])
  func aClientThatLeavesCancelsTheUpstream(hasHead: Bool) throws {
    let upstream = try ScriptedServer(
      hasHead
        ? Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12345"), .awaitClose)
        : Script(.awaitClose))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { upstream.received().count > 20 })
    if hasHead { #expect(client.discard(60) == 60) }
    client.reset()
    #expect(eventually { upstream.closedByClientCount == 1 && rig.count("cancelled") == 1 })
    let active = "http_server_active_requests{http_request_method=\"GET\",url_scheme=\"http\"}"
    #expect(eventually { rig.sample(active) == 0 })
  }

  @Test func anUploadThatBreaksOffCancelsTheUpstream() throws {
    let upstream = try ScriptedServer(Script(.head, .awaitClose))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n")
    client.send(String(repeating: "x", count: 70_000) + "12345")
    #expect(eventually { upstream.receivedText().hasSuffix("12345") })
    client.reset()
    #expect(eventually { upstream.closedByClientCount == 1 && rig.count("cancelled") == 1 })
  }

  @Test func anAnswerBeforeTheBodyIsPassedOn() throws {
    let upstream = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 413 No\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"), .awaitClose))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n")
    client.send(String(repeating: "x", count: 70_000))
    let response = try #require(client.response())
    #expect(response.status == 413)
    #expect(response.text == "big")
  }

  /// Of a client that sends all of its body before it reads, too, whether the upstream answers early or the gateway.
  @Test func anAnswerBeforeTheBodyOutlivesTheBody() throws {
    let upstream = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 413 No\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"), .awaitClose))
    var closed = Route(name: "closed", action: .respond(RouteResponse(status: 503)))
    closed.match.path = .exact("/closed")
    let rig = try GatewayRig(Configuration(routes: [closed, Route(to: upstream.port)]))
    for (path, status) in [("/", 413), ("/closed", 503)] {
      let client = try rig.client()
      client.send("POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n")
      #expect(client.send([UInt8](repeating: UInt8(ascii: "x"), count: 10_000_000)))
      #expect(client.response()?.status == status)
      #expect(client.rest().isEmpty && !client.wasReset)
    }
  }
}
