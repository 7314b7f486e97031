import Foundation
import Testing
import WeirGateway

@Suite struct UpstreamTests {
  @Test(arguments: [
    ("http://localhost", "http://localhost", "localhost"), ("http://h/", "http://h", "h"),
    ("HTTP://H:80/a/", "http://h/a", "h"), ("https://h:443", "https://h", "h"),
    ("http://h:443/a/b", "http://h:443/a/b", "h:443"), ("http://[::1]:9000", "http://[::1]:9000", "[::1]:9000"),
    ("http://[FE80::1]", "http://[fe80::1]", "[fe80::1]"), ("http://10.0.0.1:1", "http://10.0.0.1:1", "10.0.0.1:1"),
    ("http://a_b.c-d./x%2Fy", "http://a_b.c-d./x%2Fy", "a_b.c-d."),
  ])
  func takes(text: String, base: String, authority: String) throws {
    let upstream = try Upstream(parsing: text)
    #expect(upstream.origin.absoluteString.dropLast() + upstream.basePath == base)
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
    ("http://[::1", "\"[\" needs a \"]\""), ("http://[nope]", "\"[nope]\" is no IPv6 address"),
    ("http://[::1]x", "the port must be 1 to 65535"), ("http://a b", "\"a b\" is no host name"),
    ("http://é", "\"é\" is no host name"), ("http://h/a b", "its path must have no spaces and control characters"),
    ("http://h/é", "its path must hold only characters that URLs allow; percent-encode the others"),
    ("http://h/a/../b", "its path is not in normal form; write \"/b\""),
    ("http://h/%zz", "its path has a % without two hexadecimal digits"),
    ("http://h\u{0}", "\"h\\u{0}\" is no host name"),
  ])
  func refuses(text: String, message: String) {
    #expect(throws: UpstreamProblem.self) { try Upstream(parsing: text) }
    do { _ = try Upstream(parsing: text) } catch { #expect(error.message == message) }
  }
}
