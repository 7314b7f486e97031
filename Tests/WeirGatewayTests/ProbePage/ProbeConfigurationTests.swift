import Foundation
import Testing
import Weir
import WeirCurl
import WeirTestSupport

@testable import WeirGateway

@Suite struct ProbeConfigurationTests {
  private func read(_ text: String) throws(ConfigurationError) -> ProbeConfiguration {
    try ProbeConfiguration(parsing: Array(text.utf8), file: "probe.yml")
  }

  @Test(arguments: ["", "modules: {}", "targets: {}", "# nothing\n"])
  func theStandardModuleIsAlwaysThere(text: String) throws {
    let configuration = try read(text)
    #expect(configuration.modules == ["http_2xx": ProbeModule()])
    #expect(configuration.targets == .publicOnly)
  }

  @Test func readsEverything() throws {
    let configuration = try read(
      """
      targets: { allow: [10.0.0.0/8], deny: [10.1.0.1], otherwise: none }
      modules:
        http_2xx:
          prober: http
        all:
          prober: http
          timeout: 5s
          http:
            valid_status_codes: [200, 401]
            valid_http_versions: ["HTTP/1.1", HTTP/2.0]
            method: POST
            headers: { Accept-Encoding: "br, gzip", X-A: b }
            body_size_limit: 1MB512KiB
            compression: gzip
            follow_redirects: false
            fail_if_ssl: true
            fail_if_not_ssl: true
            fail_if_body_matches_regexp: [a]
            fail_if_body_not_matches_regexp: ["b", '\\d']
            fail_if_header_matches: [{ header: X, regexp: c }]
            fail_if_header_not_matches: [{ header: Y, regexp: d, allow_missing: true }]
            tls_config: { server_name: a.example, insecure_skip_verify: true, min_version: TLS10, max_version: TLS12 }
            basic_auth: { username: alice, password: secret }
            enable_http2: false
            preferred_ip_protocol: ip4
            ip_protocol_fallback: false
            skip_resolve_phase_with_proxy: true
            body: hello
      """)
    #expect(
      configuration.targets
        == (try DestinationPolicy(allow: ["10.0.0.0/8"], deny: ["10.1.0.1"], otherwise: .refused)))
    let module = try #require(configuration.modules["all"])
    #expect(module.timeout == 5)
    #expect(module.validStatusCodes == [200, 401])
    #expect(module.validVersions == ["HTTP/1.1", "HTTP/2.0"])
    #expect(module.method == "POST" && module.body == "hello")
    #expect(
      module.headers == [HeaderRule(name: "Accept-Encoding", value: "br, gzip"), HeaderRule(name: "X-A", value: "b")])
    #expect(module.bodyLimit == 1_572_864)
    #expect(module.compression == .gzip)
    #expect(!module.followsRedirects && module.failsIfSecure && module.failsIfPlain)
    #expect(module.bodyMustNotMatch.map(\.source) == ["a"])
    #expect(module.bodyMustMatch.map(\.source) == ["b", "\\d"])
    #expect(module.fieldsMustNotMatch.map(\.name) == ["X"] && module.fieldsMustMatch.map(\.mayBeMissing) == [true])
    #expect(module.tls.serverName == "a.example" && module.tls.skipsVerification)
    #expect(module.tls.minimumVersion == .tls10 && module.tls.maximumVersion == .tls12)
    #expect(module.authorization == .basic(user: "alice", password: .text("secret")))
    #expect(!module.allowsHTTP2 && module.prefersIPv4 && !module.fallsBack)
    #expect(module.text.contains("password: <secret>\n") && module.text.contains("body: <secret>\n"))
    #expect(!"\(module)".contains("secret\n") || !"\(module)".contains(": secret"))
  }

  /// Files that blackbox_exporter reads, by Go's yaml.v3.
  @Test func readsScalarsAsGoDoes() throws {
    let configuration = try read(
      """
      targets:
      modules:
        words:
          prober: http
          http:
            follow_redirects: no
            fail_if_ssl: yes
            fail_if_not_ssl: "on"
            enable_http2: Off
            ip_protocol_fallback: n
            method: 5
            body: 1.50
            headers: { X-Number: 0x10, X-Boolean: true, X-Nothing: }
            basic_auth: { username: 1, password: 007 }
            fail_if_body_matches_regexp: [123]
        empty:
          prober: http
          timeout:
          http:
            tls_config:
            basic_auth:
            authorization:
            bearer_token: ~
            method:
            headers:
            valid_status_codes:
            valid_http_versions: null
            follow_redirects:
            body_size_limit:
            compression:
            fail_if_body_matches_regexp:
            fail_if_header_matches:
            preferred_ip_protocol:
            proxy_url:
            oauth2:
        bare: { prober: http, http: }
      """)
    let words = try #require(configuration.modules["words"])
    #expect(!words.followsRedirects && words.failsIfSecure && words.failsIfPlain && !words.allowsHTTP2)
    #expect(!words.fallsBack && words.method == "5" && words.body == "1.50")
    #expect(words.headers.map(\.value) == ["0x10", "true", ""])
    #expect(words.authorization == .basic(user: "1", password: .text("007")))
    #expect(words.bodyMustNotMatch.map(\.source) == ["123"])
    for name in ["empty", "bare"] {
      var module = try #require(configuration.modules[name])
      module.text = ProbeModule().text
      #expect(module == ProbeModule())
    }
  }

  @Test(
    arguments: [
      (
        "prober: tcp",
        "2:16: modules.m.prober: the prober tcp is not supported; only http is, so leave this module to "
          + "blackbox_exporter"
      ),
      (
        "prober: smtp",
        "2:16: modules.m.prober: there is no such prober; only http is, so leave this module to "
          + "blackbox_exporter"
      ),
      ("timeout: 5s", "2:6: modules.m.prober: is missing; write prober: http"),
      ("prober: http, tcp: {}", "2:27: modules.m.tcp: belongs to another prober; leave it out"),
      (
        "prober: http, timeout: soon",
        "2:31: modules.m.timeout: expected a duration such as 30s, 500ms or 1m30s, found a "
          + "string"
      ),
      (
        "prober: http, tiemout: 5s",
        #"2:22: modules.m.tiemout: unknown key; did you mean "timeout"?"#
      ),
    ])
  func refusesModules(module: String, problem: String) {
    let error = #expect(throws: ConfigurationError.self) { try read("modules:\n  m: { \(module) }\n") }
    #expect(error?.lines == ["probe.yml:\(problem)"])
  }

  @Test(
    arguments: [
      (
        "oauth2: {}",
        "4:15: modules.m.http.oauth2: oauth2 is not supported; leave it out, or leave this module to "
          + "blackbox_exporter"
      ),
      (
        "proxy_url: http://a",
        "4:18: modules.m.http.proxy_url: proxy_url is not supported; leave it out, or leave this "
          + "module to blackbox_exporter"
      ),
      ("method: a b", "4:15: modules.m.http.method: is not a method"),
      ("method: [GET]", "4:15: modules.m.http.method: expected a string, found a list"),
      ("fail_if_ssl: 1", "4:20: modules.m.http.fail_if_ssl: expected true or false, found a number"),
      (
        "{valid_status_codes: &codes [200], headers: *codes}",
        "4:51: modules.m.http.headers: aliases (*name) are not supported; repeat the value"
      ),
      (
        "compression: br",
        "4:20: modules.m.http.compression: br is not supported; ask for gzip, or leave this module to "
          + "blackbox_exporter"
      ),
      (
        "{compression: gzip, headers: {accept-encoding: br}}",
        "4:21: modules.m.http.compression: the header Accept-Encoding doesn't accept gzip; name it there"
      ),
      ("valid_status_codes: [99]", "4:28: modules.m.http.valid_status_codes[0]: must be 100 to 999"),
      (
        "valid_http_versions: [HTTP/2]",
        "4:29: modules.m.http.valid_http_versions[0]: give one of HTTP/1.0, HTTP/1.1, "
          + "HTTP/2.0"
      ),
      ("headers: {A: b, a: c}", "4:26: modules.m.http.headers.a: the same field is set twice"),
      ("headers: {'a b': c}", #"4:24: modules.m.http.headers["a b"]: is not a field name"#),
      (
        "fail_if_body_matches_regexp: ['(a']",
        "4:37: modules.m.http.fail_if_body_matches_regexp[0]: has a ( without its )"
      ),
      (
        "fail_if_header_matches: [{regexp: a}]",
        "4:32: modules.m.http.fail_if_header_matches[0].header: is missing; name "
          + "the header field"
      ),
      (
        "fail_if_header_matches: [{header: A}]",
        "4:32: modules.m.http.fail_if_header_matches[0].regexp: is missing; give a "
          + "regular expression"
      ),
      ("body_size_limit: 10", "4:24: modules.m.http.body_size_limit: expected a size such as 10MB, found a number"),
      ("preferred_ip_protocol: ip5", "4:30: modules.m.http.preferred_ip_protocol: give one of ip4, ip6"),
      (
        "tls_config: {min_version: TLS14}",
        "4:33: modules.m.http.tls_config.min_version: give one of TLS10, TLS11, TLS12, "
          + "TLS13"
      ),
      ("tls_config: {ca_file: /none/a.pem}", #"4:29: modules.m.http.tls_config.ca_file: "/none/a.pem" can't be read"#),
      (
        "{bearer_token: a, basic_auth: {username: a}}",
        "4:22: modules.m.http.bearer_token: is a second credential; give one of basic_auth, authorization, bearer_token, "
          + "bearer_token_file"
      ),
      (
        "authorization: {type: Basic, credentials: a}",
        "4:29: modules.m.http.authorization.type: write basic_auth in place of authorization"
      ),
      ("authorization: {type: Token}", "4:22: modules.m.http.authorization: needs credentials or credentials_file"),
      (
        "basic_auth: {password: a, password_file: b}",
        "4:48: modules.m.http.basic_auth.password_file: is given besides password; leave one of them out"
      ),
      ("folow_redirects: true", #"4:7: modules.m.http.folow_redirects: unknown key; did you mean "follow_redirects"?"#),
      ("{method: GET, method: PUT}", "4:21: modules.m.http.method: duplicate key; first given at line 4"),
    ])
  func refusesKeys(line: String, problem: String) {
    // A whole mapping stands in the place of the first key.
    let text =
      line.hasPrefix("{")
      ? "modules:\n  m:\n    prober: http\n    http: \(line)\n"
      : "modules:\n  m: { prober: http, http: {\n\n      \(line) }}\n"
    let error = #expect(throws: ConfigurationError.self) { try read(text) }
    let line = error?.lines.first ?? ""
    #expect(line.hasPrefix("probe.yml:") && line.contains(problem.split(separator: ": ", maxSplits: 1)[1]))
    #expect(error?.problems.count == 1, "\(error?.description ?? "")")
    if !text.contains("http: {\n") { return }
    #expect(line.hasPrefix("probe.yml:\(problem)"))
  }

  @Test(
    arguments: [
      ("targets: {otherwise: all}", "1:22: targets.otherwise: give one of any, publicOnly, none"),
      ("targets: {allow: [ten]}", "1:19: targets.allow[0]: "),
      ("target: {}", #"1:1: target: unknown key; did you mean "targets"?"#),
      ("[]", "1:1: expected a mapping (key: value), found a list"),
    ])
  func refusesTheRest(text: String, problem: String) {
    let error = #expect(throws: ConfigurationError.self) { try read(text) }
    #expect(error?.lines.first?.hasPrefix("probe.yml:\(problem)") == true, "\(error?.description ?? "")")
  }

  @Test func filesAreFoundFromTheFolder() throws {
    let directory = try TemporaryDirectory()
    try directory.file("token", "abc\n")
    let text = "modules: { m: { prober: http, http: { bearer_token_file: token } } }"
    let configuration = try ProbeConfiguration(parsing: Array(text.utf8), file: "\(directory.path)/probe.yml")
    #expect(configuration.modules["m"]?.authorization == .scheme("Bearer", .file("\(directory.path)/token")))
  }
}
