import Synchronization
import Testing
import Weir
import WeirIO
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// Responses that go on for as long as their client listens.
@Suite(.serialized, .timeLimit(.minutes(5))) struct EventStreamTests {
  private static let first = "data: 1\n\n"
  private static let second = "data: 2\n\n"
  private static let events = "Content-Type: text/event-stream"
  private let gate = Gate()

  private static func head(_ field: String, _ framing: String = "Transfer-Encoding: chunked") -> String {
    "HTTP/1.1 200 OK\r\n\(field)\r\n\(framing)\r\n\r\n"
  }

  private static func chunk(_ text: String) -> String { "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n" }

  /// An upstream that sends a head and an event at once, and another event and the end once the gate is open.
  private func upstream(_ field: String = events) throws -> ScriptedServer {
    try ScriptedServer(
      Script(
        .head, .send(Self.head(field) + Self.chunk(Self.first)), .wait(gate),
        .send(Self.chunk(Self.second) + "0\r\n\r\n"), .awaitClose))
  }

  /// A route that has less time than the stream takes, and one beside it whose requests nobody answers.
  private struct Rig {
    let gateway: GatewayRig
    let lines: LogLines
    private let upstream: ScriptedServer
    private let hole: BlackHole

    init(
      _ upstream: ScriptedServer, timeout: Duration = .milliseconds(300), _ change: (inout Route) -> Void = { _ in }
    ) throws {
      let (hole, lines) = (try BlackHole(), LogLines())
      var route = try Route(to: upstream.port)
      var clock = try Route(to: hole.port, path: "/clock", name: "clock")
      (route.timeout, clock.timeout) = (timeout, timeout)
      change(&route)
      (self.upstream, self.hole, self.lines) = (upstream, hole, lines)
      gateway = try GatewayRig(route, clock, log: Logger(level: .warn, format: .logfmt, write: lines.add))
    }

    /// Returns once a request has timed out that began after all requests so far.
    func letTheTimeoutPass() throws {
      let client = try gateway.client()
      client.send("GET /clock HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == 504)
    }

    func value(_ family: String, _ labels: String...) -> Double? {
      gateway.registry.text().split(separator: "\n")
        .first { line in line.hasPrefix(family + "{") && labels.allSatisfy { $0.isEmpty || line.contains($0) } }
        .flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }
    }

    /// A sample of the stream's upstream.
    func ofUpstream(_ family: String, _ label: String = "") -> Double? {
      value(family, "server_port=\"\(upstream.port)\"", label)
    }

    var failed: Double? { gateway.sample("weir_gateway_requests_failed_total{route=\"r\"}") }
    var abandoned: Double? { gateway.sample("weir_gateway_requests_abandoned_total{route=\"r\"}") }
  }

  private final class LogLines: Sendable {
    private let text = Mutex("")
    func add(_ line: [UInt8]) { text.withLock { $0 += String(decoding: line, as: UTF8.self) } }
    /// The lines of the route of streams.
    var all: [Substring] { text.withLock { $0 }.split(separator: "\n").filter { $0.contains(" route=r ") } }
  }

  /// Asks, and reads the head and the first event.
  private func listen(_ rig: GatewayRig) throws -> RawClient {
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) { try #require(client.read(1, into: &head)) }
    #expect(String(decoding: head, as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
    #expect(read(Self.chunk(Self.first).utf8.count, from: client) == Self.chunk(Self.first))
    return client
  }

  private func read(_ count: Int, from client: RawClient) -> String {
    var bytes: [UInt8] = []
    _ = client.read(count, into: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  // MARK: The timeout

  @Test(
    arguments: [
      (events, nil), ("content-type: Text/Event-Stream ; charset=utf-8", nil), ("Content-Type: text/plain", true),
    ] as [(String, Bool?)])
  func eventsGoOnBeyondTheTimeout(field: String, streaming: Bool?) throws {
    let rig = try Rig(upstream(field)) { $0.streaming = streaming }
    let began = MonotonicTime.now
    let client = try listen(rig.gateway)
    let answered = MonotonicTime.now.seconds(since: began)
    try rig.letTheTimeoutPass()
    gate.open()
    let rest = Self.chunk(Self.second) + "0\r\n\r\n"
    #expect(read(rest.utf8.count, from: client) == rest)
    #expect(eventually { rig.gateway.count("success") == 1 })
    #expect(rig.gateway.count("timeout") == 0)
    // What is measured is how soon the stream began.
    let ofRoute = try #require(rig.value("http_server_request_duration_seconds_sum", "http_route=\"r\""))
    #expect(ofRoute <= answered)
    let ofUpstream = try #require(rig.ofUpstream("weir_request_duration_seconds_sum", "result=\"success\""))
    #expect(ofUpstream <= answered)
  }

  @Test(
    arguments: [
      (events, false), ("Content-Type: text/plain", nil), ("Content-Type: text/plain; a=text/event-stream", nil),
      ("X-Content-Type: text/event-stream", nil),
    ] as [(String, Bool?)])
  func otherResponsesEndWithTheTimeout(field: String, streaming: Bool?) throws {
    let rig = try Rig(upstream(field)) { $0.streaming = streaming }
    defer { gate.open() }
    let client = try listen(rig.gateway)
    #expect(client.rest() == [])
    #expect(eventually { rig.gateway.count("timeout") == 1 && rig.failed == 1 })
  }

  /// The stream breaks before its head has left, so that another attempt takes its place: with all that a stream has, and
  /// with the time of the request until its own head.
  @Test(arguments: [true, false]) func aHeadThatIsTakenBack(answers: Bool) throws {
    let broken = Script(.head, .send(Self.head(Self.events) + "no chunk\r\n"), .awaitClose)
    let whole = Script(
      .head, .send(Self.head(Self.events) + Self.chunk(Self.first)), .wait(gate),
      .send(Self.chunk(Self.second) + "0\r\n\r\n"), .awaitClose)
    let rig = try Rig(ScriptedServer(broken, answers ? whole : Script(.awaitClose))) { $0.retry.limit = 1 }
    guard answers else {
      let client = try rig.gateway.client()
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == 504)
      return
    }
    let client = try listen(rig.gateway)
    try rig.letTheTimeoutPass()
    gate.open()
    let rest = Self.chunk(Self.second) + "0\r\n\r\n"
    #expect(read(rest.utf8.count, from: client) == rest)
    #expect(eventually { rig.gateway.count("success") == 1 })
  }

  @Test func aHeadThatNeverComesIsATimeout() throws {
    let rig = try Rig(ScriptedServer(Script(.awaitClose))) { $0.streaming = true }
    let client = try rig.gateway.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 504)
    #expect(eventually { rig.gateway.count("timeout") == 1 })
  }

  @Test func aReloadLeavesAStreamAsItIs() async throws {
    let upstream = try upstream()
    let rig = try Rig(upstream)
    let client = try listen(rig.gateway)
    let hole = try BlackHole()
    var route = try Route(to: upstream.port), clock = try Route(to: hole.port, path: "/clock", name: "clock")
    (route.streaming, route.silenceTimeout) = (false, 0.1)
    (route.timeout, clock.timeout) = (.milliseconds(100), .milliseconds(300))
    try await rig.gateway.gateway.reload(Configuration(routes: [route, clock]))
    try rig.letTheTimeoutPass()
    gate.open()
    #expect(read(Self.chunk(Self.second).utf8.count, from: client) == Self.chunk(Self.second))
    #expect(eventually { rig.gateway.count("success") == 1 })
    withExtendedLifetime(hole) {}
  }

  // MARK: Silence

  @Test func aSilentStreamIsCut() throws {
    let rig = try Rig(upstream(), timeout: .seconds(30)) { $0.silenceTimeout = 0.2 }
    defer { gate.open() }
    let client = try listen(rig.gateway)
    #expect(client.rest() == [])
    #expect(eventually { rig.gateway.count("timeout") == 1 && rig.failed == 1 })
    let line = try #require(rig.lines.all.first)
    #expect(line.contains(" status=200 outcome=timeout ") && line.contains(" error=timed_out "), "\(line)")
    #expect(line.contains("nothing was sent or received for 0.2 s (silenceTimeout)"), "\(line)")
  }

  /// A route's own limit holds for all of its requests, as an entry's does.
  @Test func aSilentUpstreamIsATimeout() throws {
    let rig = try Rig(ScriptedServer(Script(.awaitClose)), timeout: .seconds(30)) { $0.silenceTimeout = 0.2 }
    let client = try rig.gateway.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 504)
    #expect(eventually { rig.gateway.count("timeout") == 1 })
  }

  @Test(arguments: ["", ", silenceTimeout: off"])
  func theEntrysSilenceCountsUnlessTheRouteSaysOtherwise(own: String) throws {
    let upstream = try upstream(), hole = try BlackHole()
    defer { gate.open() }
    let rig = try GatewayRig(
      Configuration(
        parsing: Array(
          """
          upstreams: [{name: u, endpoints: ["127.0.0.1:\(upstream.port)"], silenceTimeout: 200ms}]
          routes:
            - {name: r, upstream: u\(own)}
            - {name: clock, match: {path: /clock}, upstream: "http://127.0.0.1:\(hole.port)", timeout: 300ms}
          """.utf8), file: "f"))
    let client = try listen(rig)
    if own.isEmpty {
      #expect(client.rest() == [])
      #expect(eventually { rig.count("timeout") == 1 })
    } else {
      let clock = try rig.client()
      clock.send("GET /clock HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(clock.response()?.status == 504)
      gate.open()
      #expect(read(Self.chunk(Self.second).utf8.count, from: client) == Self.chunk(Self.second))
    }
    withExtendedLifetime((upstream, hole)) {}
  }

  // MARK: The end

  @Test(arguments: [true, false]) func aStreamThatItsClientEndsIsASuccess(resets: Bool) throws {
    let rig = try Rig(upstream(), timeout: .seconds(30))
    defer { gate.open() }
    let client = try listen(rig.gateway)
    if resets { client.reset() } else { client.halfClose() }
    #expect(eventually { rig.gateway.count("success") == 1 })
    #expect(rig.gateway.count("cancelled") == 0 && rig.failed == 0 && rig.abandoned == 0)
    #expect(eventually { rig.ofUpstream("weir_requests_total", "outcome=\"success\"") == 1 })
    #expect(rig.ofUpstream("weir_requests_abandoned_total", "phase=\"body\"") ?? 0 == 0)
    #expect(eventually { rig.ofUpstream("http_client_request_duration_seconds_count", "error_type=\"\"") == 1 })
    #expect(eventually { rig.ofUpstream("weir_requests_in_flight") == 0 })
    #expect(rig.lines.all.isEmpty)
  }

  /// The client has not got what it was promised.
  @Test func aDownloadThatItsClientLeavesIsNone() throws {
    let upstream = try ScriptedServer(
      Script(.head, .send(Self.head("Content-Type: a/b", "Content-Length: 1000") + Self.first), .awaitClose))
    let rig = try Rig(upstream, timeout: .seconds(30)) { $0.streaming = true }
    let client = try rig.gateway.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.awaitBytes())
    client.reset()
    #expect(eventually { rig.gateway.count("cancelled") == 1 && rig.abandoned == 1 })
    #expect(rig.gateway.count("success") == 0 && rig.failed == 0)
    #expect(eventually { upstream.closedByClientCount == 1 })
  }
}
