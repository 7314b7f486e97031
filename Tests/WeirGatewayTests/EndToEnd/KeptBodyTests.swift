import Foundation
import Synchronization
import Testing
import Weir
import WeirCompression
import WeirIO
import WeirServer
import WeirTestSupport

@testable import WeirGateway

/// Larger bodies that are kept, so that they can be sent again.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct KeptBodyTests {
  private static let failure = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"

  /// - Parameter keptBytes: The most bytes that are kept.
  private static func route(to port: Int, keptBytes: Int) throws -> Route {
    var route = try Route(to: port)
    route.retry.limit = 1
    route.retry.methods = ["POST"]
    route.retry.keptBytes = keptBytes
    route.timeout = .seconds(120)
    return route
  }

  private static func denied(_ rig: GatewayRig, _ upstream: ScriptedServer) -> Double? {
    rig.sample(
      "weir_retries_denied_total{server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\",reason=\"body\"}")
  }

  /// After a 503, and after a connection that was lost.
  @Test(arguments: [false, true], [false, true])
  func aBodyOf16MiBIsSentAgain(isChunked: Bool, isLost: Bool) throws {
    let body = TestedBytes.make(16 << 20)
    let read: Script.Step = isChunked ? .chunkedBody : .bytes(body.count)
    let answers: [Script.Step] = [.head, read, .send(okResponse("ok"))]
    let upstream = try ScriptedServer(
      isLost ? Script(.head, read, .close) : Script(.head, read, .send(Self.failure), .steps(answers)),
      Script(.steps(answers)))
    let rig = try GatewayRig(Self.route(to: upstream.port, keptBytes: 16 << 20))
    let client = try rig.client()
    client.post(body, isChunked: isChunked)
    #expect(client.response()?.text == "ok")
    let bodies = upstream.requestBodies
    #expect(bodies.count == 2)
    #expect(bodies.allSatisfy { TestedBytes.areEqual($0, body) })
    #expect(eventually { rig.replayBytes == 0 })
  }

  /// The upstream answers in the middle of the body, of which the rest comes once the next attempt has all that came.
  @Test(arguments: [false, true], [false, true])
  func aBodyThatIsStillComingIsSentAgain(isChunked: Bool, isLarge: Bool) throws {
    let body = TestedBytes.make(400_000)
    let read: Script.Step = isChunked ? .chunkedBody : .bytes(body.count)
    let upstream = try ScriptedServer(
      Script(.head, .bytes(50_000), .send(Self.failure), .awaitClose),
      Script(.head, read, .send(okResponse("ok")), .awaitClose))
    // All that came by then is kept in both cases; only the second keeps all of it.
    let rig = try GatewayRig(Self.route(to: upstream.port, keptBytes: isLarge ? 1 << 20 : 250_000))
    let client = try rig.client()
    client.begin(body, isChunked: isChunked, first: 200_000)
    #expect(eventually { upstream.received(on: 1).count >= 200_000 })
    client.finish(body, isChunked: isChunked, after: 200_000)
    #expect(client.response()?.text == "ok")
    #expect(upstream.requestBodies.last.map { TestedBytes.areEqual($0, body) } == true)
    #expect(upstream.connectionCount == 2)
  }

  /// The client goes on while the retry waits, far beyond what is kept.
  @Test func nothingGoesWhileARetryWaits() throws {
    let body = TestedBytes.make(2_000_000)
    let wait = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nRetry-After: 1\r\n\r\nbusy"
    let upstream = try ScriptedServer(
      Script(.head, .bytes(100_000), .send(wait), .awaitClose),
      Script(.head, .bytes(body.count), .send(okResponse("ok")), .awaitClose))
    let rig = try GatewayRig(Self.route(to: upstream.port, keptBytes: 128 << 10))
    let client = try rig.client()
    client.begin(body, isChunked: false, first: 100_000)
    // Then the attempt has ended, and the verdict was made.
    #expect(eventually { upstream.finishedCount == 1 })
    client.finish(body, isChunked: false, after: 100_000)
    #expect(client.response()?.text == "ok")
    #expect(upstream.requestBodies.last.map { TestedBytes.areEqual($0, body) } == true)
    #expect(upstream.connectionCount == 2)
  }

  @Test(arguments: [
    (100_000, 100_000, true), (100_000, 100_001, false), (1000, 1000, true), (1000, 1001, false), (0, 1, false),
    (0, 200_000, false), (65_536, 65_536, true), (65_536, 65_537, false),
  ])
  func theLimitIsExact(keptBytes: Int, size: Int, isRetried: Bool) throws {
    let body = TestedBytes.make(size)
    let upstream = try ScriptedServer(
      Script(.head, .bytes(size), .send(Self.failure), .head, .bytes(size), .send(okResponse("ok"))),
      Script(.head, .bytes(size), .send(okResponse("ok")), .awaitClose))
    let rig = try GatewayRig(Self.route(to: upstream.port, keptBytes: keptBytes))
    let client = try rig.client()
    client.post(body, isChunked: false)
    let response = try #require(client.response())
    #expect(response.text == (isRetried ? "ok" : "busy"))
    #expect(upstream.requestBodies.count == (isRetried ? 2 : 1))
    #expect(upstream.requestBodies.allSatisfy { TestedBytes.areEqual($0, body) })
    #expect(eventually { (Self.denied(rig, upstream) ?? 0) == (isRetried ? 0 : 1) })
  }

  /// What no attempt has taken is there for another upstream, also where nothing is kept. What was taken is, if it is kept.
  @Test(arguments: [(0, false, "spare"), (1 << 20, true, "spare"), (64 << 10, true, nil)] as [(Int, Bool, String?)])
  func aFallbackGetsTheBody(keptBytes: Int, isTaken: Bool, answer: String?) throws {
    let body = TestedBytes.make(1 << 20)
    let first = try ScriptedServer(Script(.head, .bytes(body.count), .close))
    let spare = try ScriptedServer(Script(.head, .bytes(body.count), .send(okResponse("spare")), .awaitClose))
    var route = try Self.route(to: isTaken ? first.port : LoopbackPort.free(), keptBytes: keptBytes)
    route.retry.limit = 0
    route.fallback = RouteFallback(action: .upstream(try Upstream(parsing: "http://127.0.0.1:\(spare.port)")))
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.post(body, isChunked: false)
    let response = try #require(client.response())
    #expect(response.status == (answer == nil ? 502 : 200))
    if let answer {
      #expect(response.text == answer)
      #expect(spare.requestBodies.map { TestedBytes.areEqual($0, body) } == [true])
    }
    #expect(spare.connectionCount == (answer == nil ? 0 : 1))
  }

  @Test func aClientThatStopsInTheMiddleIsA408() throws {
    let body = TestedBytes.make(400_000)
    let upstream = try ScriptedServer(
      Script(.head, .bytes(100_000), .send(Self.failure), .awaitClose), Script(.head, .awaitClose))
    var route = try Self.route(to: upstream.port, keptBytes: 1 << 20)
    route.timeout = .seconds(4)
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.begin(body, isChunked: false, first: 200_000)
    let response = try #require(client.response())
    #expect(response.status == 408)
    #expect(eventually { upstream.received(on: 1).count >= 200_000 })
    #expect(eventually { rig.count("body_timeout") == 1 && rig.replayBytes == 0 })
  }

  @Test func aBodyThatIsDecodedIsKeptDecoded() throws {
    let body = TestedBytes.make(1_000_000)
    let upstream = try ScriptedServer(
      Script(.head, .chunkedBody, .close), Script(.head, .chunkedBody, .send(okResponse("ok")), .awaitClose))
    var route = try Self.route(to: upstream.port, keptBytes: 1_000_000)
    var coding = CompressionRules()
    coding.decodesRequests = true
    route.compression = coding
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.post(try Compression.deflate(body, .gzip), isChunked: false, "Content-Encoding: gzip\r\n")
    #expect(client.response()?.text == "ok")
    #expect(upstream.requestBodies.map { TestedBytes.areEqual($0, body) } == [true, true])
  }

  // MARK: A refused credential

  @Test func aLargeBodyIsSentAgainWithAnotherToken() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind()) { $0.retry.keptBytes = 1 << 20 }
    let client = try rig.client()
    let body = TestedBytes.make(500_000)
    client.post(body, isChunked: false)
    #expect(client.response()?.status == 200)
    tokens.revoke()
    client.post(body, isChunked: false)
    #expect(client.response()?.status == 200)
    #expect(upstream.requestBodies.map { TestedBytes.areEqual($0, body) } == [true, true, true])
  }

  /// The body goes on to come, beyond what is kept, while another token is waited for.
  @Test(arguments: [true, false]) func aBodyThatIsStillComingWaitsForTheToken(hasToken: Bool) throws {
    let gate = Gate()
    let tokens = try TokenService()
    let body = TestedBytes.make(1_500_000)
    let refusal = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nwho?"
    let upstream = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")),
      Script(.head, .bytes(100_000), .send(refusal), .awaitClose),
      Script(.head, .bytes(body.count), .send(okResponse("there")), .awaitClose))
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind(lifetime: 3600)) {
      $0.retry.keptBytes = 200_000
      $0.timeout = .seconds(60)
    }
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 200)
    tokens.gate = gate
    if !hasToken { tokens.answer = TokenService.refusal }
    client.begin(body, isChunked: false, first: 150_000)
    #expect(eventually { rig.sample("weir_auth_refresh_waiters{interceptor=\"c\"}") == 1 })
    // Before the gateway has the answer to its request for a token.
    client.send(Array(body[150_000..<450_000]))
    let sent = client.finish(body, isChunked: false, after: 450_000)
    gate.open()
    let response = try #require(client.response())
    #expect(response.status == (hasToken ? 200 : 401))
    #expect(response.text == (hasToken ? "there" : "who?"))
    #expect(upstream.connectionCount == (hasToken ? 3 : 2))
    #expect(upstream.requestBodies.last.map { TestedBytes.areEqual($0, body) } == hasToken)
    #expect(eventually { rig.replayBytes == 0 })
    sent.wait()
  }

  /// Clients whose whole bodies were taken leave while the upstream is silent.
  @Test func clientsThatLeaveAreNoticed() throws {
    let body = TestedBytes.make(1 << 20)
    let upstream = try ScriptedServer(Script(.head, .bytes(body.count), .awaitClose))
    let rig = try GatewayRig(Self.route(to: upstream.port, keptBytes: 1 << 20))
    var clients = try (0..<30).map { _ in try rig.client() }
    for client in clients { client.begin(body, isChunked: false, first: body.count) }
    #expect(eventually { upstream.requestBodies.count == 30 })
    clients.removeAll()
    #expect(eventually(within: 10) { rig.replayBytes == 0 }, "\(String(describing: rig.replayBytes))")
  }

  // MARK: The bound of the process

  /// It holds nothing for a response that can't be taken back any more, and for one that may have no second attempt.
  @Test(arguments: ["POST", "PATCH"]) func aLongResponseHoldsNothing(method: String) throws {
    let answers = Gate(), ends = Gate()
    let body = TestedBytes.make(1 << 20)
    let upstream = try ScriptedServer(
      Script(
        .head, .bytes(body.count), .wait(answers), .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"), .wait(ends),
        .send("done"), .awaitClose))
    let rig = try GatewayRig(Self.route(to: upstream.port, keptBytes: 16 << 20))
    let client = try rig.client()
    client.post(body, isChunked: false, method: method)
    #expect(eventually { upstream.received().count > body.count })
    #expect(rig.replayBytes == (method == "POST" ? 15.0 : 0) * 65_536)
    answers.open()
    #expect(client.awaitBytes())
    #expect(eventually { rig.replayBytes == 0 })
    ends.open()
    #expect(client.response()?.text == "done")
  }

  @Test func whenTheBoundIsReachedBodiesAreKeptTo64KiB() throws {
    let gate = Gate()
    let body = TestedBytes.make(200_000), small = TestedBytes.make(65_536)
    let failing = Script(.forever([.request, .send(Self.failure)]))
    let upstream = try ScriptedServer(
      Script(.head, .bytes(body.count), .wait(gate), .send(okResponse("ok")), .awaitClose), failing)
    let rig = try GatewayRig(
      Configuration(routes: [Self.route(to: upstream.port, keptBytes: 1 << 20)]), replayBytes: 3 * 65_536)
    let first = try rig.client()
    first.post(body, isChunked: false)
    #expect(eventually { upstream.received().count > body.count })
    #expect(rig.replayBytes == 3.0 * 65_536)
    let second = try rig.client()
    for (bytes, attempts, denied) in [(body, 1, 1.0), (small, 3, 1.0)] {
      second.post(bytes, isChunked: false)
      #expect(second.response()?.text == "busy")
      #expect(upstream.requestBodies.count == 1 + attempts)
      #expect(upstream.requestBodies.last.map { TestedBytes.areEqual($0, bytes) } == true)
      #expect(eventually { Self.denied(rig, upstream) == denied })
    }
    #expect(rig.replayBytes == 3.0 * 65_536)
    gate.open()
    #expect(first.response()?.text == "ok")
    #expect(eventually { rig.replayBytes == 0 })
  }

  /// 200 bodies at once that would need three times as much. All of them arrive, and those that are kept are sent again.
  @Test func manyBodiesAtOnceStayWithinTheBound() throws {
    DescriptorLimit.raise()
    let body = TestedBytes.make(200_000)
    let arrivals = Arrivals(), gate = Gate()
    let upstream = try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            if head.contains("X-Retry-Attempt") { return [.send(okResponse("ok"))] }
            return [.call { arrivals.count.add(1, ordering: .relaxed) }, .wait(gate), .send(Self.failure)]
          }
        ])))
    let bound = 200 * 65_536
    var route = try Self.route(to: upstream.port, keptBytes: 1 << 20)
    route.retry.budget = nil
    let rig = try GatewayRig(Configuration(routes: [route]), workers: 2, replayBytes: bound)
    let clients = try (0..<200).map { _ in try rig.client() }
    for client in clients { client.post(body, isChunked: false) }
    var highest = 0.0
    let isThere = eventually {
      highest = max(highest, rig.replayBytes ?? 0)
      return arrivals.count.load(ordering: .relaxed) == clients.count
    }
    #expect(isThere)
    #expect(highest > 0 && highest <= Double(bound))
    gate.open()
    var texts: [String: Int] = [:]
    for client in clients { texts[client.response()?.text ?? "", default: 0] += 1 }
    #expect(texts.keys.sorted() == ["busy", "ok"])
    #expect(upstream.requestBodies.count == clients.count + (texts["ok"] ?? 0))
    #expect(upstream.requestBodies.allSatisfy { TestedBytes.areEqual($0, body) })
    #expect(eventually { Self.denied(rig, upstream) == texts["busy"].map(Double.init) })
    #expect(eventually { rig.replayBytes == 0 })
  }
}

