import Testing

@testable import WeirGateway

// The keys that change requests and responses on their way.
extension RoutingConfigurationTests {
  @Test(arguments: [
    "attemptTimeout: 1s", "circuitBreaker: {}", "destinationPolicy: {otherwise: any}", "headers: {}",
    "hedge: {after: 1s}", "overload: off", "pace: {}", "replacePrefix: /a", "retry: {}", "rewriteHost: a",
    "silenceTimeout: 1s",
    "streaming: true", "stripPrefix: true", "timeout: 1s",
  ])
  func keysOfUpstreamsAreOfNoUseElsewhere(line: String) throws {
    let key = try #require(line.split(separator: ":").first)
    let column = 5 + key.count + 2
    for (action, value) in [("redirect", "{port: 1}"), ("respond", "{status: 200}")] {
      #expect(
        problems("\(action): \(value)\n    \(line)") == [
          "3:\(column): routes[0].\(key): is of no use with \(action), which sends nothing to an upstream"
        ])
    }
  }

  @Test(arguments: [
    ("stripPrefix: true\n    match: {path: /a}", "2:18: routes[0].stripPrefix: needs a match by pathPrefix"),
    (
      "stripPrefix: true\n    replacePrefix: /a",
      "3:20: routes[0].replacePrefix: give only one of stripPrefix and replacePrefix"
    ),
    ("replacePrefix: a", "2:20: routes[0].replacePrefix: must begin with /"),
    (
      "replacePrefix: false",
      "2:20: routes[0].replacePrefix: expected a string, found the boolean false; "
        + "write it in quotes"
    ),
    ("replacePrefix: \(long)", "2:20: routes[0].replacePrefix: must be at most 2048 bytes long"),
    (
      "replacePrefix: /a\n    match: {pathPattern: '/b/*/**'}",
      "2:20: routes[0].replacePrefix: needs a match by pathPrefix, whose place it takes"
    ),
    ("match: {replacePrefix: /a}", "2:13: routes[0].match.replacePrefix: unknown key; it belongs into the route"),
    ("rewriteHost: true", "2:18: routes[0].rewriteHost: expected a string, found the boolean true; write it in quotes"),
    ("rewriteHost: ''", "2:18: routes[0].rewriteHost: the host is missing"),
    ("rewriteHost: a/b", "2:18: routes[0].rewriteHost: must be a host, perhaps with a port, or client"),
    ("rewriteHost: 'a:0'", "2:18: routes[0].rewriteHost: the port must be 1 to 65535"),
    ("rewriteHost: 'a:65536'", "2:18: routes[0].rewriteHost: the port must be 1 to 65535"),
    ("rewriteHost: u@a", "2:18: routes[0].rewriteHost: must have no user name or password"),
    (
      "rewriteHost: a\n    headers: {set: {hOst: b}}",
      "2:18: routes[0].rewriteHost: headers.set has Host too; give only one of them"
    ),
    ("match: {rewriteHost: a}", "2:13: routes[0].match.rewriteHost: unknown key; it belongs into the route"),
  ])
  func rewrites(line: String, expected: String) { #expect(problems(line) == [expected]) }

  private static let value = "a field value must not hold control characters, nor begin or end with a space"

  @Test(arguments: [
    ("headers: {add: [a]}", "2:20: routes[0].headers.add: expected a mapping (key: value), found a list"),
    (
      "headers: {add: {a: 1}}",
      "2:24: routes[0].headers.add.a: expected a string, found a number; write it in quotes"
    ),
    ("headers: {add: {a: \"b\\nc\"}}", "2:24: routes[0].headers.add.a: \(value)"),
    ("headers: {add: {a: \"{host}\\0\"}}", "2:24: routes[0].headers.add.a: \(value)"),
    ("headers: {add: {'a b': c}}", "2:28: routes[0].headers.add[\"a b\"]: \"a b\" is not a field name"),
    ("headers: {add: {Host: c}}", "2:27: routes[0].headers.add.Host: a request has one Host; set it instead"),
    (
      "headers: {add: {X-Retry-Attempt: '1'}}",
      "2:38: routes[0].headers.add.X-Retry-Attempt: a request has one X-Retry-Attempt; set it instead"
    ),
    ("headers: {add: {Via: c}}", "2:26: routes[0].headers.add.Via: the gateway finds loops by Via; leave it out"),
    (
      "headers: {set: {Host: '{host}'}}",
      "2:27: routes[0].headers.set.Host: write rewriteHost: client for the client's host"
    ),
    ("headers: {set: {Host: a.b/}}", "2:27: routes[0].headers.set.Host: must be a host, perhaps with a port"),
    ("headers: {set: {host: ''}}", "2:27: routes[0].headers.set.host: the host is missing"),
    ("headers: {set: {Host: a b}}", "2:27: routes[0].headers.set.Host: \"a b\" is not a host name"),
    ("headers: {set: {Host: '{route}'}}", "2:27: routes[0].headers.set.Host: \"{route}\" is not a host name"),
    ("headers: {X-A: b}", "2:15: routes[0].headers.X-A: unknown key; known keys are add, remove, set"),
    ("responseHeaders: 1", "2:22: routes[0].responseHeaders: expected a mapping (key: value), found the number 1"),
    (
      "responseHeaders: {set: a}",
      "2:28: routes[0].responseHeaders.set: expected a mapping (key: value), found the string \"a\""
    ),
    ("responseHeaders: {set: {a: ' b'}}", "2:32: routes[0].responseHeaders.set.a: \(value)"),
    ("responseHeaders: {set: {a: b, A: c}}", "2:38: routes[0].responseHeaders.set.A: the same field is set twice"),
    (
      "responseHeaders: {set: {Content-Length: '1'}}",
      "2:45: routes[0].responseHeaders.set.Content-Length: the gateway sets or drops Content-Length itself; leave it out"
    ),
    (
      "responseHeaders: {set: {date: b}}",
      "2:35: routes[0].responseHeaders.set.date: date is not the route's to change; leave it out"
    ),
    (
      "responseHeaders: {add: {Via: b}}",
      "2:34: routes[0].responseHeaders.add.Via: Via is not the route's to change; leave it out"
    ),
    (
      "responseHeaders: {add: {Transfer-Encoding: b}}",
      "2:48: routes[0].responseHeaders.add.Transfer-Encoding: "
        + "the gateway sets or drops Transfer-Encoding itself; leave it out"
    ),
    (
      "responseHeaders: {remove: [Date]}",
      "2:32: routes[0].responseHeaders.remove[0]: Date is not the route's to change; leave it out"
    ),
    (
      "responseHeaders: {remove: Server}",
      "2:31: routes[0].responseHeaders.remove: expected a list (- item), found the string \"Server\""
    ),
    (
      "responseHeaders: {set: {a: b}, remove: [A]}",
      "2:45: routes[0].responseHeaders.remove[0]: the field is also under set, which replaces it anyway"
    ),
    ("match: {responseHeaders: {}}", "2:13: routes[0].match.responseHeaders: unknown key; it belongs into the route"),
  ])
  func headers(line: String, expected: String) { #expect(problems(line) == [expected]) }

  @Test func keysOfRoutesDoNotHoldForAll() {
    let text = "responseHeaders: {}\nroutes: [{name: a, upstream: \"http://h\"}]"
    let error = #expect(throws: ConfigurationError.self) { try Configuration(parsing: Array(text.utf8), file: "f") }
    #expect(
      error?.lines == ["f:1:1: responseHeaders: unknown key; it belongs into the routes it is meant for"])
  }
}
