import Testing
import WeirHTTP1

/// URLs that our own engine reads itself, and URLs that it leaves to libcurl.
@Suite struct RequestURLTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let url: String
    let origin: String
    let host: String
    let port: Int
    let target: String

    init(_ url: String, _ origin: String, _ host: String, _ port: Int, _ target: String) {
      (self.url, self.origin, self.host, self.port, self.target) = (url, origin, host, port, target)
    }

    var testDescription: String { url }
  }

  private static let plain = [
    Row("http://a.example/", "http://a.example", "a.example", 80, "/"),
    Row("http://a.example", "http://a.example", "a.example", 80, ""),
    Row("https://a.example/b/c?d=e&f", "https://a.example", "a.example", 443, "/b/c?d=e&f"),
    Row("https://a.example:80/", "https://a.example:80", "a.example", 80, "/"),
    Row("http://a.example:443/", "http://a.example:443", "a.example", 443, "/"),
    Row("http://a.example:1/", "http://a.example:1", "a.example", 1, "/"),
    Row("http://a.example:65535?q", "http://a.example:65535", "a.example", 65_535, "?q"),
    Row("http://a.example?q/r", "http://a.example", "a.example", 80, "?q/r"),
    Row("http://a.example/b#c", "http://a.example", "a.example", 80, "/b"),
    Row("http://a.example#c/d?e", "http://a.example", "a.example", 80, ""),
    Row("http://a.example/?b#", "http://a.example", "a.example", 80, "/?b"),
    Row(
      "http://a.example/@b:c//[d]%41%zz{}|^`\"<>\\", "http://a.example", "a.example", 80, "/@b:c//[d]%41%zz{}|^`\"<>\\"),
    Row("http://127.0.0.1:8080/~", "http://127.0.0.1:8080", "127.0.0.1", 8080, "/~"),
    Row("http://a_b-c.9/", "http://a_b-c.9", "a_b-c.9", 80, "/"),
    Row("http://a.example./", "http://a.example.", "a.example.", 80, "/"),
    Row("http://[::1]/", "http://[::1]", "[::1]", 80, "/"),
    Row(
      "https://[2001:db8::ffff:192.0.2.1]:8443/b", "https://[2001:db8::ffff:192.0.2.1]:8443",
      "[2001:db8::ffff:192.0.2.1]", 8443, "/b"),
  ]

  @Test(arguments: plain)
  func plainURLs(row: Row) throws {
    let url = try #require(RequestURL(row.url))
    #expect(url.origin == row.origin)
    #expect(url.host == row.host)
    #expect(url.port == row.port)
    #expect(url.target == row.target)
    #expect(url.isSecure == row.url.hasPrefix("https:"))
  }

  @Test(arguments: [
    "", "http", "http:", "http:/", "http://", "https://", "http:///", "http://?", "http://#", "//a.example/",
    "a.example",
    "HTTP://a.example/", "Https://a.example/", " http://a.example/", "ftp://a.example/", "ws://a.example/",
    "http:/a.example/", "http:a.example", "httpss://a.example/",
  ])
  func otherSchemesAndEmptyHosts(url: String) { #expect(RequestURL(url) == nil) }

  @Test(arguments: [
    "user@a.example", "user:secret@a.example", "@a.example", "A.example", "a%2eexample", "a.example%00", "a b",
    "ä.example",
    "a,b", "a;b", "a!b", "a$b", "a&b", "a'b", "a(b)", "a*b", "a+b", "a=b", "a~b", "a\\b", "a\tb", "a\u{0}b", "a\u{301}",
    "[::1", "::1]", "::1", "[::1]x", "[::1]80", "[::1%25eth0]", "[::1%eth0]", "[v1.a]", "[::g]", "[[::1]]", "a[::1]",
  ])
  func otherHosts(host: String) { #expect(RequestURL("http://\(host)/") == nil) }

  @Test(arguments: [
    ":", ":0", ":00", ":080", ":65536", ":99999", ":100000", ":99999999999999999999", ":8a", ":+80", ":-1", ": 80",
    ":80 ",
    ":80:80", ":٨",
  ])
  func otherPorts(port: String) {
    #expect(RequestURL("http://a.example\(port)/") == nil)
    #expect(RequestURL("http://[::1]\(port)/") == nil)
  }

  @Test(arguments: [
    "/ ", "/a b", "/\t", "/\r\nA: b", "/\n", "/\u{0}", "/\u{7f}", "/ä", "?ä", "/#ä", "/a# b", "/\u{301}",
  ])
  func otherTargets(target: String) { #expect(RequestURL("http://a.example\(target)") == nil) }
}