/// Counts the requests that an upstream has read.
private final class Arrivals: Sendable {
  let count = Atomic(0)
}

extension GatewayRig {
  /// The bytes beyond 64 KiB each that bodies keep.
  fileprivate var replayBytes: Double? { sample("weir_gateway_replay_bytes") }
}

extension RawClient {
  /// Sends a request with a body.
  fileprivate func post(_ body: [UInt8], isChunked: Bool, method: String = "POST", _ fields: String = "") {
    begin(body, isChunked: isChunked, first: body.count, method: method, fields)
    if isChunked { send("0\r\n\r\n") }
  }

  /// Sends a request with the first bytes of its body.
  fileprivate func begin(
    _ body: [UInt8], isChunked: Bool, first: Int, method: String = "POST", _ fields: String = ""
  ) {
    let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.count)"
    send("\(method) / HTTP/1.1\r\nHost: h\r\n\(fields)\(framing)\r\n\r\n")
    Self.sendPiece(body[..<first], isChunked: isChunked, sender)
  }

  /// Sends the rest on a thread of its own, as the gateway may take it late.
  ///
  /// - Returns: A gate that opens once all is sent, until which the client's descriptor is in use.
  @discardableResult
  fileprivate func finish(_ body: [UInt8], isChunked: Bool, after first: Int) -> WeirTestSupport.Gate {
    let sent = WeirTestSupport.Gate()
    let send = sender
    Thread.detachNewThread {
      RawClient.sendPiece(body[first...], isChunked: isChunked, send)
      if isChunked { _ = send(Array("0\r\n\r\n".utf8)) }
      sent.open()
    }
    return sent
  }

  private static func sendPiece(_ piece: ArraySlice<UInt8>, isChunked: Bool, _ send: ([UInt8]) -> Bool) {
    if piece.isEmpty { return }
    if isChunked { _ = send(Array("\(String(piece.count, radix: 16))\r\n".utf8)) }
    _ = send(Array(piece))
    if isChunked { _ = send(Array("\r\n".utf8)) }
  }
}

