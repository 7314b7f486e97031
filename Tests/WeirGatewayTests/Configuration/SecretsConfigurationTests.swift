import Glibc
import Testing
import WeirTestSupport

@testable import WeirGateway

/// Values that are secrets: texts and files, in `credentials`, `headers` and `check.headers`.
@Suite struct SecretsConfigurationTests {
  private static let routes = "routes: [{name: r, upstream: 'https://h', credential: c}]\n"

  @Test(
    arguments: [
      (
        "bearer: ''",
        ["1:33: credentials[0].bearer: is empty; give the secret, or { file: /path }"]
      ),
      (
        "bearer: 5",
        ["1:33: credentials[0].bearer: expected a string, found a number; write it in quotes"]
      ),
      (
        "bearer: [a]",
        ["1:33: credentials[0].bearer: expected a string, found a list"]
      ),
      (
        "bearer: ' a'",
        ["1:33: credentials[0].bearer: a secret must not hold control characters, nor begin or end with a space"]
      ),
      (
        "bearer: \"a\\nb\"",
        ["1:33: credentials[0].bearer: a secret must not hold control characters, nor begin or end with a space"]
      ),
      (
        "bearer: {}",
        ["1:33: credentials[0].bearer.file: is missing; the absolute path of the file that holds the secret"]
      ),
      (
        "bearer: {fil: /a}",
        [
          "1:33: credentials[0].bearer: has other keys than file, prefix and suffix; write the secret in quotes, or { file: /path }"
        ]
      ),
      (
        "bearer: {file: a}",
        ["1:40: credentials[0].bearer.file: give an absolute path"]
      ),
      (
        "bearer: {file: /nonexistent/x}",
        ["1:40: credentials[0].bearer.file: the file can't be read: No such file or directory"]
      ),
      (
        "bearer: {file: /proc}",
        ["1:40: credentials[0].bearer.file: the file can't be read: Is a directory"]
      ),
      (
        "bearer: {file: /dev/null}",
        ["1:40: credentials[0].bearer.file: the file is a device; give a regular file"]
      ),
      (
        "bearer: {file: /proc/sys/kernel/ostype, prefix: ' a'}",
        [
          "1:73: credentials[0].bearer.prefix: must not hold control characters, nor begin or end the value with a space"
        ]
      ),
      (
        "bearer: {file: /proc/sys/kernel/ostype, suffix: 'a '}",
        [
          "1:73: credentials[0].bearer.suffix: must not hold control characters, nor begin or end the value with a space"
        ]
      ),
      (
        "basic: {user:a, password: b}",
        [
          "1:32: credentials[0].basic.user: is missing; the user's name",
          "1:33: credentials[0].basic: holds a key without a value; write NAME: VALUE, with a blank behind the colon",
        ]
      ),
    ])
  func saysWhatIsWrongWithASecret(line: String, expected: [String]) {
    #expect(Configuration.problems(of: "credentials: [{name: c, \(line)}]\n\(Self.routes)") == expected)
  }

  @Test func filesHoldFieldValues() throws {
    let file = try TemporaryFile("")
    func problem(_ content: String) throws -> String {
      try file.write(content)
      let found = Configuration.problems(of: "credentials: [{name: c, bearer: {file: '\(file.path)'}}]\n\(Self.routes)")
      return found.map { String($0.trimmingPrefix("1:40: credentials[0].bearer.file: the file ")) }.joined(
        separator: ";")
    }
    let longest = String(repeating: "a", count: 64 << 10)
    #expect(try problem("a b\n") == "")
    #expect(try problem(longest + "\r\n") == "")
    #expect(try problem(longest + "a") == "is larger than 64 KiB")
    #expect(try problem("\n") == "is empty")
    #expect(try problem("a\n\n") == "holds a control character, such as a second line end")
    #expect(try problem(" a") == "begins or ends with a blank")
    let text = "credentials: [{name: c, bearer: \(longest)a}]\n\(Self.routes)"
    #expect(Configuration.problems(of: text) == ["1:33: credentials[0].bearer: must be at most 64 KiB"])
  }

  private static let ostype = "{file: /proc/sys/kernel/ostype}"

  @Test(arguments: [
    (
      "headers: {set: {Host: \(ostype)}}",
      "2:27: routes[0].headers.set.Host: Host is no secret, so its value can't come from a file; write it as text"
    ),
    (
      "headers: {add: {X-A: {file: /nonexistent}}}",
      "2:33: routes[0].headers.add.X-A.file: the file can't be read: No such file or directory"
    ),
    (
      "headers: {set: {X-A: {}}}",
      "2:26: routes[0].headers.set.X-A.file: is missing; the absolute path of the file that holds the secret"
    ),
    (
      "headers: {set: {X-A: 5}}",
      "2:26: routes[0].headers.set.X-A: expected a string, found a number; write it in quotes"
    ),
    (
      "headers: {set: {X-A:5}}",
      "2:21: routes[0].headers.set: holds a key without a value; write NAME: VALUE, with a blank behind the colon"
    ),
    ("headers: {set: a}", "2:20: routes[0].headers.set: expected a mapping (key: value), found a string"),
    (
      "responseHeaders: {set: {X-A: \(ostype)}}",
      "2:34: routes[0].responseHeaders.set.X-A: clients see the fields of responses, so its value can't come from a file; "
        + "write it as text"
    ),
  ])
  func fieldsOfRoutes(line: String, expected: String) {
    #expect(Configuration.problems(of: "routes:\n  - \(line)\n    name: a\n    upstream: http://h\n") == [expected])
  }

