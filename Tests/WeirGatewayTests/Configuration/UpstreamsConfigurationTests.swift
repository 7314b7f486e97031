import Testing
import WeirResolver
import WeirTransport

@testable import WeirGateway

/// The keys of `upstreams`: each with a wrong type, with values out of range, and in a wrong place.
@Suite struct UpstreamsConfigurationTests {
  /// The problems of an upstream with one line beside its name and endpoints, each as `line:column: path: text`.
  func problems(_ line: String, name: String = "u", endpoints: Bool = true) -> [String] {
    let lines = ["name: \(name)"] + (endpoints ? ["endpoints: [\"127.0.0.1:1\"]"] : []) + [line]
    let text = "upstreams:\n  - \(lines.joined(separator: "\n    "))\nroutes: [{name: r, upstream: u}]\n"
    return Configuration.problems(of: text)
  }

  @Test func readsEveryKey() throws {
    let text = """
      upstreams:
        - name: payments
          scheme: https
          basePath: /base/
          endpoints:
            - pay.internal:8443
            - {address: "10.0.0.9:8443", weight: 3, priority: 1}
            - "[2001:db8::7]:8443"
            - unix:/run/pay.sock
          host: pay.example
          resolve: {minimum: 2s, maximum: 1m, timeout: 500ms, family: ipv4, servers: ["127.0.0.1:5353", "[::1]:53"]}
          balance: {policy: consistentHash, key: header X-Account, factor: 2}
          outlier: {consecutiveFailures: 3, failureRatio: 0.4, minimumRequests: 10, window: 5s, ejectFor: 5s, longest: 1m,
                    maximumShare: 0.3}
          slowStart: off
          panicThreshold: 0.2
          connectRetries: 2
          check: {path: /healthz, method: HEAD, host: h.example, headers: {X-Check: "1"}, port: 9000,
                  status: [200, 300-399], interval: 5s, timeout: 1s, unhealthyAfter: 2, healthyAfter: 1}
          connectTimeout: 1s
          idleTimeout: 30s
          maximumAge: 10m
          silenceTimeout: 20s
          connections: 100
          uploads: 10
          parked: 20
          tls: {serverName: pay.example, minimumVersion: 1.3, pins: [47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=]}
          httpVersion: 1.1
          retryBudget: {ratio: 0.3}
          circuitBreaker: {}
          overload: off
          pace: {rate: 90/m, burst: 3}
          destinationPolicy: {allow: [10.0.0.0/8], otherwise: any}
        - {name: services, srv: _http._tcp.pay.internal}
        - {name: file, file: /etc/weir/pay.json, balance: roundRobin, outlier: off, check: off, retryBudget: off}
      routes:
        - {name: a, upstream: payments}
        - {name: b, match: {path: /b}, upstream: [{name: services, weight: 9}, {name: file}], splitBy: client}
        - {name: c, match: {path: /c}, upstream: "http://h", fallback: {upstream: file, statusCodes: [502, 504]}}
      """
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    #expect(configuration.warnings.isEmpty)
    let upstreams = Dictionary(uniqueKeysWithValues: configuration.upstreams.map { ($0.name, $0) })
    let pay = try #require(upstreams["payments"])
    #expect(pay.target == Upstream(named: "payments", scheme: .https, basePath: "/base"))
    #expect(
      pay.source
        == .listed([
          EndpointSpec(host: "pay.internal", port: 8443),
          EndpointSpec(host: "10.0.0.9", port: 8443, weight: 3, priority: 1),
          EndpointSpec(host: "2001:db8::7", port: 8443), EndpointSpec(unixPath: "/run/pay.sock"),
        ]))
    #expect(pay.host == .text("pay.example"))
    #expect(pay.resolve.servers.list.map(\.description) == ["127.0.0.1:5353", "[::1]:53"])
    #expect(pay.resolve.family == .ipv4)
    #expect([pay.resolve.minimum, pay.resolve.maximum, pay.resolve.timeout] == [2, 60, 0.5])
    #expect(pay.endpoints.balance == .consistentHash(factor: 2))
    #expect(pay.balanceKey == .header("X-Account"))
    #expect(pay.endpoints.outlier?.longest == 60)
    #expect(pay.endpoints.slowStart == nil)
    #expect(pay.check?.statuses == [200...200, 300...399])
    #expect(pay.check?.headers == [HeaderRule(name: "X-Check", value: "1")])
    #expect(pay.connection.maximumAge == 600)
    #expect([pay.connection.perEndpoint, pay.connection.uploads, pay.connection.parked] == [100, 10, 20])
    #expect(pay.tls?.pins.count == 1)
    #expect(pay.overload == nil)
    #expect(pay.pace == PaceSettings(rate: 1.5, burst: 3))
    #expect(upstreams["services"]?.pace == nil)
    #expect(pay.retryBudget?.ratio == 0.3)
    #expect(upstreams["services"]?.source == .services("_http._tcp.pay.internal"))
    #expect(upstreams["file"]?.endpoints.outlier == nil)
    guard case .split(let split) = configuration.routes[1].action else { throw TestFailure() }
    #expect(split.parts.map(\.weight) == [9, 1])
    #expect(split.key == .client)
    #expect(configuration.routes[2].fallback?.statusCodes == [502, 504])
  }

  private struct TestFailure: Error {}

  /// In each case: a key with its parent, a value of a wrong type, and values out of range.
  @Test(
    arguments: [
      ("scheme", ["[]", "ftp"]), ("basePath", ["3", "relative", "/a?b"]), ("host", ["3", "a/b", ""]),
      ("balance", ["3", "fastest", "consistentHash", "{policy: roundRobin, key: client}", "{key: client}"]),
      ("balance: {policy: consistentHash, key", ["3}", "ip}", "header}", "header A B}", "cookie a=b}"]),
      ("balance: {policy: consistentHash, key: client, factor", ["x}", "1}", "10.5}"]),
      ("outlier", ["true", "5"]), ("outlier: {consecutiveFailures", ["1.5}", "0}", "1001}"]),
      ("outlier: {failureRatio", ["x}", "0}", "1.1}"]), ("outlier: {minimumRequests", ["x}", "0}", "1000001}"]),
      ("outlier: {window", ["x}", "0.5s}", "61s}"]), ("outlier: {ejectFor", ["x}", "0.5s}", "2h}"]),
      ("outlier: {longest", ["x}", "5s}", "2h}"]), ("outlier: {maximumShare", ["x}", "-0.1}", "1.1}"]),
      ("slowStart", ["x", "0.5s", "16m"]), ("panicThreshold", ["x", "-1", "1.1"]),
      ("connectRetries", ["x", "-1", "6"]),
      ("check", ["true", "3"]), ("check: {path", ["3}", "a}"]),
      ("check: {path: /, method", ["3}", "\"a b\"}", "CONNECT}"]),
      ("check: {path: /, host", ["3}", "a/b}"]),
      ("check: {path: /, headers", ["3}", "{Host: a}}", "{Connection: a}}"]),
      ("check: {port", ["x}", "0}", "65536}"]),
      ("check: {path: /, status", ["x}", "[100]}", "[600]}", "[399-200]}", "[]}", "[ok]}"]),
      ("check: {interval", ["x}", "0.4s}", "2h}"]), ("check: {timeout", ["x}", "0.05s}", "11s}"]),
      ("check: {unhealthyAfter", ["x}", "0}", "101}"]), ("check: {healthyAfter", ["x}", "0}", "101}"]),
      ("check: {method", ["GET}"]),
      ("connectTimeout", ["x", "0.01s", "61s"]), ("idleTimeout", ["x", "0.5s", "2h"]),
      ("maximumAge", ["x", "0.5s", "25h"]), ("silenceTimeout", ["x", "0.05s", "2h"]),
      ("connections", ["x", "0", "8193"]), ("uploads", ["x", "0", "8193"]), ("parked", ["x", "0", "8193"]),
      ("httpVersion", ["x", "3", "[]"]), ("retryBudget", ["x", "3"]), ("circuitBreaker", ["x"]), ("overload", ["x"]),
      ("pace", ["x", "[]"]), ("pace: {rate", ["x}", "0/s}", "1000001/s}"]), ("pace: {burst", ["x}", "0}", "1000001}"]),
      ("pace: {obey", ["x}", "[x]}", "[rateLimit, rateLimit]}"]), ("pace: {wait", ["x}", "61s}"]),
      ("destinationPolicy", ["x", "{otherwise: some}"]),
      ("resolve", ["x"]), ("resolve: {minimum", ["x}", "0.5s}", "61s}"]),
      ("resolve: {maximum", ["x}", "0.5s}", "2h}"]),
      ("resolve: {minimum: 5s, maximum", ["4s}"]), ("resolve: {timeout", ["x}", "0.05s}", "31s}"]),
      ("resolve: {family", ["3}", "ipv5}"]),
      ("resolve: {servers", ["x}", "[]}", "[a.example:53]}", "[\"1.1.1.1:0\"]}"]),
      ("resolve: {servers", ["[\"1.1.1.1:1\",\"1.1.1.1:2\",\"1.1.1.1:3\",\"1.1.1.1:4\",\"1.1.1.1:5\"]}"]),
    ])
  func valuesAreChecked(key: String, values: [String]) {
    for value in values {
      let found = problems("\(key): \(value)")
      #expect(found.count >= 1 && found.allSatisfy { $0.hasPrefix("4:") }, "\(key): \(value) \(found)")
    }
  }

  @Test(arguments: [
    ("tls: {pins: []}", "4:17: upstreams[0].tls.pins: holds no pin; leave the key out to pin nothing"),
    ("interval: 3s", "4:5: upstreams[0].interval: unknown key; it belongs into check"),
    ("ejectFor: 3s", "4:5: upstreams[0].ejectFor: unknown key; it belongs into outlier"),
    ("weight: 3", "4:5: upstreams[0].weight: unknown key; it belongs into an endpoint"),
    ("timeout: 3s", "4:5: upstreams[0].timeout: unknown key; it belongs into the routes that name the upstream"),
    (
      "attemptTimeout: 1s",
      "4:5: upstreams[0].attemptTimeout: unknown key; it belongs into the routes that name the upstream"
    ),
    ("url: \"http://h\"", "4:5: upstreams[0].url: unknown key; give scheme, endpoints and basePath"),
    ("srv: _a._tcp.b", "4:10: upstreams[0].srv: give only one of endpoints, srv and file"),
    ("file: /a", "4:11: upstreams[0].file: give only one of endpoints, srv and file"),
    ("tls: {minimumVersion: 1.3}", "4:10: upstreams[0].tls: needs an https:// upstream"),
  ])
  func problemsSayWhatToWrite(line: String, problem: String) {
    #expect(problems(line).contains(problem), "\(problems(line))")
  }

  @Test(arguments: [
    ("endpoints: []", "3:16: upstreams[0].endpoints: holds 0 endpoints; give 1 to 1000"),
    ("endpoints: [h]", "3:17: upstreams[0].endpoints[0]: the port is missing; write host:port"),
    ("endpoints: [\"h:1\", \"H:1\"]", "3:24: upstreams[0].endpoints[1]: \"h:1\" is already in this list (line 3)"),
    ("endpoints: [{address: \"h:1\", weight: 0}]", "3:42: upstreams[0].endpoints[0].weight: must be 1 to 1000"),
    ("endpoints: [{address: \"h:1\", priority: 10}]", "3:44: upstreams[0].endpoints[0].priority: must be 0 to 9"),
    ("srv: pay.internal", "3:10: upstreams[0].srv: must be a service's name, such as _https._tcp.pay.internal"),
    ("file: pay.json", "3:11: upstreams[0].file: give an absolute path"),
    ("slowStart: off", "2:5: upstreams[0].endpoints: is missing; list them, or give srv or file in its place"),
  ])
  func endpointsAreChecked(line: String, problem: String) {
    #expect(problems(line, endpoints: false).contains(problem), "\(problems(line, endpoints: false))")
  }

  @Test(arguments: ["127.1", "10", "A", "a b", "a.", "\"\"", "ä", String(repeating: "a", count: 65)])
  func namesAreChecked(name: String) {
    #expect(problems("slowStart: off", name: name).contains { $0.hasPrefix("2:11: upstreams[0].name: ") })
  }

  private static let entry = "upstreams: [{name: u, endpoints: [\"h:1\"]}, {name: v, endpoints: [\"h:1\"]}]\n"

  @Test(arguments: [
    ("upstream: w", "2:30: routes[0].upstream: no entry of upstreams is named \"w\"; "),
    ("upstream: [{name: u}]", "2:30: routes[0].upstream: holds 1 upstreams; give 2 to 16, or one without a list"),
    ("upstream: [{name: u}, {name: u}]", "2:42: routes[0].upstream[1]: \"u\" is already in this list"),
    (
      "upstream: [{name: u, weight: 0}, {name: v, weight: 0}]",
      "2:30: routes[0].upstream: has no weight above 0, so no request could go anywhere"
    ),
    ("upstream: [{name: u, weight: 1001}, {name: v}]", "2:49: routes[0].upstream[0].weight: must be 0 to 1000"),
    ("upstream: u, splitBy: client", "2:42: routes[0].splitBy: needs several upstreams to split requests among"),
    (
      "upstream: [{name: u}, {name: v}], splitBy: cookie a",
      "2:63: routes[0].splitBy: must be client or header NAME"
    ),
    ("upstream: u, overload: off", "2:43: routes[0].overload: all routes to an entry of upstreams share it; "),
    ("upstream: u, pace: off", "2:39: routes[0].pace: all routes to an entry of upstreams share it; "),
    (
      "upstream: u, circuitBreaker: {}",
      "2:49: routes[0].circuitBreaker: all routes to an entry of upstreams share it; "
    ),
    (
      "upstream: u, destinationPolicy: {otherwise: any}",
      "2:52: routes[0].destinationPolicy: all routes to an entry of upstreams share it; "
    ),
    (
      "upstream: u, retry: {limit: 1, budget: off}",
      "2:59: routes[0].retry.budget: all routes to an entry of upstreams share it; "
    ),
    ("upstream: u, fallback: {}", "2:43: routes[0].fallback: needs upstream or respond"),
    (
      "upstream: u, fallback: {upstream: w}",
      "2:54: routes[0].fallback.upstream: no entry of upstreams is named \"w\"; "
    ),
    (
      "upstream: u, fallback: {upstream: v, respond: {status: 200}}",
      "2:66: routes[0].fallback.respond: give only one of upstream and respond"
    ),
    (
      "upstream: u, fallback: {upstream: v, statusCodes: [500]}",
      "2:71: routes[0].fallback.statusCodes[0]: must be 502, 503 or 504, the gateway's own answers for its upstream"
    ),
    (
      "upstream: u, fallback: {upstream: v, statusCodes: []}",
      "2:70: routes[0].fallback.statusCodes: holds no status, so nothing is replaced; leave the key out for all"
    ),
    (
      "redirect: {scheme: https}, fallback: {upstream: v}",
      "2:57: routes[0].fallback: is of no use with redirect, which sends nothing to an upstream"
    ),
  ])
  func routesAreChecked(keys: String, problem: String) {
    let found = Configuration.problems(of: "\(Self.entry)routes: [{name: r, \(keys)}]\n")
    #expect(found.contains { $0.hasPrefix(problem) }, "\(found)")
  }

  @Test(
    arguments: [
      (
        "endpoints: [\"10.0.0.1:1\", \"unix:/a\"], resolve: {family: ipv4}",
        "1:70: upstreams[0].resolve: does nothing: all endpoints are addresses, and none is looked up"
      ),
      ("endpoints: [\"10.0.0.1:1\", \"h:1\"], resolve: {family: ipv4}", nil),
      ("srv: _a._tcp.b, resolve: {family: ipv4}", nil),
      (
        "endpoints: [\"unix:/a\", \"unix:/b\"], check: {port: 1}",
        "1:65: upstreams[0].check: port does nothing: all endpoints are Unix sockets"
      ),
      ("endpoints: [\"unix:/a\", \"10.0.0.1:1\"], check: {port: 1}", nil),
      ("endpoints: [\"unix:/a\"], check: {path: /}", nil),
    ] as [(String, String?)])
  func keysThatDoNothingAreWarnings(keys: String, warning: String?) throws {
    let text = "upstreams: [{name: u, \(keys)}]\nroutes: [{name: r, upstream: u}]"
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    #expect(configuration.warnings.map { $0.description(file: "f") } == warning.map { ["f:\($0)"] } ?? [])
  }

  @Test func anUnusedUpstreamIsAWarningAndASharedHostAProblem() throws {
    let unused = try Configuration(
      parsing: Array("\(Self.entry)routes: [{name: r, upstream: u}]".utf8), file: "f")
    #expect(unused.warnings.map { $0.description(file: "f") }.contains { $0.contains("upstreams[1].name: no route") })
    let shared = Configuration.problems(of: "\(Self.entry)routes: [{name: r, upstream: \"http://u:8080\"}]")
    #expect(shared == ["1:20: upstreams[0].name: a route has a URL with the host \"u\"; their metrics would be one"])
    #expect(
      Configuration.problems(
        of: "upstreams: [{name: u, endpoints: [\"h:1\"]}, {name: u, srv: _a._tcp.b}]\nroutes: [{name: r, upstream: u}]")
        == ["1:51: upstreams[1].name: another upstream is named \"u\" (line 1)"])
  }
}