extension ScriptedServer {
  /// The bodies of the requests that have come, of all connections in their order. The last one of a connection may lack its
  /// end.
  fileprivate var requestBodies: [[UInt8]] { (0..<connectionCount).flatMap { Self.bodies(in: received(on: $0)) } }

  private static func bodies(in bytes: [UInt8]) -> [[UInt8]] {
    var rest = bytes[...]
    var bodies: [[UInt8]] = []
    while let head = line(endingWith: "\r\n\r\n", from: &rest) {
      let length = head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix("content-length: ") }
      var body: [UInt8] = []
      if let length = length.flatMap({ Int($0.dropFirst("content-length: ".count)) }) {
        body = Array(rest.prefix(length))
        rest = rest.dropFirst(length)
        bodies.append(body)
      } else if head.lowercased().contains("transfer-encoding: chunked") {
        while let size = line(endingWith: "\r\n", from: &rest).flatMap({ Int($0, radix: 16) }) {
          body += rest.prefix(size)
          rest = rest.dropFirst(size + 2)
          if size == 0 { break }
        }
        bodies.append(body)
      }
    }
    return bodies
  }

  private static func line(endingWith mark: String, from bytes: inout ArraySlice<UInt8>) -> String? {
    let mark = Array(mark.utf8)
    guard let end = bytes.indices.dropLast(mark.count - 1).first(where: { bytes[$0...].starts(with: mark) }) else {
      return nil
    }
    defer { bytes = bytes[(end + mark.count)...] }
    return String(decoding: bytes[..<end], as: UTF8.self)
  }
}
