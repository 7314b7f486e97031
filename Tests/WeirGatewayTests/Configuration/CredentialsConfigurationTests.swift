import Testing
import Weir
import WeirTestSupport

@testable import WeirGateway

/// The key `credentials`: what is read, and the problems of an entry.
@Suite struct CredentialsConfigurationTests {
  /// The problems of a file with one entry, whose name is given.
  private func problems(_ line: String) -> [String] {
    Configuration.problems(
      of: "credentials: [{name: c, \(line)}]\nroutes: [{name: r, upstream: 'https://h', credential: c}]\n")
  }

  @Test func everythingIsRead() throws {
    let file = try TemporaryFile("s3cret\n")
    let text = """
      credentials:
        - name: payments
          oauth2:
            tokenURL: https://id.example.com/oauth2/token?tenant=a
            clientID: shop
            clientSecret: {file: \(file.path)}
            authentication: post
            scopes: [payments.read, payments.write]
            audience: pay
            resource: https://pay.example.com
            parameters: {tenant: shop, key: {file: \(file.path)}}
            tls: {serverName: id.internal}
            refreshBefore: 20s
            lifetime: 1m
            timeout: 2s
            wait: 1s
        - {name: exchange, oauth2: {tokenURL: "http://127.0.0.1:1/t", grant: tokenExchange, subjectToken: a,
            subjectTokenType: "urn:x", authentication: assertion, clientAssertion: b}}
        - {name: signed, oauth2: {tokenURL: "http://localhost/t", grant: jwtBearer, assertion: a, clientID: b,
            clientSecret: c}}
        - {name: maps, field: {name: X-API-Key, value: {file: \(file.path), prefix: "k ", suffix: " v"}}}
        - {name: legacy, basic: {user: shop, password: p}}
        - {name: cluster, bearer: {file: \(file.path)}}
      upstreams:
        - {name: one, scheme: https, endpoints: ["h:1"], credential: maps, check: {path: /, headers: {X-K: {file: \(file.path)}}}}
        - {name: two, endpoints: ["unix:/run/a"], credential: exchange}
      routes:
        - name: r
          upstream: one
          credential: payments
          headers: {set: {X-Key: {file: \(file.path), prefix: "Bearer "}}, add: {X-More: {file: \(file.path)}}}
        - {name: s, match: {path: /s}, upstream: two, fallback: {upstream: one}}
        - {name: t, match: {path: /t}, upstream: "http://127.1:1", credential: legacy}
        - {name: u, match: {path: /u}, upstream: "http://[::1]", credential: cluster}
        - {name: v, match: {path: /v}, upstream: "https://h", credential: signed}
      """
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    #expect(configuration.warnings.isEmpty, "\(configuration.warnings)")
    #expect(
      configuration.credentials.map(\.name) == ["payments", "exchange", "signed", "maps", "legacy", "cluster"])
    let files = Dictionary(uniqueKeysWithValues: configuration.secretFiles.map { ($0.key, $0.file) })
    #expect(
      Set(files.keys) == [
        "credentials[0].oauth2.clientSecret", "credentials[0].oauth2.parameters.key", "credentials[3].field.value",
        "credentials[5].bearer", "upstreams[0].check.headers.X-K", "routes[0].headers.set.X-Key",
        "routes[0].headers.add.X-More",
      ])
    #expect(files.values.allSatisfy { $0.path == file.path && $0.value == "s3cret" })

    let secret = Secret(try SecretFile(file.path))
    var payments = OAuth2Settings(
      tokenURL: try #require(URL(string: "https://id.example.com/oauth2/token?tenant=a")), clientID: "shop",
      authentication: .post(secret), scopes: ["payments.read", "payments.write"], audience: "pay",
      resource: "https://pay.example.com")
    payments.parameters = ["tenant": "shop", "key": secret]
    (payments.refreshBefore, payments.lifetime, payments.timeout) = (20, 60, 2)
    var tls = UpstreamTLS()
    tls.serverName = "id.internal"
    let kinds = configuration.credentials.map(\.kind)
    #expect(kinds[0] == .oauth2(payments, tls: tls, wait: 1))
    let exchange = OAuth2Settings(
      tokenURL: try #require(URL(string: "http://127.0.0.1:1/t")), authentication: .assertion("b"),
      grant: .tokenExchange(subjectToken: "a", subjectTokenType: "urn:x"))
    #expect(kinds[1] == .oauth2(exchange, tls: nil, wait: 5))
    let signed = OAuth2Settings(
      tokenURL: try #require(URL(string: "http://localhost/t")), clientID: "b", authentication: .basic("c"),
      grant: .jwtBearer(assertion: "a"))
    #expect(kinds[2] == .oauth2(signed, tls: nil, wait: 5))
    #expect(kinds[3] == .field(name: "X-API-Key", Secret(try SecretFile(file.path), prefix: "k ", suffix: " v")))
    #expect(kinds[4] == .basic(user: "shop", password: "p"))
    #expect(kinds[5] == .bearer(secret))

    #expect(configuration.routes.map(\.credential) == ["payments", nil, "legacy", "cluster", "signed"])
    #expect(configuration.upstreams.map(\.credential) == ["maps", "exchange"])
    let bearer = Secret(try SecretFile(file.path), prefix: "Bearer ")
    #expect(configuration.routes[0].headers.set == [HeaderRule(name: "X-Key", value: "", secret: bearer)])
    #expect(configuration.routes[0].headers.set[0].secret?.value == "Bearer s3cret")
    #expect(configuration.routes[0].headers.add == [HeaderRule(name: "X-More", value: "", secret: secret)])
    #expect(configuration.upstreams[0].check?.headers == [HeaderRule(name: "X-K", value: "", secret: secret)])
    // Files count for nothing when configurations are compared: a reload reads them into other objects.
    #expect(try Configuration(parsing: Array(text.utf8), file: "f") == configuration)
  }

  @Test func theDefaultsAreThoseOfTheLibrary() throws {
    let text =
      "credentials: [{name: c, oauth2: {tokenURL: 'https://h/t', clientID: a}}]\n"
      + "routes: [{name: r, upstream: 'https://h', credential: c}]\n"
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    let settings = OAuth2Settings(tokenURL: try #require(URL(string: "https://h/t")), clientID: "a")
    #expect(configuration.credentials == [CredentialSettings(name: "c", kind: .oauth2(settings, tls: nil, wait: 5))])
  }

  @Test(
    arguments: [
      (
        "bearer: a, basic: {user: a, password: b}",
        ["1:15: credentials[0]: needs exactly one of oauth2, field, basic and bearer"]
      ),
      (
        "wait: 5s",
        [
          "1:15: credentials[0]: needs exactly one of oauth2, field, basic and bearer",
          "1:25: credentials[0].wait: unknown key; it belongs into oauth2",
        ]
      ),
      (
        "bearer: a, password: b",
        ["1:36: credentials[0].password: unknown key; it belongs into basic"]
      ),
      (
        "oauth2: a",
        ["1:33: credentials[0].oauth2: expected a mapping (key: value), found a string"]
      ),
      (
        "oauth2: {}",
        [
          "1:33: credentials[0].oauth2.tokenURL: is missing; where tokens are asked for, such as https://id.example.com/oauth2/token"
        ]
      ),
      (
        "oauth2: {tokenURL: 'http://h/t', clientID: a}",
        [
          "1:44: credentials[0].oauth2.tokenURL: http is for loopback addresses alone, as secrets would pass in clear text; write https"
        ]
      ),
      (
        "oauth2: {tokenURL: 'ftp://h/t', clientID: a}",
        ["1:44: credentials[0].oauth2.tokenURL: the scheme must be http or https"]
      ),
      (
        "oauth2: {tokenURL: 'h/t', clientID: a}",
        ["1:44: credentials[0].oauth2.tokenURL: begin with http:// or https://"]
      ),
      (
        "oauth2: {tokenURL: 'https://u:p@h/t', clientID: a}",
        ["1:44: credentials[0].oauth2.tokenURL: must have no user name or password"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t#f', clientID: a}",
        ["1:44: credentials[0].oauth2.tokenURL: must have no fragment (RFC 6749 section 3.2)"]
      ),
      (
        "oauth2: {tokenURL: 'https://a b/t', clientID: a}",
        ["1:44: credentials[0].oauth2.tokenURL: must be a URL, such as https://id.example.com/oauth2/token"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/é', clientID: a}",
        ["1:44: credentials[0].oauth2.tokenURL: must be a URL, such as https://id.example.com/oauth2/token"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', grant: a, clientID: b}",
        ["1:66: credentials[0].oauth2.grant: give one of clientCredentials, jwtBearer, tokenExchange"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', grant: jwtBearer}",
        ["1:33: credentials[0].oauth2.assertion: is missing; grant: jwtBearer sends it; a text, or { file: /path }"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, assertion: xy}",
        ["1:83: credentials[0].oauth2.assertion: is for grant: jwtBearer; write that, or leave it out"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', grant: tokenExchange}",
        [
          "1:33: credentials[0].oauth2.subjectToken: is missing; grant: tokenExchange sends it; a text, or { file: /path }"
        ]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', grant: jwtBearer, assertion: a, subjectToken: xy}",
        ["1:105: credentials[0].oauth2.subjectToken: is for grant: tokenExchange; write that, or leave it out"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', grant: tokenExchange, subjectToken: a, subjectTokenType: xy}",
        ["1:116: credentials[0].oauth2.subjectTokenType: must be a URI such as urn:ietf:params:oauth:token-type:jwt"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientSecret: a}",
        ["1:33: credentials[0].oauth2.clientID: is missing; authentication: basic sends id and secret"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, authentication: post}",
        ["1:33: credentials[0].oauth2.clientSecret: is missing; authentication: post sends id and secret"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, clientSecret: xy, authentication: none}",
        [
          "1:86: credentials[0].oauth2.clientSecret: is of no use with authentication: none; write basic or post, or leave the secret out"
        ]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, authentication: assertion}",
        [
          "1:33: credentials[0].oauth2.clientAssertion: is missing; authentication: assertion sends it; a text, or { file: /path }"
        ]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, clientAssertion: xy}",
        ["1:89: credentials[0].oauth2.clientAssertion: is for authentication: assertion; write that, or leave it out"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: ''}",
        ["1:69: credentials[0].oauth2.clientID: must be text without control characters and blanks at its ends"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, scopes: []}",
        ["1:80: credentials[0].oauth2.scopes: holds no scope; leave the key out for none"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, scopes: ['x y']}",
        [
          "1:81: credentials[0].oauth2.scopes[0]: must be one scope, without blanks, quotes and backslashes (RFC 6749 section 3.3)"
        ]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, audience: ' x'}",
        ["1:82: credentials[0].oauth2.audience: must be text without control characters and blanks at its ends"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, resource: 'https://r/#x'}",
        ["1:82: credentials[0].oauth2.resource: must be a URI without a fragment, such as https://api.example.com"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, parameters: {}}",
        ["1:84: credentials[0].oauth2.parameters: holds 0 parameters; give 1 to 16"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, parameters: {x: 5}}",
        ["1:88: credentials[0].oauth2.parameters.x: expected a string, found a number; write it in quotes"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, refreshBefore: 2h}",
        ["1:87: credentials[0].oauth2.refreshBefore: must be 100ms to 1h"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, lifetime: 0s}",
        ["1:82: credentials[0].oauth2.lifetime: must be 1s to 365d"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, timeout: 61s}",
        ["1:81: credentials[0].oauth2.timeout: must be 100ms to 60s"]
      ),
      (
        "oauth2: {tokenURL: 'https://h/t', clientID: b, wait: 0s}",
        ["1:78: credentials[0].oauth2.wait: must be 10ms to 60s"]
      ),
      (
        "oauth2: {tokenURL: 'http://[::1]:1/t', clientID: b, tls: {}}",
        ["1:82: credentials[0].oauth2.tls: needs an https:// tokenURL"]
      ),
      (
        "field: {name: 'a b', value: x}",
        ["1:39: credentials[0].field.name: must be a field name, such as X-API-Key"]
      ),
      (
        "field: {name: X-A}",
        ["1:32: credentials[0].field.value: is missing; a text, or { file: /path }"]
      ),
      (
        "basic: {user: 'a:b', password: x}",
        ["1:39: credentials[0].basic.user: must hold no colon, which ends a user's name (RFC 7617 section 2)"]
      ),
      (
        "basic: {user: \"a\\nb\", password: x}",
        ["1:39: credentials[0].basic.user: must hold no control character"]
      ),
      (
        "basic: {user: a}",
        ["1:32: credentials[0].basic.password: is missing; a text, or { file: /path }"]
      ),
    ])
  func saysWhatIsWrongWithAnEntry(line: String, expected: [String]) { #expect(problems(line) == expected) }

  @Test(arguments: [
    "Host", "content-length", "Transfer-Encoding", "Connection", "TE", "Trailer", "Upgrade", "Expect", "Via",
    "traceparent", "Keep-Alive",
  ])
  func fieldsWithAMeaningAreRefused(name: String) {
    let found = problems("field: {name: \(name), value: x}")
    #expect(found.count == 1 && found[0].hasPrefix("1:39: credentials[0].field.name: "), "\(found)")
  }

  @Test(arguments: [
    "grant_type", "scope", "audience", "resource", "assertion", "subject_token", "subject_token_type", "client_id",
    "client_secret", "client_assertion", "client_assertion_type",
  ])
  func fieldsThatWeirSendsAreNoParameters(name: String) {
    #expect(
      problems("oauth2: {tokenURL: 'https://h', clientID: a, parameters: {\(name): x}}") == [
        "1:\(85 + name.utf8.count): credentials[0].oauth2.parameters.\(name): weir sends this field itself, as other keys "
          + "of oauth2 say; leave it out"
      ])
  }

  @Test func thereAreAtMostAHundredWithNamesOfTheirOwn() {
    let many = (0...100).map { "{name: c\($0), bearer: x}" }.joined(separator: ", ")
    let routes = "routes: [{name: r, upstream: 'https://h'}]\n"
    #expect(
      Configuration.problems(of: "credentials: [\(many)]\n\(routes)") == [
        "1:14: credentials: holds 101 credentials; give at most 100"
      ])
    let twins = "credentials:\n  - {name: c, bearer: x}\n  - {name: c, bearer: y}\n"
    #expect(
      Configuration.problems(of: twins + routes) == [
        "3:12: credentials[1].name: another credential is named \"c\" (line 2)"
      ])
    #expect(
      Configuration.problems(of: "credentials: [{bearer: x}, {name: a b, bearer: x}]\n\(routes)") == [
        "1:15: credentials[0].name: is missing; routes and upstreams name the credential by it, and it labels its metrics",
        "1:35: credentials[1].name: must be 1 to 64 letters, digits, hyphens, underscores and dots",
      ])
  }
}
