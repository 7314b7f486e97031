import Foundation
import Testing
import WeirMetrics
import WeirOTLP
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// Traces and identifiers of requests on their way through a gateway.
@Suite(.timeLimit(.minutes(5))) struct TraceTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let parent = "00f067aa0ba902b7"
  private static let traceparent = "00-\(trace)-\(parent)-01"
  private static let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"

  private static func rig(
    _ routes: Route..., spans: SpanBin? = nil, log: Logger = Logger(level: .error),
    _ change: (inout Configuration) -> Void
  ) throws -> GatewayRig {
    var configuration = Configuration(routes: routes)
    change(&configuration)
    return try GatewayRig(configuration, spans: spans, log: log)
  }

  private static func ask(_ rig: GatewayRig, _ fields: String..., path: String = "/") throws -> RawClient.Response {
    let client = try rig.client()
    client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n")
    return try #require(client.response())
  }

  /// The values of a field in all requests that a server got on a connection.
  private static func values(_ name: String, at server: ScriptedServer, _ index: Int = 0) -> [String] {
    server.receivedText(on: index).components(separatedBy: "\r\n")
      .filter { $0.lowercased().hasPrefix(name.lowercased() + ":") }
      .map { String($0.dropFirst(name.count + 1)).trimmingCharacters(in: .whitespaces) }
  }

  /// The parents in `traceparent`s of one trace with the same flags.
  private static func parents(_ fields: [String], of trace: String = trace, flags: String = "01") -> [String] {
    fields.map { field in
      let parts = field.split(separator: "-").map(String.init)
      #expect(parts.count == 4 && parts[0] == "00" && parts[1] == trace && parts[3] == flags, "\(field)")
      return parts.count == 4 ? parts[2] : ""
    }
  }

  @Test func offLeavesTheFields() throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let rig = try Self.rig(Route(to: server.port)) { _ in }
    _ = try Self.ask(rig, "traceparent: \(Self.traceparent)", "tracestate: A=1", "X-Request-ID: a", "traceparent: x")
    #expect(Self.values("traceparent", at: server) == [Self.traceparent, "x"])
    #expect(Self.values("tracestate", at: server) == ["A=1"])
    #expect(Self.values("X-Request-ID", at: server) == ["a"])
  }

  /// What is not recorded passes as it came.
  /// What becomes of a caller's fields where spans are exported.
  enum Fate: Sendable {
    /// The trace goes on below a span of the gateway's.
    case continued
    /// The caller does not record it, and neither does the gateway.
    case passed
    /// A trace begins here.
    case replaced
  }

  static let contexts: [([String], Fate)] = {
    let (ids, zeros) = ("\(trace)-\(parent)", String(repeating: "0", count: 32))
    return [
      ([traceparent], .continued), (["00-\(ids)-03"], .continued), (["00-\(ids)-ff"], .continued),
      (["01-\(ids)-01"], .continued), (["01-\(ids)-01-more"], .continued), (["fe-\(ids)-05"], .continued),
      (["  \(traceparent) "], .continued), (["00-\(ids)-00"], .passed), (["00-\(ids)-02"], .passed),
      (["cc-\(ids)-00-x"], .passed), (["ff-\(ids)-01"], .replaced), (["broken"], .replaced), ([""], .replaced),
      (["00-\(ids)"], .replaced), (["00-\(ids)-01-more"], .replaced), (["01-\(ids)-01x"], .replaced),
      (["00-\(ids.uppercased())-01"], .replaced), (["00-\(zeros)-\(parent)-01"], .replaced),
      (["00-\(trace)-\(zeros.prefix(16))-01"], .replaced), (["00 -\(ids)-01"], .replaced),
      (["\(traceparent),\(traceparent)"], .replaced), ([traceparent, traceparent], .replaced),
      (["broken", traceparent], .replaced),
    ]
  }()

  /// The fields of a request, with those of the context and its state.
  private static func ask(_ rig: GatewayRig, _ parents: [String]) throws {
    let client = try rig.client()
    let fields = parents.map { "traceparent: \($0)\r\n" }.joined() + "tracestate: a=1 , b=2\r\ntracestate: c=3\r\n"
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n")
    #expect(client.response()?.status == 200)
  }

  @Test(arguments: contexts) func withoutSpansTheFieldsPass(parents: [String], fate: Fate) throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    try Self.ask(Self.rig(Route(to: server.port)) { $0.trace = TraceSettings(begins: false) }, parents)
    #expect(Self.values("traceparent", at: server) == parents.map { $0.trimmingCharacters(in: .whitespaces) })
    #expect(Self.values("tracestate", at: server) == ["a=1 , b=2", "c=3"])
  }

  @Test(arguments: contexts) func withSpansTheFieldsLeadToThem(parents: [String], fate: Fate) throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let bin = SpanBin()
    try Self.ask(
      Self.rig(Route(to: server.port), spans: bin) { $0.trace = TraceSettings(begins: true, sample: 1) }, parents)
    let sent = Self.values("traceparent", at: server)
    guard fate != .passed else {
      #expect(sent == parents && Self.values("tracestate", at: server) == ["a=1 , b=2", "c=3"])
      return
    }
    #expect(eventually { bin.attempts.count == 1 })
    let context = try #require(TraceContext(traceparent: sent.first ?? ""))
    #expect(sent.count == 1 && context.isSampled && context.parent == bin.attempts.first?.place.id)
    #expect((context.traceID == Self.trace) == (fate == .continued))
    #expect(bin.request?.parent == (fate == .continued ? UInt64(Self.parent, radix: 16) : 0))
    #expect(Self.values("tracestate", at: server) == (fate == .continued ? ["a=1,b=2,c=3"] : []))
  }

  @Test func aRecordedTraceIsContinued() throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let bin = SpanBin()
    let rig = try Self.rig(Route(to: server.port), spans: bin) { $0.trace = TraceSettings() }
    _ = try Self.ask(rig, "TraceParent: \(Self.traceparent)", "tracestate: a=1 , b=2", "tracestate: c=3")
    let parents = Self.parents(Self.values("traceparent", at: server))
    #expect(eventually { bin.all.count == 2 })
    #expect(parents == bin.all.filter { $0.kind == .client }.map { TraceContext.digits($0.place.id) })
    #expect(Self.values("tracestate", at: server) == ["a=1,b=2,c=3"])
  }

  @Test(arguments: [
    [], ["traceparent: 00-\(trace)-\(parent)"], ["traceparent: \(traceparent)", "traceparent: \(traceparent)"],
    ["traceparent: ff-\(trace)-\(parent)-01"], ["tracestate: a=1"],
  ]) func aTraceIsBegun(fields: [String]) throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let rig = try Self.rig(Route(to: server.port)) { $0.trace = TraceSettings(begins: true, sample: 1) }
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\((fields + ["tracestate: x=y"]).map { $0 + "\r\n" }.joined())\r\n")
    #expect(client.response()?.status == 200)
    let sent = Self.values("traceparent", at: server)
    #expect(sent.count == 1)
    let context = try #require(TraceContext(traceparent: sent.first ?? ""))
    #expect(context.isSampled && context.traceID != Self.trace)
    #expect(Self.values("tracestate", at: server) == [])
  }

  @Test func withoutBeginBrokenFieldsPass() throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let rig = try Self.rig(Route(to: server.port)) { $0.trace = TraceSettings(begins: false) }
    _ = try Self.ask(rig, "traceparent: broken", "tracestate: x=y")
    #expect(Self.values("traceparent", at: server) == ["broken"])
    #expect(Self.values("tracestate", at: server) == ["x=y"])
  }

  @Test func eachRetryHasAParentOfItsOwn() throws {
    let server = try ScriptedServer(
      Script(.head, .send(Self.busy), .head, .send(Self.busy), .head, .send(okResponse("")), .awaitClose))
    var route = try Route(to: server.port)
    route.retry.limit = 3
    let rig = try Self.rig(route, spans: SpanBin()) { $0.trace = TraceSettings() }
    #expect(try Self.ask(rig, "traceparent: \(Self.traceparent)", "tracestate: a=1").status == 200)
    let parents = Self.parents(Self.values("traceparent", at: server))
    #expect(parents.count == 3 && Set(parents).count == 3 && !parents.contains(Self.parent))
    #expect(Self.values("tracestate", at: server) == ["a=1", "a=1", "a=1"])
    #expect(Self.values("X-Retry-Attempt", at: server) == ["1", "2"])
  }

  @Test func aHedgeHasAParentOfItsOwn() throws {
    let server = try ScriptedServer(Script(.head, .awaitClose), Script(.head, .send(okResponse("")), .awaitClose))
    var route = try Route(to: server.port)
    route.hedge = HedgePlan(delay: .seconds(0.05), limit: 1)
    let rig = try Self.rig(route, spans: SpanBin()) { $0.trace = TraceSettings() }
    #expect(try Self.ask(rig, "traceparent: \(Self.traceparent)").status == 200)
    let parents = Self.parents(Self.values("traceparent", at: server) + Self.values("traceparent", at: server, 1))
    #expect(parents.count == 2 && Set(parents).count == 2)
  }

  @Test func aFallbackHasAParentOfItsOwn() throws {
    let first = try ScriptedServer(Script(.head, .close)), second = try ScriptedServer(.answering(okResponse("")))
    var route = try Route(to: first.port)
    route.fallback = RouteFallback(action: .upstream(try Upstream(parsing: "http://127.0.0.1:\(second.port)")))
    let rig = try Self.rig(route, spans: SpanBin()) {
      $0.trace = TraceSettings()
      $0.requestID = RequestIDSettings()
    }
    #expect(try Self.ask(rig, "traceparent: \(Self.traceparent)").status == 200)
    let parents = Self.parents(Self.values("traceparent", at: first) + Self.values("traceparent", at: second))
    #expect(parents.count == 2 && Set(parents).count == 2)
    // It is the same request.
    #expect(Self.values("X-Request-ID", at: first) == Self.values("X-Request-ID", at: second))
  }

  @Test func aRoutesRuleWins() throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    var route = try Route(to: server.port)
    route.headers.remove = ["traceparent", "x-request-id"]
    let rig = try Self.rig(route) {
      $0.trace = TraceSettings(begins: true)
      $0.requestID = RequestIDSettings()
    }
    _ = try Self.ask(rig, "traceparent: \(Self.traceparent)")
    #expect(Self.values("traceparent", at: server) == [])
    #expect(Self.values("X-Request-ID", at: server) == [])
  }

  // MARK: Identifiers of requests

  @Test(
    arguments: [
      ("X-Request-ID: abc", "abc"), ("x-request-id: a,b", "a,b"), ("X-Request-ID: a b", nil), ("X-Request-ID:", nil),
      ("X-Request-ID: " + String(repeating: "a", count: 128), String(repeating: "a", count: 128)),
      ("X-Request-ID: " + String(repeating: "a", count: 129), nil), ("X-Request-ID: a\r\nX-Request-ID: b", nil),
      ("X_Request_ID: a\r\nX-Request-ID: b", "b"), ("X.Request.ID: a", nil), ("X-Request-ID: \u{fc}", nil),
      ("X-Other: a", nil),
    ] as [(String, String?)]) func identifiersPassOrAreMade(field: String, passed: String?) throws
  {
    let server = try ScriptedServer(.answering("HTTP/1.1 200 OK\r\nX-Request-ID: theirs\r\nContent-Length: 0\r\n\r\n"))
    let rig = try Self.rig(Route(to: server.port)) { $0.requestID = RequestIDSettings() }
    let response = try Self.ask(rig, field)
    let sent = Self.values("X-Request-ID", at: server)
    #expect(sent.count == 1 && Self.values("X_Request_ID", at: server).isEmpty)
    #expect(response.values("X-Request-ID") == sent)
    if let passed { #expect(sent == [passed]) } else { #expect(sent[0].wholeMatch(of: /[0-9a-f]{32}/) != nil) }
  }

  @Test func identifiersOfStrangersAreReplaced() throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let rig = try Self.rig(Route(to: server.port)) { $0.requestID = RequestIDSettings(header: "X-Id", trust: false) }
    let response = try Self.ask(rig, "X-Id: mine")
    #expect(Self.values("X-Id", at: server).count == 1 && Self.values("X-Id", at: server) != ["mine"])
    #expect(response.values("X-Id") == Self.values("X-Id", at: server))
  }

  @Test func theGatewaysOwnAnswersHaveIdentifiers() throws {
    let rig = try Self.rig(
      Route(to: LoopbackPort.free(), path: "/dead", name: "dead"),
      Route(name: "said", match: RouteMatch(pathPrefix: "/said"), action: .respond(RouteResponse(status: 200))),
      Route(name: "away", match: RouteMatch(pathPrefix: "/away"), action: .redirect(RouteRedirect()))
    ) { $0.requestID = RequestIDSettings() }
    for (path, status) in [("/no", 404), ("/dead", 502), ("/said", 200), ("/away", 308)] {
      let response = try Self.ask(rig, "X-Request-ID: abc", path: path)
      #expect(response.status == status)
      #expect(response.values("X-Request-ID") == ["abc"], "\(path)")
    }
  }

  // MARK: Where they show

  @Test func linesAndExemplars() throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let directory = try TemporaryDirectory()
    let logged = LoggedLines()
    let rig = try Self.rig(
      Route(to: server.port), Route(to: LoopbackPort.free(), path: "/dead", name: "dead"), log: logged.log
    ) {
      $0.trace = TraceSettings(begins: true, sample: 0)
      $0.requestID = RequestIDSettings()
      $0.accessLog = AccessLogSettings(to: .file("\(directory.path)/log"))
    }
    _ = try Self.ask(rig, "traceparent: \(Self.traceparent)", "X-Request-ID: one")
    _ = try Self.ask(rig, "traceparent: 00-\(String(Self.trace.reversed()))-\(Self.parent)-00", path: "/dead")
    var lines: [Substring] = []
    #expect(
      eventually {
        lines = ((try? String(contentsOfFile: "\(directory.path)/log", encoding: .utf8)) ?? "").split(separator: "\n")
        return lines.count == 2
      })
    #expect(lines[0].contains("\"trace_id\":\"\(Self.trace)\",\"request_id\":\"one\""))
    #expect(lines[1].contains("\"trace_id\":\"\(String(Self.trace.reversed()))\",\"request_id\":\""))
    #expect(logged.saying("request failed").first?.contains("trace_id=\(String(Self.trace.reversed()))") == true)
    // Only what is sampled is an exemplar.
    let page = rig.registry.text(Exposition(.openMetrics))
    for name in ["http_server_request_duration_seconds", "weir_request_duration_seconds"] {
      let exemplars = page.split(separator: "\n").filter { $0.hasPrefix(name) && $0.contains(" # {") }
      #expect(exemplars.count == 1, "\(name)")
      #expect(exemplars.first?.contains("# {trace_id=\"\(Self.trace)\"}") == true)
    }
  }
}
