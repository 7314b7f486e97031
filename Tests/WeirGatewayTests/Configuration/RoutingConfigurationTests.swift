import Testing

@testable import WeirGateway

/// The keys by which a route says what it takes, and how it answers. One line per problem of one route, whose other
/// keys are right.
@Suite struct RoutingConfigurationTests {
  func problems(_ line: String) -> [String] {
    let hasAction = ["upstream", "redirect", "respond"].contains { line.hasPrefix($0) }
    let action = hasAction ? "" : "    upstream: http://h\n"
    let text = "routes:\n  - \(line)\n    name: a\n\(action)"
    return Configuration.problems(of: text)
  }

  @Test func readsEveryKey() throws {
    let text = """
      routes:
        - name: a
          match:
            host: [API.Example.com., "*.Example.org"]
            pathPattern: /users/*/orders/**
            methods: [GET, HEAD]
            headers: {X-A: b, x-b: {prefix: "c "}, X-C: {present: false}}
            query: {Q: "", "ä": {prefix: é}}
          upstream: http://h
          rewriteHost: inner:81
          headers: {add: {X-A: "{client}"}}
          responseHeaders: {set: {Server: weir}, add: {X-B: b}, remove: [X-C]}
        - {name: b, match: {pathPrefix: /v1/}, upstream: "http://h", replacePrefix: /v2/, rewriteHost: client}
        - {name: c, match: {path: /c/}, redirect: {status: 301, scheme: https, host: C.example, port: 8443, path: /d}}
        - {name: d, match: {pathPrefix: /d}, redirect: {prefix: /e, keepQuery: false}}
        - {name: e, match: {path: /e}, respond: {status: 599, body: b, contentType: a/b}}
        - {name: f, match: {path: /f}, respond: {status: 200}}
      """
    let routes = try Configuration(parsing: Array(text.utf8), file: "f").routes
    var match = RouteMatch()
    match.hosts = ["api.example.com", "*.example.org"]
    match.path = .pattern("/users/*/orders/**")
    match.methods = ["GET", "HEAD"]
    match.headers = [
      Array("x-a".utf8): .equals(Array("b".utf8)), Array("x-b".utf8): .prefix(Array("c ".utf8)),
      Array("x-c".utf8): .present(false),
    ]
    match.query = [Array("Q".utf8): .equals([]), Array("ä".utf8): .prefix(Array("é".utf8))]
    var a = Route(name: "a", match: match, upstream: try Upstream(parsing: "http://h"))
    a.rewriteHost = .text("inner:81")
    a.headers.add = [HeaderRule(name: "X-A", value: "{client}")]
    a.responseHeaders.set = [HeaderRule(name: "Server", value: "weir")]
    a.responseHeaders.add = [HeaderRule(name: "X-B", value: "b")]
    a.responseHeaders.remove = ["X-C"]
    #expect(routes.first == a)
    #expect(routes[1].replacePrefix == "/v2")
    #expect(routes[1].rewriteHost == .client)
    #expect(routes.map(\.match.path).dropFirst(2) == [.exact("/c/"), .prefix("/d"), .exact("/e"), .exact("/f")])
    var redirect = RouteRedirect()
    (redirect.status, redirect.scheme, redirect.host, redirect.port) = (301, .https, "c.example", 8443)
    redirect.path = .replaced("/d")
    #expect(routes[2].action == .redirect(redirect))
    redirect = RouteRedirect()
    (redirect.path, redirect.keepQuery) = (.prefix("/e"), false)
    #expect(routes[3].action == .redirect(redirect))
    #expect(redirect.status == 308)
    var response = RouteResponse(status: 599)
    (response.body, response.contentType) = ("b", "a/b")
    #expect(routes[4].action == .respond(response))
    #expect(routes[5].action == .respond(RouteResponse(status: 200)))
  }

  private static let wrongHost = "2:19: routes[0].match.host: "

