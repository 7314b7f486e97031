import Testing
import WeirTestSupport

@testable import WeirGateway

/// Responses of class 1xx on their way through the gateway (RFC 9110 §15.2), before upstreams that send exact bytes.
@Suite(.timeLimit(.minutes(5))) struct InterimResponseTests {
  private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
  private static let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
  private static let hintsPassed = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nVia: 1.1 weir\r\n\r\n"

  private func bytes(_ count: Int, from client: RawClient) -> String {
    var bytes: [UInt8] = []
    #expect(client.read(count, into: &bytes))
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(arguments: ["GET", "HEAD"])
  func theyGoOnInTheirOrderBeforeTheFinalHead(method: String) throws {
    let gate = Gate()
    let upstream = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX-Progress: a\u{1}b\r\n\r\n"),
        .send("HTTP/1.1 103 Hints\r\nLink: </a>\r\nLink: </b>\r\nConnection: x-hop\r\nX-Hop: y\r\n"),
        .send("Keep-Alive: timeout=1\r\nContent-Length: 9\r\nTransfer-Encoding: gzip\r\nX-Gone: z\r\n\r\n"),
        .send("HTTP/1.1 199 Odd\r\n\r\n"), .wait(gate),
        .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + (method == "HEAD" ? "" : "ok")), .awaitClose))
    var route = try Route(to: upstream.port)
    route.responseHeaders.remove = ["X-Gone"]
    route.responseHeaders.add = [HeaderRule(name: "X-Own", value: "a")]
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("\(method) / HTTP/1.1\r\nHost: h\r\n\r\n")
    let expected =
      "HTTP/1.1 102 Processing\r\nX-Progress: a b\r\nVia: 1.1 weir\r\n\r\n"
      + "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\nVia: 1.1 weir\r\n\r\n"
      + "HTTP/1.1 199 \r\nVia: 1.1 weir\r\n\r\n"
    #expect(bytes(expected.utf8.count, from: client) == expected)
    gate.open()
    let response = try #require(client.response(toHead: method == "HEAD"))
    #expect(response.status == 200 && response.values("X-Own") == ["a"])
    #expect(eventually { rig.count("success") == 1 })
    #expect(rig.sample("weir_gateway_responses_repaired_total{route=\"r\"}") == 0)
  }

  @Test func aClientOfHTTP10GetsNone() throws {
    let upstream = try ScriptedServer(.once(Self.hints + okResponse("ok")))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("GET / HTTP/1.0\r\n\r\n")
    #expect(client.response()?.status == 200)
  }

  /// Each attempt's hints go out, as they are no part of the response.
  @Test func aRetryFollowsThem() throws {
    let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
    let upstream = try ScriptedServer(
      Script(.head, .send(Self.hints + busy), .head, .send(Self.hints + okResponse("ok")), .awaitClose))
    var route = try Route(to: upstream.port)
    route.retry.limit = 1
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send(Self.get)
    #expect(bytes(2 * Self.hintsPassed.utf8.count, from: client) == Self.hintsPassed + Self.hintsPassed)
    #expect(client.response()?.text == "ok")
  }

  @Test func theyComeWhileTheClientSendsItsBody() throws {
    let upstream = try ScriptedServer(
      Script(.head, .send(Self.hints), .bytes(200_000), .send(okResponse("ok")), .awaitClose))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n" + String(repeating: "a", count: 100_000))
    #expect(bytes(Self.hintsPassed.utf8.count, from: client) == Self.hintsPassed)
    client.send(String(repeating: "a", count: 100_000))
    #expect(client.response()?.text == "ok")
  }

  @Test func pipelinedRequestsGetTheirOwn() throws {
    let upstream = try ScriptedServer(.answering(Self.hints + okResponse("ok")))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.get + Self.get)
    for _ in 0..<2 {
      #expect(bytes(Self.hintsPassed.utf8.count, from: client) == Self.hintsPassed)
      #expect(client.response()?.text == "ok")
    }
  }

  @Test func theirNumberIsBounded() throws {
    let upstream = try ScriptedServer(Script(.head, .send(String(repeating: Self.hints, count: 40)), .awaitClose))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.get)
    let passed = String(repeating: Self.hintsPassed, count: 16)
    #expect(bytes(passed.utf8.count, from: client) == passed)
    #expect(client.response()?.status == 502)
  }
}
