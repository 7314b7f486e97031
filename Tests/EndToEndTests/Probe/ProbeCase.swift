import Testing

/// A module and a target for it.
struct ProbeCase: Sendable, CustomTestStringConvertible {
  let name: String
  /// In braces stands a server of the fixture.
  let target: String
  /// The lines of `http`.
  var http: [String] = []
  var timeout = "5s"
  /// Whether the module trusts the authority of the tests.
  var trusts = true

  var testDescription: String { name }

  static let all: [ProbeCase] = [
    // Statuses
    ProbeCase(name: "ok", target: "http://{plain}/ok"),
    ProbeCase(name: "without_scheme", target: "{plain}/ok"),
    ProbeCase(name: "missing", target: "http://{plain}/missing"),
    ProbeCase(name: "broken", target: "http://{plain}/broken"),
    ProbeCase(name: "no_content", target: "http://{plain}/empty"),
    ProbeCase(name: "wanted_404", target: "http://{plain}/missing", http: ["valid_status_codes: [200, 404]"]),
    ProbeCase(name: "unwanted_200", target: "http://{plain}/ok", http: ["valid_status_codes: [404]"]),
    ProbeCase(name: "dated", target: "http://{plain}/dated"),
    // Redirects
    ProbeCase(name: "redirect", target: "http://{plain}/to"),
    ProbeCase(name: "redirect_twice", target: "http://{plain}/twice"),
    ProbeCase(name: "redirect_absolute", target: "http://{plain by name}/away"),
    ProbeCase(name: "redirect_loop", target: "http://{plain}/around"),
    ProbeCase(name: "redirect_to_nothing", target: "http://{plain}/nowhere"),
    ProbeCase(
      name: "redirect_stays", target: "http://{plain}/to",
      http: ["follow_redirects: false", "valid_status_codes: [302]"]),
    ProbeCase(name: "redirect_stays_old", target: "https://{tls}/to", http: ["no_follow_redirects: true"]),
    ProbeCase(name: "redirect_with_cookie", target: "http://{plain}/login"),
    ProbeCase(name: "redirect_two_locations", target: "http://{two locations}/"),
    ProbeCase(name: "redirect_empty_location", target: "http://{empty location}/"),
    // TLS
    ProbeCase(name: "tls", target: "https://{tls}/ok"),
    ProbeCase(name: "tls_by_name", target: "https://{tls by name}/ok"),
    ProbeCase(name: "tls_1_2", target: "https://{1.2}/ok"),
    ProbeCase(
      name: "tls_1_2_at_most", target: "https://{tls}/ok",
      http: ["tls_config: { ca_file: '{authority}', max_version: TLS12 }"], trusts: false),
    ProbeCase(name: "tls_untrusted", target: "https://{tls}/ok", trusts: false),
    ProbeCase(
      name: "tls_unchecked", target: "https://{tls}/ok", http: ["tls_config: { insecure_skip_verify: true }"],
      trusts: false),
    ProbeCase(
      name: "tls_subject", target: "https://{subject}/ok", http: ["tls_config: { insecure_skip_verify: true }"],
      trusts: false),
    ProbeCase(name: "tls_wrong_host", target: "https://{wrong host}/ok"),
    ProbeCase(name: "tls_host_header", target: "https://{wrong host}/ok", http: ["headers: { Host: weir.example }"]),
    ProbeCase(name: "tls_expired", target: "https://{expired}/ok"),
    ProbeCase(name: "tls_unwanted", target: "https://{tls}/ok", http: ["fail_if_ssl: true"]),
    ProbeCase(name: "tls_wanted", target: "http://{plain}/ok", http: ["fail_if_not_ssl: true"]),
    ProbeCase(name: "tls_at_a_plain_port", target: "https://{plain}/ok"),
    // Versions
    ProbeCase(name: "h2", target: "https://{h2}/ok"),
    ProbeCase(name: "h2_empty", target: "https://{h2}/empty"),
    ProbeCase(name: "h2_off", target: "https://{h2}/ok", http: ["enable_http2: false"]),
    ProbeCase(name: "h2_unwanted", target: "https://{h2}/ok", http: ["valid_http_versions: [HTTP/1.1]"]),
    ProbeCase(name: "h2_wanted", target: "https://{h2}/ok", http: ["valid_http_versions: [HTTP/2.0]"]),
    ProbeCase(name: "old", target: "http://{old}/", http: ["valid_http_versions: [HTTP/1.0]"]),
    // Requests
    ProbeCase(
      name: "basic", target: "http://{plain}/basic", http: ["basic_auth: { username: alice, password: secret }"]),
    ProbeCase(name: "basic_missing", target: "http://{plain}/basic"),
    ProbeCase(name: "bearer", target: "http://{plain}/bearer", http: ["bearer_token: abc"]),
    ProbeCase(name: "authorization", target: "http://{plain}/bearer", http: ["authorization: { credentials: abc }"]),
    ProbeCase(name: "post", target: "http://{plain}/post", http: ["method: POST", "body: hello"]),
    ProbeCase(name: "post_again", target: "http://{plain}/again", http: ["method: POST", "body: hello"]),
    ProbeCase(name: "post_other", target: "http://{plain}/other", http: ["method: POST", "body: hello"]),
    ProbeCase(name: "put_nothing", target: "http://{plain}/post", http: ["method: PUT"]),
    ProbeCase(name: "head_missing", target: "http://{plain}/missing", http: ["method: HEAD"]),
    ProbeCase(name: "head", target: "http://{plain}/ok", http: ["method: HEAD"]),
    ProbeCase(name: "host", target: "http://{plain}/host", http: ["headers: { Host: weir.example, X-A: b }"]),
    ProbeCase(name: "userinfo", target: "http://alice:secret@{plain}/basic"),
    // Bodies
    ProbeCase(
      name: "body", target: "http://{plain}/ok", http: ["fail_if_body_not_matches_regexp: [Welcome, 'v\\w+ \\d+']"]),
    ProbeCase(
      name: "body_lacks", target: "http://{plain}/ok", http: ["fail_if_body_not_matches_regexp: ['^version']"]),
    ProbeCase(
      name: "body_lines", target: "http://{plain}/ok", http: ["fail_if_body_not_matches_regexp: ['(?m)^version']"]),
    ProbeCase(name: "body_bad", target: "http://{plain}/ok", http: ["fail_if_body_matches_regexp: ['(?i)WELCOME.*']"]),
    ProbeCase(
      name: "body_octets", target: "http://{octets}/", http: ["fail_if_body_not_matches_regexp: ['bc$']"]),
    ProbeCase(name: "body_limit", target: "http://{plain}/ok", http: ["body_size_limit: 10B"]),
    ProbeCase(
      name: "body_limit_regexp", target: "http://{plain}/ok",
      http: ["body_size_limit: 10B", "fail_if_body_matches_regexp: [absent]"]),
    ProbeCase(name: "chunks", target: "http://{chunks}/"),
    ProbeCase(name: "cut", target: "http://{cut}/"),
    ProbeCase(
      name: "gzip", target: "http://{plain}/gzip",
      http: [
        "compression: gzip", "headers: { Accept-Encoding: gzip }", "fail_if_body_not_matches_regexp: [compressed]",
      ]),
    ProbeCase(name: "gzip_raw", target: "http://{plain}/gzip", http: ["headers: { Accept-Encoding: gzip }"]),
    ProbeCase(name: "gzip_not", target: "http://{plain}/ok", http: ["compression: gzip"]),
    ProbeCase(name: "gzip_empty", target: "http://{nothing}/", http: ["compression: gzip"]),
    ProbeCase(name: "gzip_no_content", target: "http://{plain}/empty", http: ["compression: gzip"]),
    ProbeCase(name: "gzip_head", target: "http://{plain}/ok", http: ["compression: gzip", "method: HEAD"]),
    ProbeCase(name: "deflate_empty", target: "http://{nothing}/", http: ["compression: deflate"]),
    ProbeCase(
      name: "deflate_empty_regexp", target: "http://{nothing}/",
      http: ["compression: deflate", "fail_if_body_not_matches_regexp: ['^$']"]),
    ProbeCase(name: "empty", target: "http://{nothing}/", http: ["fail_if_body_not_matches_regexp: ['^$']"]),
    // Scalars and expressions as Go takes them
    ProbeCase(name: "words", target: "http://{plain}/to", http: ["follow_redirects: no", "fail_if_not_ssl: off"]),
    ProbeCase(name: "words_fail", target: "http://{plain}/ok", http: ["fail_if_not_ssl: yes"]),
    ProbeCase(
      name: "numbers", target: "http://{plain}/ok",
      http: ["headers: { X-A: 1.50, X-B: }", "fail_if_body_not_matches_regexp: [12]"]),
    ProbeCase(
      name: "nothing_given", target: "http://{plain}/ok",
      http: ["tls_config:", "basic_auth:", "method:", "valid_status_codes:"], trusts: false),
    ProbeCase(name: "octal", target: "http://{plain}/ok", http: ["fail_if_body_not_matches_regexp: ['^\\127elcome']"]),
    ProbeCase(name: "anchors", target: "http://{plain}/ok", http: ["fail_if_body_not_matches_regexp: ['^*weir$*']"]),
    ProbeCase(name: "anchor_fails", target: "http://{plain}/ok", http: ["fail_if_body_not_matches_regexp: ['^+weir']"]),
    ProbeCase(
      name: "flags_off", target: "http://{plain}/ok", http: ["fail_if_body_not_matches_regexp: ['(?s-i)Welcome.*12']"]),
    // Fields
    ProbeCase(
      name: "field", target: "http://{fields}/", http: ["fail_if_header_not_matches: [{ header: x-a, regexp: two }]"]),
    ProbeCase(
      name: "field_bad", target: "http://{fields}/", http: ["fail_if_header_matches: [{ header: X-A, regexp: two }]"]),
    ProbeCase(
      name: "field_missing", target: "http://{fields}/",
      http: ["fail_if_header_matches: [{ header: X-B, regexp: two }]"]),
    ProbeCase(
      name: "field_may_miss", target: "http://{fields}/",
      http: ["fail_if_header_not_matches: [{ header: X-B, regexp: two, allow_missing: true }]"]),
    ProbeCase(
      name: "field_empty", target: "http://{fields}/",
      http: ["fail_if_header_not_matches: [{ header: X-Empty, regexp: '^$' }]"]),
    // Failures
    ProbeCase(name: "closed", target: "http://{closed}/"),
    ProbeCase(name: "gone", target: "http://{gone}/"),
    ProbeCase(name: "silent", target: "http://{silent}/", timeout: "500ms"),
    ProbeCase(name: "no_name", target: "http://weir-has-no.invalid/", timeout: "2s"),
    ProbeCase(name: "no_url", target: "http://[::1/"),
    ProbeCase(name: "no_port", target: "http://127.0.0.1:99999/"),
  ]
}