  @Test(arguments: [
    ("match: {host: 5}", wrongHost + "expected a string, found the number 5; write it in quotes"),
    ("match: {host: {}}", wrongHost + "expected a string, found a mapping"),
    ("match: {host: '*'}", wrongHost + "leave host out to match every host"),
    ("match: {host: 'a.*'}", wrongHost + "must have its wildcard in front of a name, such as *.example.com"),
    ("match: {host: '*a.b'}", wrongHost + "must have its wildcard in front of a name, such as *.example.com"),
    ("match: {host: '*.*.b'}", wrongHost + "must have its wildcard in front of a name, such as *.example.com"),
    ("match: {host: '*.'}", wrongHost + "\"\" is not a host name"),
    ("match: {host: '*.a:80'}", wrongHost + "must be a host name without port and path, such as api.example.com"),
    ("match: {host: '*.::1'}", wrongHost + "must have its wildcard in front of a name, such as *.example.com"),
    ("match: {host: '*.[::1]'}", wrongHost + "must have its wildcard in front of a name, such as *.example.com"),
    ("match: {host: ':::1'}", wrongHost + "must be a host name without port and path, such as api.example.com"),
    ("match: {host: '[::1]:80'}", wrongHost + "must be a host name without port and path, such as api.example.com"),
    ("match: {host: ['::1', '[0:0::1]']}", "2:27: routes[0].match.host[1]: \"[::1]\" is already in this list"),
    ("match: {host: []}", wrongHost + "holds 0 hosts; give 1 to 32"),
    ("match: {host: [a, A.]}", "2:23: routes[0].match.host[1]: \"a\" is already in this list"),
    (
      "match: {host: [a, 5]}",
      "2:23: routes[0].match.host[1]: expected a string, found the number 5; write it in quotes"
    ),
    (
      "match: {host: [\((0..<33).map { "h\($0)" }.joined(separator: ", "))]}",
      wrongHost + "holds 33 hosts; give 1 to 32"
    ),
    ("host: a", "2:5: routes[0].host: unknown key; it belongs into match"),
  ])
  func hosts(line: String, expected: String) { #expect(problems(line) == [expected]) }

  /// There is no port that brackets would tell the address apart from.
  @Test(arguments: ["::1", "[::1]", "0:0:0::1"])
  func addressesNeedNoBrackets(host: String) throws {
    let text = """
      routes:
        - {name: a, match: {host: '\(host)'}, upstream: 'http://h'}
        - {name: b, redirect: {host: '\(host)'}}
      """
    let routes = try Configuration(parsing: Array(text.utf8), file: "f").routes
    #expect(routes.first?.match.hosts == ["[::1]"])
    var redirect = RouteRedirect()
    redirect.host = "[::1]"
    #expect(routes.last?.action == .redirect(redirect))
  }

  static let long = "/" + String(repeating: "a", count: 2048)

  @Test(arguments: [
    ("match: {path: 5}", "2:19: routes[0].match.path: expected a string, found the number 5; write it in quotes"),
    ("match: {path: a}", "2:19: routes[0].match.path: must begin with /"),
    ("match: {path: ''}", "2:19: routes[0].match.path: must begin with /"),
    ("match: {path: /a//b}", "2:19: routes[0].match.path: must have no empty segment (//)"),
    ("match: {path: /a/../b}", "2:19: routes[0].match.path: is not in normal form; write \"/b\""),
    ("match: {path: \(long)}", "2:19: routes[0].match.path: must be at most 2048 bytes long"),
    ("path: /a", "2:5: routes[0].path: unknown key; it belongs into match"),
    ("match: {pathPrefix: [/a]}", "2:25: routes[0].match.pathPrefix: expected a string, found a list"),
    ("match: {pathPrefix: \(long)}", "2:25: routes[0].match.pathPrefix: must be at most 2048 bytes long"),
    ("pathPrefix: /a", "2:5: routes[0].pathPrefix: unknown key; it belongs into match"),
    (
      "match: {pathPattern: true}",
      "2:26: routes[0].match.pathPattern: expected a string, found the boolean true; write it in quotes"
    ),
    ("match: {pathPattern: '*'}", "2:26: routes[0].match.pathPattern: must begin with /"),
    (
      "match: {pathPattern: /a*/b}",
      "2:26: routes[0].match.pathPattern: must have * and ** as whole segments only, such as /users/*/orders"
    ),
    ("match: {pathPattern: '/**/b'}", "2:26: routes[0].match.pathPattern: must have ** as the last segment only"),
    ("match: {pathPattern: '\(long)'}", "2:26: routes[0].match.pathPattern: must be at most 2048 bytes long"),
    ("pathPattern: /a", "2:5: routes[0].pathPattern: unknown key; it belongs into match"),
    (
      "match: {path: /a, pathPrefix: /b}",
      "2:35: routes[0].match.pathPrefix: give only one of path, pathPrefix and pathPattern"
    ),
    (
      "match: {pathPattern: /a, path: /b}",
      "2:36: routes[0].match.path: give only one of path, pathPrefix and pathPattern"
    ),
  ])
  func paths(line: String, expected: String) { #expect(problems(line) == [expected]) }

  private static let seventeen = (0..<17).map { "h\($0): v" }.joined(separator: ", ")
  private static let condition = "expected a string, { prefix: text } or { present: true }, found "

  @Test(arguments: [
    ("match: {methods: GET}", "2:22: routes[0].match.methods: expected a list (- item), found the string \"GET\""),
    ("match: {methods: []}", "2:22: routes[0].match.methods: holds no method; leave the key out to match every method"),
    ("match: {methods: [get]}", "2:23: routes[0].match.methods[0]: methods are case-sensitive; write GET"),
    ("match: {methods: ['a b']}", "2:23: routes[0].match.methods[0]: \"a b\" is not a method name"),
    ("match: {methods: [GET, GET]}", "2:28: routes[0].match.methods[1]: GET is already in this list"),
    ("match: {methods: [CONNECT]}", "2:23: routes[0].match.methods[0]: CONNECT is taken by routes with connect"),
    ("methods: [GET]", "2:5: routes[0].methods: unknown key; it belongs into match"),
    ("match: {headers: [a]}", "2:22: routes[0].match.headers: expected a mapping (key: value), found a list"),
    ("match: {headers: {}}", "2:22: routes[0].match.headers: holds 0 names; give 1 to 16"),
    ("match: {headers: {\(seventeen)}}", "2:22: routes[0].match.headers: holds 17 names; give 1 to 16"),
    ("match: {headers: {a b: c}}", "2:28: routes[0].match.headers[\"a b\"]: \"a b\" is not a field name"),
    ("match: {headers: {Host: c}}", "2:29: routes[0].match.headers.Host: match.host decides about the host"),
    ("match: {headers: {a: 1}}", "2:26: routes[0].match.headers.a: \(condition)the number 1; write it in quotes"),
    ("match: {headers: {a: [b]}}", "2:26: routes[0].match.headers.a: \(condition)a list"),
    ("match: {headers: {a: }}", "2:26: routes[0].match.headers.a: \(condition)nothing"),
    (
      "match: {headers: {a: ' b'}}",
      "2:26: routes[0].match.headers.a: no field has such a value: it holds control characters or blanks at its ends"
    ),
    ("match: {headers: {a: {}}}", "2:26: routes[0].match.headers.a: needs one of prefix and present"),
    (
      "match: {headers: {a: {prefix: b, present: true}}}",
      "2:26: routes[0].match.headers.a: needs one of prefix and present"
    ),
    (
      "match: {headers: {a: {prefix: ''}}}",
      "2:35: routes[0].match.headers.a.prefix: is empty; write { present: true } for every value"
    ),
    (
      "match: {headers: {a: {prefix: 1}}}",
      "2:35: routes[0].match.headers.a.prefix: expected a string, found the number 1; write it in quotes"
    ),
    (
      "match: {headers: {a: {present: yes}}}",
      "2:36: routes[0].match.headers.a.present: expected true or false, found the string \"yes\""
    ),
    (
      "match: {headers: {a: {exact: b, present: true}}}",
      "2:27: routes[0].match.headers.a.exact: unknown key; known keys are prefix, present"
    ),
    ("match: {headers: {a: b, A: c}}", "2:32: routes[0].match.headers.A: the same field is already in this mapping"),
    ("match: {query: a=b}", "2:20: routes[0].match.query: expected a mapping (key: value), found the string \"a=b\""),
    ("match: {query: {}}", "2:20: routes[0].match.query: holds 0 names; give 1 to 16"),
    ("match: {query: {\(seventeen)}}", "2:20: routes[0].match.query: holds 17 names; give 1 to 16"),
    ("match: {query: {'': b}}", "2:25: routes[0].match.query[\"\"]: an item needs a name"),
    ("match: {query: {a: true}}", "2:24: routes[0].match.query.a: \(condition)the boolean true; write it in quotes"),
    ("query: {a: b}", "2:5: routes[0].query: unknown key; it belongs into match"),
    ("match: {user: a}", "2:13: routes[0].match.user: unknown key; \(knownKeys)"),
  ])
  func conditions(line: String, expected: String) { #expect(problems(line) == [expected]) }

  private static let knownKeys =
    "known keys are clients, headers, host, listener, methods, path, pathPattern, pathPrefix, query"

  @Test(arguments: [
    ("redirect: https", "2:15: routes[0].redirect: expected a mapping (key: value), found the string \"https\""),
    ("redirect: {}", "2:15: routes[0].redirect: leads to where it came from; give scheme, host, port, path or prefix"),
    (
      "redirect: {status: 302}",
      "2:15: routes[0].redirect: leads to where it came from; give scheme, host, port, path or prefix"
    ),
    ("redirect: {status: 300, port: 1}", "2:24: routes[0].redirect.status: must be 301, 302, 303, 307 or 308"),
    ("redirect: {status: 309, port: 1}", "2:24: routes[0].redirect.status: must be 301, 302, 303, 307 or 308"),
    (
      "redirect: {status: a, port: 1}",
      "2:24: routes[0].redirect.status: expected a whole number, found the string \"a\""
    ),
    ("status: 308", "2:5: routes[0].status: unknown key; it belongs into redirect or respond"),
    ("redirect: {scheme: ftp}", "2:24: routes[0].redirect.scheme: must be http or https"),
    (
      "redirect: {scheme: 1}",
      "2:24: routes[0].redirect.scheme: expected a string, found the number 1; write it in quotes"
    ),
    ("scheme: https", "2:5: routes[0].scheme: unknown key; it belongs into redirect"),
    (
      "redirect: {host: 'a:80'}",
      "2:22: routes[0].redirect.host: must be a host name without port and path, such as api.example.com"
    ),
    ("redirect: {host: '*.a'}", "2:22: routes[0].redirect.host: \"*.a\" is not a host name"),
    ("redirect: {host: [a]}", "2:22: routes[0].redirect.host: expected a string, found a list"),
    ("redirect: {port: 0}", "2:22: routes[0].redirect.port: must be 1 to 65535"),
    ("redirect: {port: 65536}", "2:22: routes[0].redirect.port: must be 1 to 65535"),
    ("redirect: {port: a}", "2:22: routes[0].redirect.port: expected a whole number, found the string \"a\""),
    ("port: 80", "2:5: routes[0].port: unknown key; it belongs into redirect"),
    ("redirect: {path: a}", "2:22: routes[0].redirect.path: must begin with /"),
    ("redirect: {path: /a?b}", "2:22: routes[0].redirect.path: must have no query and no fragment"),
    ("redirect: {path: 1}", "2:22: routes[0].redirect.path: expected a string, found the number 1; write it in quotes"),
    ("redirect: {prefix: //a}", "2:24: routes[0].redirect.prefix: must have no empty segment (//)"),
    (
      "redirect: {prefix: true}",
      "2:24: routes[0].redirect.prefix: expected a string, found the boolean true; "
        + "write it in quotes"
    ),
    ("redirect: {path: /a, prefix: /b}", "2:34: routes[0].redirect.prefix: give only one of path and prefix"),
    (
      "redirect: {prefix: /a}\n    match: {path: /a}",
      "2:24: routes[0].redirect.prefix: needs a match by pathPrefix, whose place it takes"
    ),
    ("prefix: /a", "2:5: routes[0].prefix: unknown key; it belongs into redirect"),
    (
      "redirect: {port: 1, keepQuery: 1}",
      "2:36: routes[0].redirect.keepQuery: expected true or false, found the number 1"
    ),
    ("keepQuery: true", "2:5: routes[0].keepQuery: unknown key; it belongs into redirect"),
    (
      "redirect: {port: 1, to: a}",
      "2:25: routes[0].redirect.to: unknown key; known keys are host, keepQuery, path, port, prefix, scheme, status"
    ),
    (
      "redirect: {port: 1}\n    upstream: http://h",
      "3:15: routes[0].upstream: give only one of upstream, redirect, respond and connect"
    ),
  ])
  func redirects(line: String, expected: String) { #expect(problems(line) == [expected]) }

  private static let large = String(repeating: "a", count: 65_537)

  @Test(arguments: [
    ("respond: 503", "2:14: routes[0].respond: expected a mapping (key: value), found the number 503"),
    ("respond: {}", "2:14: routes[0].respond.status: is missing; 200 to 599"),
    ("respond: {status: 199}", "2:23: routes[0].respond.status: must be 200 to 599"),
    ("respond: {status: 600}", "2:23: routes[0].respond.status: must be 200 to 599"),
    ("respond: {status: ok}", "2:23: routes[0].respond.status: expected a whole number, found the string \"ok\""),
    (
      "respond: {status: 200, body: 1}",
      "2:34: routes[0].respond.body: expected a string, found the number 1; write it in quotes"
    ),
    (
      "respond: {status: 200, body: \(large)}",
      "2:34: routes[0].respond.body: must be at most 64 KiB; it is 65537 bytes long"
    ),
    ("respond: {status: 204, body: a}", "2:34: routes[0].respond.body: a response with 204 has no body"),
    ("respond: {status: 304, body: a}", "2:34: routes[0].respond.body: a response with 304 has no body"),
    ("body: a", "2:5: routes[0].body: unknown key; it belongs into respond"),
    (
      "respond: {status: 200, contentType: a/b}",
      "2:41: routes[0].respond.contentType: is of no use without a body"
    ),
    (
      "respond: {status: 200, body: a, contentType: \"a\\r\\nb\"}",
      "2:50: routes[0].respond.contentType: must be a media type, such as application/json"
    ),
    (
      "respond: {status: 200, body: a, contentType: ''}",
      "2:50: routes[0].respond.contentType: must be a media type, such as application/json"
    ),
    (
      "respond: {status: 200, body: a, contentType: []}",
      "2:50: routes[0].respond.contentType: expected a string, found a list"
    ),
    ("contentType: a/b", "2:5: routes[0].contentType: unknown key; it belongs into respond"),
    (
      "respond: {status: 200, location: /a}",
      "2:28: routes[0].respond.location: unknown key; known keys are body, contentType, status"
    ),
    (
      "respond: {status: 200}\n    redirect: {port: 1}",
      "3:15: routes[0].redirect: give only one of upstream, redirect, respond and connect"
    ),
  ])
  func responses(line: String, expected: String) { #expect(problems(line) == [expected]) }
}

extension Configuration {
  /// The problems of a file's text, each as `line:column: path: message`.
  static func problems(of text: String) -> [String] {
    do {
      _ = try Configuration(parsing: Array(text.utf8), file: "f")
      return []
    } catch {
      return error.problems.map { String($0.description(file: "").dropFirst()) }
    }
  }
}