  /// A reload is for other keys: a secret's file is followed. One that can't be used may be all that is wrong.
  @Test func onlyFilesWithProblemsAreLookedAt() throws {
    let file = try TemporaryFile("s3cret")
    let text = "credentials: [{name: c, bearer: {file: '\(file.path)'}}]\n\(Self.routes)"
    let reads = FilesRead()
    _ = try Configuration(parsing: Array(text.utf8), file: "f", noting: reads)
    #expect(reads.paths.isEmpty)
    try file.write("")
    #expect(throws: ConfigurationError.self) { try Configuration(parsing: Array(text.utf8), file: "f", noting: reads) }
    #expect(reads.paths == [file.path])
  }

  @Test func filesThatAllMayReadAreNoted() throws {
    let file = try TemporaryFile("s3cret")
    let text = "credentials: [{name: c, bearer: {file: '\(file.path)'}}]\n\(Self.routes)"
    func notes(_ mode: mode_t) throws -> [String] {
      #expect(chmod(file.path, mode) == 0)
      let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
      #expect(configuration.warnings.isEmpty)
      return configuration.notes
    }
    #expect(try notes(0o640) == [])
    let notes = try notes(0o644)
    #expect(
      notes.count == 1 && notes[0].hasPrefix("credentials[0].bearer: every user of this machine may read "), "\(notes)")
  }

  // MARK: No secret in any text

  /// Secrets whose looks YAML reads in many ways. All hold `5ecre7`.
  private static let secrets: [String] = [
    "5ecre7", "'5ecre7'", "\"5ecre7\"", "\" 5ecre7\"", "\"5ecre7\\n\"", "!5ecre7", "! 5ecre7", "&5ecre7", "*5ecre7",
    "@5ecre7", "%5ecre7", "`5ecre7`", "#5ecre7", "-5ecre7", "? 5ecre7", "|5ecre7", ">5ecre7", "x:5ecre7", "5ecre7:x",
    "5ecre7 #", "[5ecre7]", "[[5ecre7]]", "{5ecre7}", "{5ecre7, 5ecre7}", "{5ecre7:x}", "{x: 5ecre7}", "{x:5ecre7}",
    "{{ 5ecre7 }}", "{file: 5ecre7}", "{file: /5ecre7}", "{file: [5ecre7]}", "{file: /dev/null, prefix: 5ecre7}",
    "{file: /dev/null, prefix: \" 5ecre7\"}", "{file: /dev/null, suffix: \"5ecre7 \"}", "{value: 5ecre7}", "0x5ecre7",
    "<<: 5ecre7", "5ecre7, 5ecre7", "5ecre7]", "5ecre7}", "\"5ecre7",
  ]

  /// A file with one of them in each place, and in some wrong ones. `%` is the secret.
  @Test(arguments: [
    "bearer: %", "bearer: {file: %}", "basic: {user: a, password: %}", "basic: {user: %, password: a}", "basic: %",
    "basic: {user: \"a:%\", password: %}", "basic: {user:%, password:%}", "basic: [a, %]", "basic: {a, %}",
    "field: {name: X-A, value: %}", "field: {name: %, value: a}", "field: {X-A: [%]}", "field: %", "oauth2: %",
    "oauth2: {tokenURL: %}", "oauth2: {tokenURL: 'https://a:%@h/'}", "oauth2: {tokenURL: 'https://h/%?%#%'}",
    "oauth2: {tokenURL: 'https://h/%/../?%'}",
    "oauth2: {tokenURL: 'https://h', clientID: a, clientSecret: %}", "oauth2: {tokenURL: 'https://h', clientSecret: %}",
    "oauth2: {tokenURL: 'https://h', clientID: %, clientSecret: a}", "oauth2: {tokenURL: 'https://h', clientID: [%]}",
    "oauth2: {tokenURL: 'https://h', grant: %}", "oauth2: {tokenURL: 'https://h', authentication: %}",
    "oauth2: {tokenURL: 'https://h', grant: jwtBearer, assertion: %}", "oauth2: {tokenURL: 'https://h', assertion: %}",
    "oauth2: {tokenURL: 'https://h', grant: tokenExchange, subjectToken: %, subjectTokenType: %}",
    "oauth2: {tokenURL: 'https://h', authentication: assertion, clientAssertion: %}",
    "oauth2: {tokenURL: 'https://h', clientID: a, parameters: {x: %}}",
    "oauth2: {tokenURL: 'https://h', clientID: a, parameters: {client_secret: %}}",
    "oauth2: {tokenURL: 'https://h', clientID: a, parameters: %}", "oauth2: {tokenURL: 'https://h', scopes: [%]}",
    "oauth2: {tokenURL: 'https://h', resource: %, audience: %}", "oauth2: {tokenURL: 'https://h', wait: %}",
    "oauth2: {tokenURL: 'https://h', tls: %}", "oauth2: {tokenURL: 'https://h', tls: {ca: [%]}}", "password: %",
    "bearer: a}, {name: %",
  ])
  func problemsShowNone(place: String) {
    for secret in Self.secrets {
      let entry = place.replacing("%", with: secret)
      Self.expectNone(in: "credentials: [{name: c, \(entry)}]\n\(Self.routes)")
      Self.expectNone(in: "credentials:\n  - \(entry)\n    name: c\n\(Self.routes)")
    }
  }

  /// A user and a password, or a name and a value, that have changed places. `%` is the secret.
  @Test(arguments: [
    "basic: {%: shop}", "basic: {%: shop, password: a}", "field: {%: X-A}", "oauth2: {%: shop}", "%: shop",
    "oauth2: {tokenURL: 'https://h', clientID: a, tls: {%: a}}", "oauth2: {tokenURL: 'https://h', scopes: {%: a}}",
    "bearer: {%: a}",
  ])
  func keysShowNone(place: String) {
    for secret in ["5ecre7", "'5ecre7'", "\" 5ecre7\"", "\"5ecre7\\n\"", "x:5ecre7", "-5ecre7", "0x5ecre7", "[5ecre7]"]
    {
      let entry = place.replacing("%", with: secret)
      Self.expectNone(in: "credentials: [{name: c, \(entry)}]\n\(Self.routes)")
      Self.expectNone(in: "credentials:\n  - \(entry)\n    name: c\n\(Self.routes)")
      Self.expectNone(in: "routes: [{name: r, upstream: 'https://h', auth: {\(secret): a}}]\n")
    }
  }

  @Test(arguments: [
    ("basic: {5ecre7: shop}", "1:33: credentials[0].basic: holds an unknown key; known keys are password, user"),
    (
      "basic: {user: shop, pasword: a}",
      "1:45: credentials[0].basic.pasword: unknown key; did you mean \"password\"?"
    ),
  ])
  func aKeyIsNamedIfItIsLikeAKnownOne(line: String, expected: String) {
    #expect(Configuration.problems(of: "credentials: [{name: c, \(line)}]\n\(Self.routes)").contains(expected))
  }

  @Test func problemsOfFieldsShowNone() {
    #expect(Self.secrets.count >= 40)
    for secret in Self.secrets {
      Self.expectNone(
        in: "routes: [{name: r, upstream: 'https://h', headers: {set: {X-A: \(secret)}, add: {X-B: \(secret)}}}]\n")
      Self.expectNone(
        in: "upstreams: [{name: u, endpoints: ['h:1'], check: {path: /, headers: {X-A: \(secret)}}}]\n"
          + "routes: [{name: r, upstream: u}]\n")
    }
  }

  private static func expectNone(in text: String) {
    var output = ""
    do {
      let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
      output = "\(configuration.warnings) \(configuration.notes)"
    } catch {
      output = error.description
    }
    #expect(!output.contains("5ecre7"), "\(text): \(output)")
  }

  @Test func descriptionsShowNone() throws {
    let file = try TemporaryFile("5ecre7")
    let secret = "{file: \(file.path), prefix: 5ecre7}"
    let text = """
      credentials:
        - {name: a, bearer: 5ecre7}
        - {name: b, bearer: \(secret)}
        - {name: c, basic: {user: shop, password: 5ecre7}}
        - {name: d, field: {name: X-A, value: 5ecre7}}
        - {name: e, oauth2: {tokenURL: "https://h", clientID: i, clientSecret: 5ecre7, parameters: {x: 5ecre7}}}
        - {name: f, oauth2: {tokenURL: "https://h", grant: jwtBearer, assertion: 5ecre7}}
        - {name: g, oauth2: {tokenURL: "https://h", grant: tokenExchange, subjectToken: 5ecre7}}
        - {name: h, oauth2: {tokenURL: "https://h", authentication: assertion, clientAssertion: 5ecre7}}
      routes: [{name: r, upstream: "https://h", headers: {set: {X-B: \(secret)}}}]
      """
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    #expect(configuration.credentials.count == 8)
    var dumped = ""
    dump(configuration, to: &dumped)
    #expect(!(dumped + "\(configuration)" + String(reflecting: configuration)).contains("5ecre7"))
  }
}
