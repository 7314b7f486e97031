import Testing
import WeirExporter

@testable import WeirGateway

@Suite struct WebConfigurationTests {
  private static let hash = "$2b$04$nez2y8oHQZ0ziFYCvRkt5eLCVratZm2iDteOQt160/xLozZPhFIQW"

  private static let nobody = "is empty, so nobody could log in; leave the key out to let everybody in"

  private func read(_ text: String) throws(ConfigurationError) -> WebConfiguration {
    try WebConfiguration(parsing: Array(text.utf8), file: "web.yml")
  }

  @Test func readsEverything() throws {
    let configuration = try read(
      """
      # As Prometheus' exporters have it.
      basic_auth_users:
        alice: \(Self.hash)
        "5": "\(Self.hash)"
      bearer_tokens: [abc, d-e]
      http_server_config:
        http2: false
        headers:
          Strict-Transport-Security: max-age=31536000
          X-Frame-Options: deny
      """)
    #expect(configuration.users == ["alice": Self.hash, "5": Self.hash])
    #expect(configuration.bearerTokens == ["abc", "d-e"])
    #expect(configuration.headers == ["Strict-Transport-Security": "max-age=31536000", "X-Frame-Options": "deny"])
    #expect(
      configuration.access
        == AccessControl(users: ["alice": Self.hash, "5": Self.hash], bearerTokens: ["abc", "d-e"]))
  }

  @Test(arguments: [
    "", "# nothing yet\n", "---\n", "{}", "null", "http_server_config: {headers: {X-A: b}}",
  ])
  func withoutUsersEverybodyMay(text: String) throws {
    #expect(try read(text).access == nil)
  }

  @Test(arguments: [
    (
      "basic_auth_users: {al:\(hash)}",
      "1:19: basic_auth_users: names a user with a colon, or with a hash in the name's place; write NAME: HASH, with a "
        + "blank behind the colon"
    ),
    (
      "basic_auth_users: {alice: secret}",
      "1:27: basic_auth_users.alice: a password is given as its bcrypt hash, 60 characters that begin with $2y$, $2b$ or "
        + "$2a$: htpasswd -nBC 10 NAME"
    ),
    (
      "basic_auth_users: {alice: 123456}",
      "1:27: basic_auth_users.alice: expected a string, found a number; write it in quotes"
    ),
    (
      "basic_auth_users: {alice: \(hash.replacing("$04", with: "$31"))}",
      "1:27: basic_auth_users.alice: a bcrypt cost of 31 won't do; give 4 to 15"
    ),
    (
      "bearer_tokens: ['s3cret token']",
      "1:17: bearer_tokens[0]: a token must be letters, digits and -._~+/, with = only at its end (RFC 6750 section 2.1)"
    ),
    ("bearer_tokens: s3cret", "1:16: bearer_tokens: expected a list (- item), found a string"),
    ("bearer_tokens: 123456", "1:16: bearer_tokens: expected a list (- item), found a number"),
    ("bearer_tokens: {s3cret: x}", "1:16: bearer_tokens: expected a list (- item), found a mapping"),
    (
      "basic_auth_users: \"alice:\(hash)\"",
      "1:19: basic_auth_users: expected a mapping (key: value), found a string"
    ),
    ("bearer_tokens s3cret", "1:1: expected a mapping (key: value), found a string"),
    ("basic_auth_users:", "1:18: basic_auth_users: \(nobody)"),
    ("basic_auth_users: {}", "1:19: basic_auth_users: \(nobody)"),
    ("bearer_tokens:", "1:15: bearer_tokens: \(nobody)"),
    ("bearer_tokens: []", "1:16: bearer_tokens: \(nobody)"),
    ("bearer_tokens: ~\nbasic_auth_users: {alice: \(hash)}", "1:16: bearer_tokens: \(nobody)"),
    ("http_server_config:", "1:20: http_server_config: expected a mapping (key: value), found nothing"),
    (
      "http_server_config: {http2: }",
      "1:29: http_server_config.http2: expected true or false, found nothing"
    ),
    ("basic_auth_user: {}", "1:1: basic_auth_user: unknown key; did you mean \"basic_auth_users\"?"),
    (
      "tls_server_config: {cert_file: a.pem}",
      "1:20: tls_server_config.key_file: is missing; TLS needs a certificate and its key"
    ),
    (
      "rate_limit: {interval: 1s}",
      "1:13: rate_limit: is not supported; scrapes that come at once share a page, and nginx limits rates in front of it"
    ),
    (
      "http_server_config: {headers: {Content-Length: '5'}}",
      "1:48: http_server_config.headers.Content-Length: Content-Length is set by the exporter"
    ),
    (
      "http_server_config: {headers: {'a b': c}}",
      "1:39: http_server_config.headers[\"a b\"]: \"a b\" is not a field name"
    ),
    (
      "http_server_config: {headers: {X-A: b, x-a: c}}",
      "1:45: http_server_config.headers.x-a: the same field is set twice"
    ),
  ])
  func saysWhatIsWrong(text: String, expected: String) throws {
    let error = try #require(throws: ConfigurationError.self) { _ = try read(text) }
    #expect(error.description == "web.yml:" + expected)
    #expect(!error.description.contains("s3cret") && !error.description.contains("123456"))
    #expect(!error.description.contains("nez2y8o"))
  }

  @Test func hashesOfDifferentCostsAreNoted() throws {
    let slower = "$2y$06$CCCCCCCCCCCCCCCCCCCCC.AznMKDrF3UVhFdHxWMKaEfFQjY2htq."
    #expect(try read("basic_auth_users: {a: \(Self.hash), b: \(Self.hash)}").notes == [])
    #expect(try read("basic_auth_users: {a: \(Self.hash), b: \(slower)}").notes.count == 1)
  }

  @Test func nothingPrintsSecrets() throws {
    let web = try read("basic_auth_users: {a: \(Self.hash)}\nbearer_tokens: [t0ken]")
    var dumped = ""
    dump(web, to: &dumped)
    for text in ["\(web)", String(reflecting: web), dumped] {
      #expect(!text.contains("t0ken") && !text.contains("$2b$"), "\(text)")
    }
  }

  @Test func aFileThatIsNotThere() throws {
    let error = try #require(throws: ConfigurationError.self) { _ = try WebConfiguration(file: "/nowhere/web.yml") }
    #expect(error.description == "/nowhere/web.yml: can't be read: No such file or directory")
  }
}
