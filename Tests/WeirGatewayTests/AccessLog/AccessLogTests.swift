import Foundation
import Glibc
import Testing
import WeirIO
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// The access log of a gateway, read from its file.
@Suite(.timeLimit(.minutes(5))) struct AccessLogTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func settings(_ change: (inout AccessLogSettings) -> Void = { _ in }) -> AccessLogSettings {
    var settings = AccessLogSettings(to: .file("\(directory.path)/log"))
    change(&settings)
    return settings
  }

  private func rig(
    _ routes: Route..., log: Logger = Logger(level: .error), _ change: (inout AccessLogSettings) -> Void = { _ in }
  ) throws -> GatewayRig {
    var configuration = Configuration(routes: routes)
    configuration.accessLog = settings(change)
    return try GatewayRig(configuration, log: log)
  }

  private var text: String { (try? String(contentsOfFile: "\(directory.path)/log", encoding: .utf8)) ?? "" }

  /// The lines, once there are so many.
  private func lines(_ count: Int) throws -> [[String: Any]] {
    #expect(eventually { text.count { $0 == "\n" } >= count })
    let lines = text.split(separator: "\n")
    #expect(lines.count == count)
    return try lines.map { line in
      try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }
  }

  private static let ok = okResponse("hello")

  @Test func aForwardedRequest() throws {
    let server = try ScriptedServer(.answering(with: { Self.ok }))
    let rig = try rig(Route(to: server.port))
    let client = try rig.client()
    client.send("POST /a%20b?token=s3cr3t HTTP/1.1\r\nHost: shop:80\r\nContent-Length: 3\r\n\r\nabc")
    #expect(client.response()?.status == 200)
    let line = try lines(1)[0]
    #expect(line["listener"] as? String == "gateway")
    #expect(line["route"] as? String == "r")
    #expect(line["upstream"] as? String == "127.0.0.1:\(server.port)")
    #expect(line["client"] as? String == "127.0.0.1")
    #expect(line["method"] as? String == "POST")
    #expect(line["host"] as? String == "shop:80")
    #expect(line["path"] as? String == "/a%20b")
    #expect(line["protocol"] as? String == "HTTP/1.1")
    #expect(line["status"] as? Int == 200)
    #expect(line["outcome"] as? String == "success")
    #expect(line["bytes_in"] as? Int == 3)
    #expect(line["bytes_out"] as? Int == 5)
    #expect(line["attempts"] as? Int == 1)
    let seconds = try #require(line["seconds"] as? Double), upstream = try #require(line["upstream_seconds"] as? Double)
    #expect(seconds >= upstream && seconds < 10)
    for key in ["error", "tls", "query", "trace_id", "request_id", "endpoint"] { #expect(line[key] == nil, "\(key)") }
    let time = try #require(line["time"] as? String)
    let strategy = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    #expect(abs(try strategy.parse(time).timeIntervalSinceNow) < 60)
    #expect(eventually { rig.sample("weir_access_log_lines_total{result=\"written\"}") == 1 })
    #expect(rig.sample("weir_access_log_lines_total{result=\"dropped\"}") == 0)
  }

  @Test func answersOfTheGateway() throws {
    let dead = LoopbackPort.free()
    var redirect = RouteRedirect()
    redirect.host = "elsewhere"
    let rig = try rig(
      Route(to: dead, path: "/dead", name: "dead"),
      Route(name: "away", match: RouteMatch(pathPrefix: "/away"), action: .redirect(redirect)),
      Route(name: "said", match: RouteMatch(pathPrefix: "/said"), action: .respond(RouteResponse(status: 200))))
    for (line, status) in [
      ("GET /dead HTTP/1.1", 502), ("GET /away HTTP/1.0", 308), ("GET /said HTTP/1.1", 200), ("GET /no HTTP/1.1", 404),
      ("GET http://h?a HTTP/1.1", 404), ("GET /a b HTTP/1.1", 400),
    ] {
      let client = try rig.client()
      client.send("\(line)\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == status)
    }
    let lines = try lines(6)
    #expect(lines.map { $0["status"] as? Int } == [502, 308, 200, 404, 404, 400])
    #expect(lines.map { $0["route"] as? String } == ["dead", "away", "said", nil, nil, nil])
    #expect(
      lines.map { $0["outcome"] as? String } == [
        "transport_error", "answered", "answered", "no_route", "no_route", "refused",
      ])
    #expect(lines.map { $0["path"] as? String } == ["/dead", "/away", "/said", "/no", "/", nil])
    #expect(lines[0]["error"] as? String == "cannot_connect_to_host")
    #expect(lines[1]["protocol"] as? String == "HTTP/1.0")
    #expect(lines[5]["client"] as? String == "127.0.0.1")
    #expect(lines[5]["listener"] as? String == "gateway")
  }

  @Test(.enabled(if: isOwnEngine)) func aTunnelHasOneLineAtItsEnd() throws {
    let server = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 101 Go\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhi"), .bytes(5), .awaitEnd))
    var route = try Route(to: server.port)
    route.upgrade = TunnelRule(protocols: ["x"])
    let rig = try rig(route)
    let client = try rig.client()
    client.send("GET /chat HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nearly")
    #expect(client.awaitBytes())
    letPass(0.1)
    #expect(text.isEmpty)
    client.halfClose()
    _ = client.rest()
    let line = try lines(1)[0]
    #expect(line["status"] as? Int == 101)
    #expect(line["outcome"] as? String == "success")
    #expect(line["upstream"] as? String == "127.0.0.1:\(server.port)")
    #expect(line["bytes_in"] as? Int == 5)
    #expect(line["bytes_out"] as? Int == 2)
    #expect((line["seconds"] as? Double ?? 0) > (line["upstream_seconds"] as? Double ?? 1))
  }

  @Test func aResponseThatIsCutIsNeverSampledOut() throws {
    // What comes in one turn with the end may not have been passed on yet.
    let server = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"), .sleep(0.1), .close),
      Script(.head, .send(Self.ok), .awaitClose))
    let rig = try rig(Route(to: server.port)) { $0.sampleSuccesses = 0 }
    let first = try rig.client()
    first.send("GET /cut HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(first.response()?.isComplete == false)
    let second = try rig.client()
    second.send("GET /whole HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(second.response()?.isComplete == true)
    let third = try rig.client()
    third.send("broken\r\n\r\n")
    _ = third.rest()
    let line = try #require(try lines(2).first)
    #expect(line["path"] as? String == "/cut")
    #expect(line["status"] as? Int == 200)
    #expect(line["error"] as? String == "network_connection_lost")
    #expect(eventually { rig.sample("weir_access_log_lines_total{result=\"sampled_out\"}") == 1 })
  }

  @Test func aClientThatLeaves() throws {
    let server = try ScriptedServer(Script(.head, .awaitClose))
    let rig = try rig(Route(to: server.port)) { $0.sampleSuccesses = 0 }
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { server.receivedText().contains("\r\n\r\n") })
    client.reset()
    let line = try lines(1)[0]
    #expect(line["status"] == nil)
    #expect(line["outcome"] as? String == "cancelled")
  }

  /// It is one of many that are left out.
  @Test func aStreamThatItsClientEndsIsASuccess() throws {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    let server = try ScriptedServer(Script(.head, .send(head + "data: 1\n\n"), .awaitClose))
    for share in [1.0, 0] {
      let rig = try rig(Route(to: server.port)) { $0.sampleSuccesses = share }
      let client = try rig.client()
      client.send("GET / HTTP/1.0\r\nHost: h\r\n\r\n")
      #expect(client.awaitBytes())
      client.reset()
      #expect(eventually { rig.count("success") == 1 })
      let line = try lines(1)[0]
      #expect(line["status"] as? Int == 200)
      #expect(line["outcome"] as? String == "success")
      #expect(line["bytes_out"] as? Int == 9)
      #expect(line["error"] == nil)
      if share == 0 {
        #expect(eventually { rig.sample("weir_access_log_lines_total{result=\"sampled_out\"}") == 1 })
      }
    }
  }

  @Test func aRouteMayHaveNoLines() throws {
    let server = try ScriptedServer(.answering(Self.ok))
    var quiet = try Route(to: server.port, path: "/quiet", name: "quiet")
    quiet.hasAccessLog = false
    let rig = try rig(quiet, Route(to: server.port))
    let client = try rig.client()
    for path in ["/quiet", "/a"] {
      client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == 200)
    }
    #expect(try lines(1)[0]["path"] as? String == "/a")
  }

  @Test func withoutTheKeyThereIsNothing() throws {
    let server = try ScriptedServer(.answering(Self.ok))
    let rig = try GatewayRig(Route(to: server.port))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 200)
    #expect(!rig.registry.text().contains("weir_access_log_lines_total{"))
  }

  @Test func aReloadIsFollowed() async throws {
    let server = try ScriptedServer(.answering(Self.ok))
    let rig = try rig(Route(to: server.port))
    let client = try rig.client()
    func ask() {
      client.send("GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == 200)
    }
    ask()
    _ = try lines(1)
    var configuration = Configuration(routes: [try Route(to: server.port)])
    // Off.
    try await rig.gateway.reload(configuration)
    ask()
    // Another file, another format.
    configuration.accessLog = AccessLogSettings(to: .file("\(directory.path)/other"))
    configuration.accessLog?.format = .combined
    configuration.accessLog?.fields = [.query]
    try await rig.gateway.reload(configuration)
    ask()
    let other = "\(directory.path)/other"
    #expect(eventually { (try? String(contentsOfFile: other, encoding: .utf8))?.hasSuffix("\n") == true })
    #expect(try String(contentsOfFile: other, encoding: .utf8).contains("] \"GET /a?b HTTP/1.1\" 200 5 \"-\" \"-\"\n"))
    #expect(text.count { $0 == "\n" } == 1)
    // A place that can't be opened refuses the whole reload.
    configuration.accessLog = AccessLogSettings(to: .file("\(directory.path)/no/file"))
    configuration.routes = []
    await #expect(throws: AccessLogProblem.self) { try await rig.gateway.reload(configuration) }
    ask()
    #expect(eventually { (try? String(contentsOfFile: other, encoding: .utf8))?.count { $0 == "\n" } == 2 })
  }

  @Test func theEndWritesWhatWaits() async throws {
    let server = try ScriptedServer(.answering(Self.ok), .answering(Self.ok))
    let rig = try rig(Route(to: server.port))
    for _ in 0..<2 {
      let client = try rig.client()
      for _ in 0..<100 {
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(client.response()?.status == 200)
      }
    }
    await rig.gateway.stop(grace: 1)
    #expect(text.count { $0 == "\n" } == 200)
  }

  /// What a client, an upstream and their failures hold in secret is in no line, on no page and in no log.
  @Test(arguments: AccessLogSettings.Format.allCases) func secretsStaySecret(format: AccessLogSettings.Format) throws {
    let server = try ScriptedServer(
      .answering("HTTP/1.1 200 OK\r\nSet-Cookie: s3cr3t\r\nLocation: /?s3cr3t\r\nContent-Length: 6\r\n\r\ns3cr3t"),
      .answering("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX: s3cr3t\r\n\r\ns3cr3t"))
    let logged = LoggedLines()
    let rig = try rig(
      Route(to: server.port), Route(to: LoopbackPort.free(), path: "/dead", name: "dead"),
      log: logged.log(.debug)
    ) { $0.format = format }
    let fields = [
      "Authorization: Bearer s3cr3t", "Authorization: Basic s3cr3t", "Proxy-Authorization: Basic s3cr3t",
      "Cookie: session=s3cr3t", "Cookie: s3cr3t", "X-Api-Key: s3cr3t", "X-Auth-Token: s3cr3t",
      "Referer: http://h/?s3cr3t",
      "User-Agent: s3cr3t", "Forwarded: for=s3cr3t", "X-Forwarded-For: s3cr3t", "X-CSRF-Token: s3cr3t",
      "From: s3cr3t@example.com", "Origin: http://s3cr3t", "If-None-Match: \"s3cr3t\"", "X-Amz-Security-Token: s3cr3t",
      "Content-Type: s3cr3t", "Accept: s3cr3t", "Via: 1.1 s3cr3t", "Range: s3cr3t", "Priority: s3cr3t",
      "X-Request-ID: s3cr3t", "traceparent: s3cr3t", "tracestate: a=s3cr3t", "baggage: a=s3cr3t",
    ]
    let requests =
      fields.flatMap { field in ["/", "/dead"].map { "GET \($0) HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n" } }
      + [
        "/?password=s3cr3t", "/?token=s3cr3t&a=b", "/?s3cr3t", "/dead?access_token=s3cr3t", "/dead?a=b&sig=s3cr3t",
        "http://h/?s3cr3t", "http://h?s3cr3t", "http://user:s3cr3t@h/", "http://s3cr3t@h/",
      ].map { "GET \($0) HTTP/1.1\r\nHost: h\r\n\r\n" }
      + [
        "GET / HTTP/1.1\r\nHost: s3cr3t@h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\ns3cr3t\r\n\r\n",
        "GET /\u{1}s3cr3t HTTP/1.1\r\nHost: h\r\n\r\n", "GET /#s3cr3t HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/s3cr3t\r\nHost: h\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\ns3cr3t",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\ns3cr3t\r\n",
      ]
    #expect(fields.count + 16 >= 40)
    for request in requests {
      let client = try rig.client()
      client.send(request)
      #expect(client.response() != nil, "\(request)")
    }
    #expect(eventually { text.count { $0 == "\n" } == requests.count })
    #expect(!text.contains("s3cr3t"))
    #expect(!rig.registry.text().contains("s3cr3t"))
    #expect(logged.all.count >= requests.count - 10)
    #expect(!logged.all.contains { $0.contains("s3cr3t") })
  }
}
