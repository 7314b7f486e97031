import Testing

@testable import WeirGateway

@Suite struct UpstreamTests {
  private static let label63 = String(repeating: "a", count: 63)
  private static let name253 = String(repeating: "\(label63).", count: 3) + String(repeating: "b", count: 61)

  @Test(arguments: [
    ("http://localhost", "http://localhost", "localhost"), ("http://h/", "http://h", "h"),
    ("HTTP://H:80/a/", "http://h/a", "h"), ("https://h:443", "https://h", "h"),
    ("http://h:443/a/b", "http://h:443/a/b", "h:443"), ("http://[::1]:9000", "http://[::1]:9000", "[::1]:9000"),
    ("http://[FE80::1]", "http://[fe80::1]", "[fe80::1]"), ("http://10.0.0.1:1", "http://10.0.0.1:1", "10.0.0.1:1"),
    ("http://127.1:9/", "http://127.0.0.1:9", "127.0.0.1:9"), ("http://0x7f.1", "http://127.0.0.1", "127.0.0.1"),
    ("http://2130706433", "http://127.0.0.1", "127.0.0.1"), ("http://[0:0::1]", "http://[::1]", "[::1]"),
    ("http://a_b.c-d./x%2Fy", "http://a_b.c-d./x%2Fy", "a_b.c-d."),
    ("http://\(label63).a", "http://\(label63).a", "\(label63).a"),
    ("http://\(name253).", "http://\(name253).", "\(name253)."),
  ])
  func takes(text: String, base: String, authority: String) throws {
    let upstream = try Upstream(parsing: text)
    #expect(upstream.origin.dropLast() + upstream.basePath == base)
    #expect(upstream.authority == authority)
  }

  @Test(arguments: [
    ("", "begin with http:// or https://"), ("h:80", "begin with http:// or https://"),
    ("ws://h", "the scheme must be http or https"), ("http://", "the host is missing"),
    ("http:///a", "the host is missing"), ("http://:80", "the host is missing"),
    ("http://h?q", "must have no query; requests bring their own"),
    ("http://h/#f", "must have no fragment; those are never sent"),
    ("http://u:p@h", "must have no user name or password"), ("http://h:0", "the port must be 1 to 65535"),
    ("http://h:65536", "the port must be 1 to 65535"), ("http://h:", "the port must be 1 to 65535"),
    ("http://h:+80", "the port must be 1 to 65535"), ("http://h:80:80", "the port must be 1 to 65535"),
    ("http://[::1", "\"[\" needs a \"]\""), ("http://[nope]", "\"[nope]\" is not an IPv6 address"),
    ("http://[::1]x", "the port must be 1 to 65535"), ("http://a b", "\"a b\" is not a host name"),
    ("http://é", "\"é\" is not a host name"), ("http://h/a b", "its path must have no spaces and control characters"),
    ("http://h/é", "its path must hold only characters that URLs allow; percent-encode the others"),
    ("http://h/a/../b", "its path is not in normal form; write \"/b\""),
    ("http://h/%zz", "its path has a % without two hexadecimal digits"),
    ("http://h\u{0}", "\"h\\u{0}\" is not a host name"),
  ])
  func refuses(text: String, message: String) {
    check(text, message)
  }

  @Test(arguments: [
    "h..", "a..b", ".", ".h", "..", "\(label63)a", "\(label63)a.b", "\(name253)b", "\(name253)b.", "a~b",
  ])
  func refusesAsHostName(host: String) {
    let shown = host.count > 64 ? "\(host.prefix(64))…" : host
    check("http://\(host)", "\"\(shown)\" is not a host name")
  }

  private func check(_ text: String, _ message: String) {
    #expect(throws: UpstreamProblem.self) { try Upstream(parsing: text) }
    do { _ = try Upstream(parsing: text) } catch { #expect(error.description == message) }
  }
}
