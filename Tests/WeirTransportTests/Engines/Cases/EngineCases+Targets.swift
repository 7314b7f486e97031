import WeirCurl
import WeirTestSupport

extension EngineCase {
  /// Forms of URLs: what becomes of their parts in the request.
  static let targets: [EngineCase] =
    onLoopback.map { url($0, $1) } + onUnixSocket.map { url($0, $1) { $0.place = .unixSocket } }
    + refused.map { url($0, $1) } + [
      url("an IPv6 host", "http://[::1]:{port}/") { $0.place = .ipv6Loopback },
      url("an IPv6 host in a long form", "http://[0:0:0:0::0001]:{port}/") { $0.place = .ipv6Loopback },
      url("an IPv6 host with a zone", "http://[::1%25lo]:{port}/") { $0.place = .ipv6Loopback },
      EngineCase(
        "a request target of the caller's own",
        EngineExchange("GET", "http://127.0.0.1:{port}/url?q") { $0.target = "/%ff/[own]?target" },
        peer: [.answer("ok")]),
      EngineCase(
        "a request target in absolute form",
        EngineExchange("GET", "http://127.0.0.1:{port}/") { $0.target = "http://name.test/x" }, peer: [.answer("ok")]),
      EngineCase(
        "an asterisk as request target", EngineExchange("OPTIONS", "http://127.0.0.1:{port}") { $0.target = "*" },
        peer: [.answer("ok")]),
      EngineCase(
        "userinfo beside an Authorization field",
        EngineExchange("GET", "http://user:secret@127.0.0.1:{port}/", fields: ["Authorization: Bearer token"]),
        peer: [.answer("ok")]),
      EngineCase(
        "userinfo that the server refuses",
        EngineExchange("GET", "http://user:secret@127.0.0.1:{port}/"),
        peer: [.head, .wire("HTTP/1.1 401 No|WWW-Authenticate: Basic realm=\"r\"|Content-Length: 2||no")]),
      EngineCase(
        "userinfo and a Digest challenge",
        EngineExchange("GET", "http://user:secret@127.0.0.1:{port}/"),
        peer: [.head, .wire("HTTP/1.1 401 No|WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"|Content-Length: 2||no")]),
    ]

  private static func url(
    _ name: String, _ url: String, change: (inout EngineCase) -> Void = { _ in }
  ) -> EngineCase {
    EngineCase(name, EngineExchange("GET", url), peer: [.answer("ok")], change: change)
  }

  private static let onLoopback: [(String, String)] = [
    ("a path and a query", "http://127.0.0.1:{port}/a/b?c=d&e"),
    ("no path", "http://127.0.0.1:{port}"),
    ("no path but a query", "http://127.0.0.1:{port}?a=b"),
    ("a fragment", "http://127.0.0.1:{port}/a?b#c"),
    ("no path but a fragment", "http://127.0.0.1:{port}#c"),
    ("dot segments and empty segments", "http://127.0.0.1:{port}/a/../b/./c//d/.."),
    ("percent-encoded octets", "http://127.0.0.1:{port}/%7e/%2F/%zz%?q=%00"),
    ("octets outside of ASCII", "http://127.0.0.1:{port}/\u{e4}?\u{20ac}"),
    ("delimiters", "http://127.0.0.1:{port}/!$&'()*+,;=:@|^`{}\"<>\\?/?[]"),
    ("an upper-case scheme", "HTTP://127.0.0.1:{port}/"),
    ("userinfo", "http://user:secret@127.0.0.1:{port}/"),
    ("percent-encoded userinfo", "http://us%40er:p%3Ass%20w%2f@127.0.0.1:{port}/"),
    ("userinfo without a password", "http://user@127.0.0.1:{port}/"),
    ("userinfo without a user", "http://:secret@127.0.0.1:{port}/"),
    ("empty userinfo", "http://@127.0.0.1:{port}/"),
    ("an address of two numbers", "http://127.1:{port}/"),
    ("an address as one hexadecimal number", "http://0x7f000001:{port}/"),
    ("an address with a final dot", "http://127.0.0.1.:{port}/"),
    ("a percent-encoded host", "http://127%2E0.0.1:{port}/"),
  ]

  private static let onUnixSocket: [(String, String)] = [
    ("a host without a port", "http://name.test/"),
    ("the default port", "http://name.test:80/"),
    ("the default port of https", "http://name.test:443/"),
    ("an empty port", "http://name.test:/"),
    ("another port", "http://name.test:8080/"),
    ("a port with leading zeros", "http://name.test:08080/"),
    ("an upper-case host", "http://NAME.Test/"),
    ("a host with a final dot", "http://name.test.:8080/"),
    ("localhost with a final dot", "http://localhost./"),
    ("an underscore in the host", "http://a_b.test/"),
  ]

  private static let refused: [(String, String)] = [
    ("a blank in the URL", "http://127.0.0.1:{port}/a b"),
    ("another scheme", "ftp://127.0.0.1:{port}/"),
    ("a port that is too large", "http://127.0.0.1:65536/"),
    ("a port that is no number", "http://127.0.0.1:8x/"),
    ("no host", "http://:{port}/"),
    ("an IPv6 host without its bracket", "http://[::1/"),
  ]
}
