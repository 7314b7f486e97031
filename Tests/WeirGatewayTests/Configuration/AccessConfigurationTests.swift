import Testing
import WeirExporter
import WeirTestSupport

@testable import WeirGateway

/// The keys `clients` and `auth`, and the conditions `clients` and `listener` of a match.
@Suite struct AccessConfigurationTests {
  private static let hash = "$2b$04$nez2y8oHQZ0ziFYCvRkt5eLCVratZm2iDteOQt160/xLozZPhFIQW"
  private static let slower = "$2y$06$CCCCCCCCCCCCCCCCCCCCC.AznMKDrF3UVhFdHxWMKaEfFQjY2htq."

  private static func parse(_ route: String, _ listeners: String = "") throws -> Configuration {
    let text = "\(listeners)routes:\n  - {name: r, respond: {status: 200}, \(route)}\n"
    return try Configuration(parsing: Array(text.utf8), file: "weir.yml")
  }

  private static func problems(_ route: String, _ listeners: String = "") -> [String] {
    do {
      return try parse(route, listeners).warnings.map { $0.description(file: "f", severity: "warning") }
    } catch {
      return (error as? ConfigurationError)?.problems.map { $0.description(file: "f") } ?? []
    }
  }

  @Test func everythingIsRead() throws {
    let file = try TemporaryFile("basic_auth_users:\n  carol: \(Self.hash)\nbearer_tokens: [t2]\n")
    let text = """
      listeners:
        - {name: a, address: "127.0.0.1:1", clients: {allow: [10.0.0.0/8, unix], deny: [10.1.0.0/16]}}
        - {name: b, address: "127.0.0.1:2"}
      routes:
        - name: r
          match: {listener: [b, a], clients: [unix, 10.0.0.0/8]}
          respond: {status: 200}
          clients: {deny: ["2001:db8::/32"]}
          auth: {basicUsers: {alice: "\(Self.hash)"}, bearerTokens: [t1], file: "\(file.path)", realm: a "b", forward: true}
      """
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    let rules = ClientRules(
      allow: try ClientNetworks.parse(["10.0.0.0/8", "unix"]), deny: try ClientNetworks.parse(["10.1.0.0/16"]))
    #expect(configuration.listeners.map(\.clients) == [rules, nil])
    let route = try #require(configuration.routes.first)
    #expect(route.clients == ClientRules(deny: try ClientNetworks.parse(["2001:db8::/32"])))
    #expect(route.match.listeners == ["a", "b"])
    #expect(route.match.clients == (try ClientNetworks.parse(["10.0.0.0/8", "unix"])))
    let auth = try #require(route.auth)
    #expect("\(auth.rules)" == "AccessRules(users: 2, tokens: 2)")
    #expect(auth.forwards)
    #expect(
      auth.rules.challenges(realm: auth.realm ?? "") == [
        #"Basic realm="a \"b\"", charset="UTF-8""#, #"Bearer realm="a \"b\"""#,
      ])
  }

  @Test func theDefaults() throws {
    let auth = try #require(try Self.parse("auth: {bearerTokens: [t]}").routes.first?.auth)
    #expect(auth.realm == nil && !auth.forwards)
    #expect(auth.rules.challenges(realm: "r") == ["Bearer realm=\"r\""])
  }

  private static let network = "is not a network; write 192.0.2.0/24, 2001:db8::/32 or an address"
  private static let none = "names no user and no token; give basicUsers, bearerTokens or file"
  private static let bcrypt =
    "a password is given as its bcrypt hash, 60 characters that begin with $2y$, $2b$ or $2a$: htpasswd -nBC 10 NAME"

  private static let hashInName =
    "names a user with a colon, or with a hash in the name's place; write NAME: HASH, with a blank behind the colon"

  @Test(
    arguments: [
      ("clients: [unix]", ["2:48: routes[0].clients: expected a mapping (key: value), found a list"]),
      ("clients: {}", ["2:48: routes[0].clients: needs allow or deny: lists of networks, such as [10.0.0.0/8, unix]"]),
      ("clients: {allow: []}", ["2:56: routes[0].clients.allow: holds no network; leave the key out for all clients"]),
      ("clients: {deny: [x]}", ["2:56: routes[0].clients.deny[0]: 'x' \(network)"]),
      (
        "clients: {deny: [10.0.0.1/8]}",
        ["2:56: routes[0].clients.deny[0]: '10.0.0.1/8' has bits set behind its length; the network is 10.0.0.0/8"]
      ),
      (
        "clients: {alow: [unix]}",
        [
          "2:48: routes[0].clients: needs allow or deny: lists of networks, such as [10.0.0.0/8, unix]",
          "2:49: routes[0].clients.alow: unknown key; did you mean \"allow\"?",
        ]
      ),
      ("allow: [unix]", ["2:39: routes[0].allow: unknown key; it belongs into clients"]),
      ("basicUsers: {}", ["2:39: routes[0].basicUsers: unknown key; it belongs into auth"]),
      ("listener: a", ["2:39: routes[0].listener: unknown key; it belongs into match"]),
      ("auth: {}", ["2:45: routes[0].auth: \(none)"]),
      ("auth: s3cret", ["2:45: routes[0].auth: expected a mapping (key: value), found a string"]),
      (
        "auth: {basicUsers: {}}",
        ["2:58: routes[0].auth.basicUsers: is empty, so nobody could log in; give a name and a bcrypt hash"]
      ),
      ("auth: {basicUsers: {a: s3cret}}", ["2:62: routes[0].auth.basicUsers.a: \(bcrypt)"]),
      (
        "auth: {basicUsers: {a: 12345}}",
        ["2:62: routes[0].auth.basicUsers.a: expected a string, found a number; write it in quotes"]
      ),
      (
        "auth: {basicUsers: {\"a:b\": \"\(hash)\"}}",
        ["2:58: routes[0].auth.basicUsers: " + hashInName]
      ),
      (
        "auth: {basicUsers: {\"\(hash)\": a}}",
        [
          "2:58: routes[0].auth.basicUsers: " + hashInName
        ]
      ),
      ("auth: {bearerTokens: []}", ["2:60: routes[0].auth.bearerTokens: is empty, so no token would do; give a token"]),
      ("auth: {bearerTokens: s3cret}", ["2:60: routes[0].auth.bearerTokens: expected a list (- item), found a string"]),
      (
        "auth: {bearerTokens: [\"s3 cret\"]}",
        [
          "2:61: routes[0].auth.bearerTokens[0]: a token must be letters, digits and -._~+/, with = only at its end "
            + "(RFC 6750 section 2.1)"
        ]
      ),
      (
        "auth: {bearerTokens: [12345]}",
        ["2:61: routes[0].auth.bearerTokens[0]: expected a string, found a number; write it in quotes"]
      ),
      (
        "auth: {bearerTokens: [t], realm: \"\"}",
        ["2:72: routes[0].auth.realm: must be 1 to 256 bytes of text without control characters and blanks at its ends"]
      ),
      (
        "auth: {bearerTokens: [t], forward: s3cret}",
        ["2:74: routes[0].auth.forward: expected true or false, found a string"]
      ),
      ("auth: {file: web.yml}", ["2:52: routes[0].auth.file: give an absolute path"]),
      (
        "auth: {tokens: [s3cret], bearerTokens: [t]}",
        ["2:46: routes[0].auth: holds an unknown key; known keys are basicUsers, bearerTokens, file, forward, realm"]
      ),
      ("match: {listener: b}", ["2:57: routes[0].match.listener: no listener is named \"b\"; there are \"gateway\""]),
      (
        "match: {listener: [gateway, gatewey]}",
        ["2:67: routes[0].match.listener[1]: no listener is named \"gatewey\"; did you mean \"gateway\"?"]
      ),
      (
        "match: {listener: [gateway, gateway]}",
        ["2:67: routes[0].match.listener[1]: \"gateway\" is already in this list"]
      ),
      (
        "match: {listener: []}",
        ["2:57: routes[0].match.listener: holds no listener; leave the key out to match every listener"]
      ),
      ("match: {clients: []}", ["2:56: routes[0].match.clients: holds no network; leave the key out for all clients"]),
      ("match: {clients: [x]}", ["2:57: routes[0].match.clients[0]: 'x' \(network)"]),
    ])
  func problems(route: String, expected: [String]) {
    #expect(Self.problems(route) == expected.map { "f:\($0)" })
  }

  @Test func problemsOfAFileHaveItsPlaces() throws {
    let file = try TemporaryFile(
      "basic_auth_users:\n  bob: s3cret\nbearer_tokens: s3cret\ntls_server_config: {cert_file: a}\n")
    #expect(
      Self.problems("auth: {file: \"\(file.path)\"}") == [
        "f:2:52: routes[0].auth.file: \(file.path):2:8: basic_auth_users.bob: \(Self.bcrypt)",
        "f:2:52: routes[0].auth.file: \(file.path):3:16: bearer_tokens: expected a list (- item), found a string",
        "f:2:52: routes[0].auth.file: \(file.path):4:1: tls_server_config: unknown key; a route takes only "
          + "basic_auth_users and bearer_tokens",
      ])
    try file.write("")
    #expect(
      Self.problems("auth: {file: \"\(file.path)\"}") == [
        "f:2:52: routes[0].auth.file: \(file.path):1:1: names no user and no token; give basic_auth_users or "
          + "bearer_tokens"
      ])
    try file.write("basic_auth_users: {a: \"\(Self.hash)\"}")
    #expect(
      Self.problems("auth: {basicUsers: {a: \"\(Self.slower)\"}, file: \"\(file.path)\"}") == [
        "f:2:133: routes[0].auth.file: \(file.path):1:19: basic_auth_users: names user \"a\", who has a password already"
      ])
  }

  private static func clear(_ listeners: String, at place: String = "3:45") -> String {
    "f:\(place): warning: routes[0].auth: lets passwords and tokens come in clear text by listener \(listeners); give it "
      + "tls, or name listeners with TLS in match.listener"
  }

  @Test func clearTextIsWarnedOf() {
    #expect(Self.problems("auth: {bearerTokens: [t]}") == [Self.clear("\"gateway\"", at: "2:45")])
    let two = "listeners: [{name: a, address: \"127.0.0.1:1\"}, {name: b, address: \"127.0.0.1:2\"}]\n"
    #expect(Self.problems("auth: {bearerTokens: [t]}", two) == [Self.clear("\"a\" and 1 more")])
    #expect(
      Self.problems("match: {listener: b}, auth: {bearerTokens: [t]}", two) == [Self.clear("\"b\"", at: "3:67")])
  }

  @Test func hashesOfDifferentCostsAreWarnedOf() {
    let warnings = Self.problems("auth: {basicUsers: {a: \"\(Self.hash)\", b: \"\(Self.slower)\"}}")
    #expect(
      warnings.first
        == "f:2:45: warning: routes[0].auth: has hashes of different costs, which reveal user names by the "
        + "time of an answer; use one cost")
  }

  /// Listeners with problems of their own are no reason to report those who name them.
  @Test func aListenerThatCouldNotBeReadMayBeNamed() {
    let listeners = "listeners: [{name: a, address: x}]\n"
    let problems = Self.problems("match: {listener: a}", listeners)
    #expect(problems.count == 1 && problems[0].contains("listeners[0].address"), "\(problems)")
  }

  @Test(
    arguments: [
      // Conditions make matches different, and come before a match without them.
      ("match: {clients: [unix]}", "match: {}", []), ("match: {listener: gateway}", "match: {}", []),
      ("match: {}", "match: {clients: [unix]}", []),
      ("match: {clients: [unix]}", "match: {clients: [10.0.0.0/8]}", []),
      (
        "match: {clients: [unix, 10.0.0.0/8]}", "match: {clients: [10.0.0.0/8, unix]}",
        ["f:3:46: routes[1].match: takes the same requests as route \"a\" (line 2, column 46)"]
      ),
      (
        "match: {listener: [gateway]}", "match: {listener: gateway}",
        ["f:3:46: routes[1].match: takes the same requests as route \"a\" (line 2, column 46)"]
      ),
      (
        "match: {clients: [10.0.0.0/8]}", "match: {clients: [10.1.0.0/16]}",
        [
          "f:3:46: warning: routes[1].match: is never reached: route \"a\" (line 2, column 46), or others before it, takes "
            + "all of its requests"
        ]
      ),
      ("match: {clients: [10.1.0.0/16]}", "match: {clients: [10.0.0.0/8]}", []),
    ])
  func conditionsTellMatchesApart(first: String, second: String, expected: [String]) {
    let text =
      "routes:\n  - {name: a, respond: {status: 200}, \(first)}\n  - {name: b, respond: {status: 200}, \(second)}\n"
    do {
      let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
      #expect(configuration.warnings.map { $0.description(file: "f", severity: "warning") } == expected)
    } catch {
      #expect(error.problems.map { $0.description(file: "f") } == expected)
    }
  }
}
