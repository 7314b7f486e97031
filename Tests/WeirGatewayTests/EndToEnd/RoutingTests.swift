import Foundation
import Synchronization
import Testing
import WeirTestSupport

@testable import WeirGateway

/// Redirects, fixed responses and the rules of header fields, as clients and upstreams see them.
@Suite(.timeLimit(.minutes(5))) struct RoutingTests {
  private func rig(_ routes: String, log: Logger = Logger(level: .error)) throws -> GatewayRig {
    let configuration = try Configuration(parsing: Array("routes:\n\(routes)".utf8), file: "f")
    return try GatewayRig(configuration, log: log)
  }

  private func lines(_ response: RawClient.Response?) -> [String] {
    (response?.fieldLines ?? []).filter { !$0.hasPrefix("Date: ") }
  }

  // MARK: Redirects and fixed responses

  @Test(arguments: [301, 302, 303, 307, 308])
  func redirects(status: Int) throws {
    let rig = try rig("- {name: r, redirect: {status: \(status), scheme: https}}")
    let client = try rig.client()
    client.send("POST //evil.example/x?a=b HTTP/1.1\r\nHost: h.example:8080\r\nContent-Length: 3\r\n\r\nabc")
    client.send("HEAD /x HTTP/1.1\r\nHost: h.example\r\n\r\nGET /%zz HTTP/1.1\r\nHost: h.example\r\n\r\n")
    let first = client.response()
    #expect(first?.status == status)
    #expect(lines(first) == ["Location: https://h.example//evil.example/x?a=b", "Content-Length: 0"])
    let second = client.response(toHead: true)
    #expect(second?.status == status)
    #expect(second?.values("Location") == ["https://h.example/x"])
    #expect(client.response()?.status == 400)
    #expect(eventually { rig.count("answered") == 2 })
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
  }

  @Test func aRequestWithoutAHostIsNotRedirected() throws {
    let rig = try rig("- {name: r, redirect: {port: 81}}")
    let client = try rig.client()
    client.send("GET //evil.example HTTP/1.0\r\n\r\n")
    let response = client.response()
    #expect(response?.status == 400)
    #expect(response?.text == "a redirect needs the host that the request is meant for\n")
  }

  /// A status that would be a failure of an upstream is none of a route that says it.
  @Test func fixedResponsesAreNoFailures() throws {
    let log = Mutex("")
    let rig = try rig(
      """
      - {name: r, match: {path: /down}, respond: {status: 503, body: "{\\"down\\": true}", contentType: application/json}}
      - {name: text, match: {path: /text}, respond: {status: 200, body: hé}}
      - {name: none, match: {path: /none}, respond: {status: 204}, responseHeaders: {set: {X-Route: "{route}"}}}
      """,
      log: Logger(level: .debug, format: .logfmt) { line in
        log.withLock { $0 += String(decoding: line, as: UTF8.self) }
      })
    let client = try rig.client()
    for path in ["/down", "/text", "/none"] { client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n") }
    let down = client.response()
    #expect(down?.status == 503)
    #expect(lines(down) == ["Content-Type: application/json", "Content-Length: 14"])
    #expect(down?.text == #"{"down": true}"#)
    let greeting = client.response()
    #expect(lines(greeting) == ["Content-Type: text/plain; charset=utf-8", "Content-Length: 3"])
    #expect(greeting?.text == "hé")
    let none = client.response()
    #expect(none?.status == 204)
    #expect(lines(none) == ["X-Route: none"])
    client.send("HEAD /down HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response(toHead: true)?.values("Content-Length") == ["14"])
    #expect(eventually { rig.count("answered") == 2 && rig.count("answered", route: "none") == 1 })
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
    let series = """
      http_server_request_duration_seconds_count{http_request_method="GET",url_scheme="http",http_route="r",\
      http_response_status_code="503",error_type="",network_protocol_version="1.1"}
      """
    #expect(rig.sample(series) == 1)
    let text = log.withLock { $0 }
    #expect(text.contains("msg=request route=r method=GET path=/down status=503 outcome=answered"), "\(text)")
    #expect(!text.contains("request failed"))
  }

  @Test func aLargeResponseGoesOutWhole() throws {
    let body = String(repeating: "a", count: 65_536)
    let rig = try rig("- {name: r, respond: {status: 200, body: \(body)}}")
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == body)
  }

  // MARK: Conditions

  @Test func methodFieldsAndQueryDecide() throws {
    let rig = try rig(
      """
      - {name: a, respond: {status: 200, body: a}}
      - {name: b, match: {methods: [POST]}, respond: {status: 200, body: b}}
      - {name: c, match: {headers: {X-Env: {prefix: can}}}, respond: {status: 200, body: c}}
      - {name: d, match: {query: {v: "é"}}, respond: {status: 200, body: d}}
      - {name: e, match: {host: "*.example"}, respond: {status: 200, body: e}}
      """)
    let client = try rig.client()
    for (request, expected) in [
      ("GET / HTTP/1.1\r\nHost: h\r\n", "a"), ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n", "b"),
      ("GET / HTTP/1.1\r\nHost: h\r\nx-env:  canary \r\n", "c"), ("GET /?v=%C3%A9 HTTP/1.1\r\nHost: h\r\n", "d"),
      ("GET /?v=%E9 HTTP/1.1\r\nHost: h\r\n", "a"), ("GET / HTTP/1.1\r\nHost: A.EXAMPLE.:1\r\n", "e"),
      ("GET http://a.example/ HTTP/1.1\r\nHost: h\r\n", "e"),
    ] {
      client.send(request + "\r\n")
      #expect(client.response()?.text == expected, "\(request)")
    }
  }

  // MARK: Header fields

  @Test func rulesChangeFieldsBothWays() throws {
    let upstream = try ScriptedServer(
      .answering("HTTP/1.1 200 OK\r\nServer: secret\r\nX-A: theirs\r\nX-B: 1\r\nContent-Length: 2\r\n\r\nok"))
    let rig = try rig(
      """
      - name: pay
        upstream: http://127.0.0.1:\(upstream.port)
        headers:
          set: {X-Real-IP: "{client}", X-Asked: "{scheme}://{host}/{route}?{x}{", X-Fixed: "{ host }"}
          add: {X-List: "b {client}", X-Once: new}
        responseHeaders:
          set: {X-A: "{host} {client}"}
          add: {X-B: "{route}", X-C: fixed}
          remove: [server, X-None]
      """)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: Shop.Example:8080\r\nX-List: a\r\nX-Real-IP: 1.2.3.4\r\nX_Real_IP: 5\r\n\r\n")
    let response = client.response()
    #expect(
      lines(response) == [
        "X-B: 1", "Via: 1.1 weir", "X-A: Shop.Example 127.0.0.1", "X-B: pay", "X-C: fixed", "Content-Length: 2",
      ])
    let sent = upstream.receivedText().components(separatedBy: "\r\n").filter {
      $0.hasPrefix("X-") && !$0.hasPrefix("X-F")
    }
    #expect(
      sent == [
        "X-List: a", "X-Once: new", "X-Real-IP: 127.0.0.1", "X-Asked: http://Shop.Example/pay?{x}{",
        "X-List: b 127.0.0.1",
      ])
    #expect(upstream.receivedText().contains("\r\nX-Fixed: { host }\r\n"))
    #expect(upstream.receivedText().hasPrefix("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(upstream.port)\r\n"))
    #expect(!upstream.receivedText().contains("X_Real_IP"))
  }

  /// The server refuses most of these itself. What it lets through must not bring about another line.
  @Test(arguments: [
    "h\rX-Evil: 1", "h\nX-Evil: 1", "h\0X-Evil: 1", "h\r\n X-Evil: 1", "h%0d%0aX-Evil:1", "h;a=b", "[::1]", "h,evil",
    "!$&'()*+,;=", ":80", "h:80", "h\u{85}X", "\u{e9}",
  ])
  func valuesOfClientsBringNoLines(host: String) throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try rig(
      """
      - name: r
        upstream: http://127.0.0.1:\(upstream.port)
        rewriteHost: client
        headers: {set: {X-Host: "<{host}>"}, add: {X-More: "{host}"}}
        responseHeaders: {set: {X-Host: "<{host}>"}}
      """)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
    let response = client.response()
    let received = upstream.receivedText().components(separatedBy: "\r\n")
    #expect(!received.contains { $0.hasPrefix("X-Evil") || $0.hasPrefix(" X-Evil") })
    #expect(response?.values("X-Evil") == [])
    guard response?.status == 200 else { return #expect(response?.status == 400) }
    #expect(received.count { $0.hasPrefix("Host: ") } == 1)
    #expect(received.count { $0.hasPrefix("X-Host: <") && $0.hasSuffix(">") } == 1)
    #expect(response?.values("X-Host").count == 1)
  }

  @Test(
    arguments: [
      ("client", "front.example:8080", "front.example:8080"), ("client", ":80", nil), ("client", "a,b", nil),
      ("client", "", nil), ("inner.example:90", "h", "inner.example:90"), ("\"[::1]\"", "h", "[::1]"),
    ] as [(String, String, String?)])
  func hostIsRewritten(rule: String, host: String, expected: String?) throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try rig("- {name: r, upstream: \"http://127.0.0.1:\(upstream.port)\", rewriteHost: \(rule)}")
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
    #expect(client.response()?.text == "ok")
    let sent = expected ?? "127.0.0.1:\(upstream.port)"
    #expect(upstream.receivedText().hasPrefix("GET / HTTP/1.1\r\nHost: \(sent)\r\n"), "\(upstream.receivedText())")
  }

  @Test func prefixesAreReplacedOnTheWire() throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try rig(
      "- {name: r, match: {pathPrefix: /v1}, upstream: \"http://127.0.0.1:\(upstream.port)/base\", replacePrefix: /v2}")
    let client = try rig.client()
    client.send("GET /v1/./x?y HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == "ok")
    #expect(upstream.receivedText().hasPrefix("GET /base/v2/x?y HTTP/1.1\r\n"))
  }
}
