import Testing

@testable import WeirGateway

/// The upstreams that targets of requests to a forward proxy name.
@Suite struct RequestedAuthorityTests {
  private static func text(_ make: () throws(TargetRefusal) -> Upstream) -> String {
    do {
      return String(try make().origin.dropLast())
    } catch {
      switch error {
      case .malformed(let reason): return "400 \(reason)"
      case .forbidden(let upstream, let reason): return "403 \(upstream.host):\(upstream.port) \(reason)"
      }
    }
  }

  private static let http = RequestedUpstream()
  private static let https = RequestedUpstream(scheme: .https)
  private static let some = RequestedUpstream(ports: [80, 8080])
  private static let notAllowed = "the port is not allowed"

  @Test(arguments: [
    (http, "h", false, "http://h"), (http, "H:80", false, "http://h"), (http, "h:", false, "http://h"),
    (http, "h", true, "https://h"), (http, "h:443", true, "https://h"), (http, "[0:0::1]:80", false, "http://[::1]"),
    (http, "a.example.", false, "http://a.example."), (http, "127.1", false, "http://127.0.0.1"),
    (http, "0x7f000001", false, "http://127.0.0.1"), (http, "h:443", false, "403 h:443 \(notAllowed)"),
    (http, "h:80", true, "403 h:80 \(notAllowed)"), (http, "h:8080", false, "403 h:8080 \(notAllowed)"),
    (https, "h", false, "https://h"), (https, "h:80", false, "https://h"), (https, "h:443", false, "https://h"),
    (https, "h", true, "https://h"), (https, "h:80", true, "403 h:80 \(notAllowed)"),
    (https, "[::1]:80", false, "https://[::1]"), (https, "h:8443", false, "403 h:8443 \(notAllowed)"),
    (RequestedUpstream(scheme: .http), "h", false, "http://h"),
    (RequestedUpstream(scheme: .http), "h", true, "403 h:443 only http:// URLs are requested here"),
    (some, "h", false, "http://h"), (some, "h:8080", false, "http://h:8080"), (some, "h:8080", true, "https://h:8080"),
    (some, "h", true, "403 h:443 \(notAllowed)"),
    (RequestedUpstream(scheme: .https, ports: [8443]), "h:80", false, "403 h:443 \(notAllowed)"),
    (RequestedUpstream(scheme: .https, ports: [8443]), "h:8443", false, "https://h:8443"),
  ])
  func requested(rule: RequestedUpstream, authority: String, isSecure: Bool, expected: String) {
    #expect(
      Self.text { () throws(TargetRefusal) in try rule.upstream(of: authority, isSecure: isSecure) } == expected)
  }

  @Test(arguments: [
    ("h:443", "http://h:443"), ("H.:443", "http://h.:443"), ("127.1:443", "http://127.0.0.1:443"),
    ("[::ffff:127.0.0.1]:443", "http://[::ffff:127.0.0.1]:443"), ("h:22", "403 h:22 \(notAllowed)"),
    ("h:80", "403 h:80 \(notAllowed)"),
  ])
  func tunnels(authority: String, expected: String) {
    #expect(Self.text { () throws(TargetRefusal) in try ConnectRule().upstream(of: authority) } == expected)
  }

  private static let badPort = "the port must be 1 to 65535"

  @Test(arguments: [
    ("h:0", badPort), ("h:99999", badPort), ("h:1:2", badPort), ("[::1", "\"[\" needs a \"]\""),
    ("[fe80::1%25eth0]:443", "\"[fe80::1%25eth0]\" is not an IPv6 address"), ("", "the host is missing"),
    (":443", "the host is missing"), ("user@h:443", "\"user@h\" is not a host name"),
    ("a,b:443", "\"a,b\" is not a host name"), ("a..b:443", "\"a..b\" is not a host name"),
    ("%31:443", "\"%31\" is not a host name"),
  ])
  func isMalformed(authority: String, reason: String) {
    let expected = "400 the target's authority is malformed: \(reason)"
    #expect(Self.text { () throws(TargetRefusal) in try ConnectRule().upstream(of: authority) } == expected)
    #expect(
      Self.text { () throws(TargetRefusal) in try Self.http.upstream(of: authority, isSecure: false) } == expected)
  }
}
