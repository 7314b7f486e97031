import Testing
import Weir
import WeirTestSupport

@testable import WeirGateway

/// What crosses the gateway, to the byte.
@Suite(.serialized) struct ForwardingTests {
  @Test func requestsCrossWithoutWhatIsTheConnections() throws {
    let upstream = try ScriptedServer(.answering(okResponse("hi")))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send(
      "GET /a/b?q=1&r=%20 HTTP/1.1\r\nHost: front.example\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n"
        + "Keep-Alive: timeout=5\r\nTE: trailers\r\nUpgrade: h2c\r\nProxy-Authorization: Basic x\r\n"
        + "Accept: text/plain\r\nX-Twice: 1\r\nX-Twice: 2\r\nX-Empty:\r\nAuthorization: Bearer t\r\nCookie: a=b\r\n\r\n"
    )
    #expect(client.response()?.text == "hi")
    #expect(
      upstream.receivedText()
        == "GET /a/b?q=1&r=%20 HTTP/1.1\r\nHost: 127.0.0.1:\(upstream.port)\r\nAccept: text/plain\r\nX-Twice: 1\r\n"
        + "X-Twice: 2\r\nX-Empty:\r\nAuthorization: Bearer t\r\nCookie: a=b\r\nVia: 1.1 weir\r\n"
        + "X-Forwarded-For: 127.0.0.1\r\n"
        + "X-Forwarded-Host: front.example\r\nX-Forwarded-Proto: http\r\n\r\n")
  }

  /// The upstream gets the bytes that came, whatever a URL parser would make of them.
  @Test(
    arguments: [
      ("/x?ids[]=1%2C2", "/x?ids[]=1%2C2"),
      ("/x?q=a|b&r={c}&s=^`<>\"\\", "/x?q=a|b&r={c}&s=^`<>\"\\"),
      ("/a%2Fb/%C3%A9;v=1?%zz&%", "/a%2Fb/%C3%A9;v=1?%zz&%"),
      ("/[a]/{b}|c?", "/[a]/{b}|c?"),
      ("//double//slash", "//double//slash"),
      ("http://other.example/p?ids[]=%2C", "/p?ids[]=%2C"),
      ("http://other.example?q", "/?q"),
      ("/?url=http://u:p@h:99999/../x#".replacing("#", with: ""), "/?url=http://u:p@h:99999/../x"),
    ])
  func targetsCrossByteForByte(sent: String, received: String) throws {
    let upstream = try ScriptedServer(.answering(okResponse("hi")))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("GET \(sent) HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == "hi")
    #expect(upstream.receivedText().prefix { $0 != "\r\n" } == "GET \(received) HTTP/1.1")
  }

  @Test(
    arguments: [
      ("OPTIONS", "*", "*"), ("OPTIONS", "http://other.example", "*"), ("OPTIONS", "http://other.example/", "/"),
    ])
  func theServerItselfCanBeAsked(method: String, sent: String, received: String) throws {
    let upstream = try ScriptedServer(.answering(okResponse("hi")))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("\(method) \(sent) HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == "hi")
    #expect(upstream.receivedText().prefix { $0 != "\r\n" } == "\(method) \(received) HTTP/1.1")
  }

  /// What says where a body ends is read once, strictly, and written anew: an upstream never sees two readings.
  @Test(
    arguments: [
      ("Content-Length: 3|Content-Length: 3||abc", 400), ("Content-Length: 3|Content-Length: 4||abcd", 400),
      ("Content-Length: 3, 3||abc", 400), ("Content-Length: +3||abc", 400), ("Content-Length: 0x3||abc", 400),
      ("Content-Length:||", 400), ("Content-Length: -1||", 400), ("Content-Length : 3||abc", 400),
      ("Content-Length: 3|Transfer-Encoding: chunked||3|abc|0||", 400),
      ("Transfer-Encoding: chunked|Content-Length: 3||3|abc|0||", 400),
      ("Transfer-Encoding: chunked, chunked||0||", 400), ("Transfer-Encoding: gzip, chunked||0||", 501),
      ("Transfer-Encoding: chunked, gzip||0||", 400), ("Transfer-Encoding: identity||abc", 501),
      ("Transfer-Encoding: xchunked||0||", 501), ("Transfer-Encoding:||0||", 400),
      ("Transfer-Encoding : chunked||0||", 400), ("Transfer-Encoding:\u{b}chunked||0||", 400),
      ("Transfer-Encoding: chunked| X: folded||0||", 400), ("X: a|\tb|Content-Length: 0||", 400),
      (" Content-Length: 3||abc", 400), ("Host: other|Content-Length: 0||", 400), ("Content-Length: 3\nX: y||abc", 400),
      ("Content-Length: 99999999999999999999||", 413),
      ("Content-Length: 3||abc", 200), ("Content-Length: 0003||abc", 200),
      ("Transfer-Encoding: chunked||3|abc|0||", 200),
      ("TRANSFER-ENCODING: Chunked||3;x=y|abc|0|T: 1||", 200), ("Content_Length: 9|Content-Length: 3||abc", 200),
    ])
  func framingIsReadOnce(fields: String, status: Int) throws {
    let upstream = try ScriptedServer(Script(.head, .send(okResponse("ok")), .awaitClose))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\n" + fields.replacing("|", with: "\r\n"))
    #expect(client.response()?.status == status)
    guard status == 200 else { return #expect(upstream.connectionCount == 0) }
    let isChunked = fields.lowercased().hasPrefix("transfer")
    let end = isChunked ? "3\r\nabc\r\n0\r\n\r\n" : "abc"
    #expect(eventually { upstream.receivedText().hasSuffix("\r\n\r\n" + end) }, "\(upstream.receivedText())")
    let lines = upstream.receivedText().lowercased().split(separator: "\r\n").filter {
      $0.hasPrefix("content") || $0.hasPrefix("transfer")
    }
    #expect(lines == [isChunked ? "transfer-encoding: chunked" : "content-length: 3"])
  }

  /// Methods are case-sensitive (RFC 9110 §9.1).
  @Test(arguments: [
    "get", "Post", "delete", "PROPFIND", "M-SEARCH", "head", "pUt", "options", "patch", "!#$%&'*+-.^_`|~1",
  ])
  func methodsCrossByteForByte(method: String) throws {
    let upstream = try ScriptedServer(.answering(okResponse("hi")))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("\(method) / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == "hi")
    #expect(upstream.receivedText().prefix { $0 != "\r\n" } == "\(method) / HTTP/1.1")
  }

  /// What an upstream answers to one opens a tunnel through which other clients' requests would go.
  @Test(arguments: ["connect", "Connect", "cONNECT"])
  func noSpellingOfCONNECTGoesOn(method: String) throws {
    let upstream = try ScriptedServer(.answering(okResponse("hi")))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("\(method) / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 501)
    #expect(upstream.connectionCount == 0)
  }

  @Test func responsesCrossWithoutWhatIsTheConnections() throws {
    let upstream = try ScriptedServer(
      .once(
        "HTTP/1.1 202 Fine\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
          + "Keep-Alive: timeout=5\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Encoding: gzip\r\n"
          + "X-Empty:\r\nVia: 1.1 cache\r\nContent-Length: 5\r\n\r\n12345"))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try #require(client.response())
    #expect(response.status == 202)
    #expect(response.text == "12345")
    #expect(
      Set(response.fieldLines)
        == [
          "Date: Sun, 06 Nov 1994 08:49:37 GMT", "Set-Cookie: a=1", "Set-Cookie: b=2", "Content-Encoding: gzip",
          "X-Empty: ", "Via: 1.1 cache, 1.1 weir", "Content-Length: 5",
        ])
    #expect(response.values("Set-Cookie") == ["a=1", "b=2"])
  }

  @Test func bytesThatAreNoTextCrossUnchanged() throws {
    let upstream = try ScriptedServer(
      Script(
        .head, .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-B: ".utf8) + [0xe9, 0x20, 0xff, 13, 10, 13, 10])))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send(Array("GET / HTTP/1.1\r\nHost: h\r\nX-A: ".utf8) + [0xe9, 0x20, 0xff, 13, 10, 13, 10])
    let response = try #require(client.response())
    #expect(response.status == 200)
    #expect(upstream.received().contains(sequence: Array("X-A: ".utf8) + [0xe9, 0x20, 0xff, 13, 10]))
    #expect(response.values("X-B") == [String(decoding: [0xe9, 0x20, 0xff], as: UTF8.self)])
  }

  @Test(
    arguments: [
      ("GET", "HTTP/1.1 204 No Content\r\n\r\n", 204, nil),
      ("GET", "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 7\r\n\r\n", 304, nil),
      ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", 200, "7"),
      ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200, nil),
      ("GET", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "0"),
    ] as [(String, String, Int, String?)])
  func responsesWithoutBody(method: String, answer: String, status: Int, length: String?) throws {
    let upstream = try ScriptedServer(.answering(answer))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    // The second exchange fails if the first one's framing was off.
    for _ in 0..<2 {
      client.send("\(method) / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try #require(client.response(toHead: method == "HEAD"))
      #expect(response.status == status)
      #expect(response.values("Content-Length").first == length)
      #expect(response.body.isEmpty)
    }
  }

  @Test func chunkedResponsesStayChunked() throws {
    let upstream = try ScriptedServer(
      .answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-T: 1\r\n\r\n"))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    for _ in 0..<2 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.text == "abcde")
      #expect(response.isComplete)
      #expect(response.values("Transfer-Encoding") == ["chunked"])
    }
    let old = try rig.client()
    old.send("GET / HTTP/1.0\r\n\r\n")
    #expect(String(decoding: old.rest(), as: UTF8.self).hasSuffix("\r\n\r\nabcde"))
  }

  /// A 426 without Upgrade would not say what to do (RFC 9110 §15.5.22).
  @Test(arguments: [(426, ["TLS/1.0", "x"]), (200, [])])
  func upgradeIsKeptWhereItIsRequired(status: Int, protocols: [String]) throws {
    let fields = "Connection: Upgrade, X-Hop\r\nX-Hop: a\r\nUpgrade: TLS/1.0\r\nUpgrade: x\r\nContent-Length: 0\r\n\r\n"
    let upstream = try ScriptedServer(.answering("HTTP/1.1 \(status) Some\r\n" + fields))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    for _ in 0..<2 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.status == status)
      #expect(response.values("Upgrade") == protocols)
      #expect(response.values("Connection") == (protocols.isEmpty ? [] : ["upgrade"]))
      #expect(response.values("X-Hop") == [])
    }
  }

  /// Clients refuse the whole response for some of them.
  @Test func controlCharactersBecomeBlanksAndAreCounted() throws {
    let controls = "X-A: a\u{1}b\u{8}c\u{b}d\u{c}e\u{e}f\u{1f}g\u{7f}h\ti\r\nX-B: \u{1}\r\n"
    let upstream = try ScriptedServer(
      Script(
        .head, .send(okResponse("ok", controls)), .head, .send(okResponse("ok", "X-A: a\tb\r\n")), .awaitClose))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try #require(client.response())
    #expect(response.fieldLines.contains("X-A: a b c d e f g h\ti") && response.text == "ok")
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.values("X-A") == ["a\tb"])
    #expect(rig.sample("weir_gateway_responses_repaired_total{route=\"r\"}") == 1)
  }

  /// RFC 9110 §2.5. libcurl refuses it.
  @Test(.enabled(if: isOwnEngine)) func aHigherMinorVersionIsReadAs11() throws {
    let upstream = try ScriptedServer(
      .answering("HTTP/1.2 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2  \r\nok\r\n0 ;a\r\n\r\n"))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    for _ in 0..<2 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.head.hasPrefix("HTTP/1.1 200 OK\r\n") && response.text == "ok")
    }
    #expect(upstream.connectionCount == 1)
  }

  @Test func bodiesOfEveryFramingReachTheUpstream() throws {
    let upstream = try ScriptedServer(
      Script(.head, .bytes(5), .send(okResponse("1")), .head, .chunkedBody, .send(okResponse("2")), .awaitClose))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("POST /l HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello")
    #expect(client.response()?.text == "1")
    client.send("PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    #expect(client.response()?.text == "2")
    let received = upstream.receivedText()
    #expect(received.contains("POST /l HTTP/1.1\r\n"))
    #expect(received.contains("Content-Length: 5\r\n"))
    #expect(received.contains("\r\n\r\nhello"))
    #expect(received.contains("PUT /c HTTP/1.1\r\n"))
    #expect(received.contains("Transfer-Encoding: chunked\r\n"))
    #expect(received.hasSuffix("0\r\n\r\n"))
    #expect(!received.contains("Content-Type"))
    #expect(!received.contains("Expect"))
  }

  @Test func anEmptyBodySaysSo() throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
    #expect(client.response()?.text == "ok")
    #expect(upstream.receivedText().contains("Content-Length: 0\r\n"))
  }

  @Test func expectationsAreMetHere() throws {
    let upstream = try ScriptedServer(Script(.head, .bytes(5), .send(okResponse("ok")), .awaitClose))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
    var interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
    interim.removeFirst(client.discard(interim.count))
    #expect(interim.isEmpty)
    client.send("hello")
    #expect(client.response()?.text == "ok")
    #expect(!upstream.receivedText().contains("100-continue"))
  }

  @Test func pipelinedRequestsAreAnsweredInOrder() throws {
    let gate = Gate()
    let upstream = try ScriptedServer(
      Script(
        .head, .wait(gate), .send(okResponse("1")), .head, .send(okResponse("2")), .head, .send(okResponse("3")),
        .awaitClose))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send((1...3).map { "GET /\($0) HTTP/1.1\r\nHost: h\r\n\r\n" }.joined())
    gate.open()
    #expect((1...3).map { _ in client.response()?.text } == ["1", "2", "3"])
  }

  @Test func redirectsAndCookiesAreTheClients() throws {
    let upstream = try ScriptedServer(
      .answering("HTTP/1.1 302 Found\r\nLocation: /next\r\nSet-Cookie: s=1\r\nContent-Length: 0\r\n\r\n"))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    for _ in 0..<2 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.status == 302)
      #expect(response.values("Location") == ["/next"])
    }
    #expect(!upstream.receivedText().contains("Cookie"))
  }

  @Test func routesStripAndSet() throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    var route = try Route(to: upstream.port, path: "/api")
    route.stripPrefix = true
    route.headers.set = [HeaderRule(name: "Host", value: "inner"), HeaderRule(name: "X-Key", value: "k")]
    route.headers.remove = ["Cookie"]
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("GET /api//x/%2e%2e/y?z HTTP/1.1\r\nHost: h\r\nCookie: a\r\nX-Key: theirs\r\n\r\n")
    #expect(client.response()?.text == "ok")
    let received = upstream.receivedText()
    #expect(received.hasPrefix("GET //y?z HTTP/1.1\r\nHost: inner\r\n"))
    #expect(received.contains("X-Key: k\r\n"))
    #expect(!received.contains("theirs"))
    #expect(!received.contains("Cookie"))
    client.send("GET /other HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 404)
  }
}

extension Array<UInt8> {
  fileprivate func contains(sequence: [UInt8]) -> Bool {
    indices.contains { self[$0...].starts(with: sequence) }
  }
}
