import Testing

@testable import WeirCurl

/// The proxies that environment variables name, by curl's rules.
@Suite struct ProxyEnvironmentTests {
  private static func environment(_ variables: [String: String]) -> ProxyEnvironment {
    ProxyEnvironment { variables[$0] }
  }

  /// The proxies for `http` and `https`.
  private static func names(_ variables: [String: String]) -> [String] {
    environment(variables).summary.map(\.proxy)
  }

  @Test(arguments: [
    ([:], ["none", "none"]), (["http_proxy": "http://p:1"], ["http://p:1", "none"]),
    (["HTTP_PROXY": "http://p:1"], ["none", "none"]), (["https_proxy": "http://p:1"], ["none", "http://p:1"]),
    (["HTTPS_PROXY": "http://p:1"], ["none", "http://p:1"]),
    (["HTTPS_PROXY": "http://p:1", "https_proxy": "http://q:1"], ["none", "http://q:1"]),
    (["all_proxy": "http://p:1"], ["http://p:1", "http://p:1"]),
    (["ALL_PROXY": "http://p:1"], ["http://p:1", "http://p:1"]),
    (["ALL_PROXY": "http://p:1", "http_proxy": "http://q:1"], ["http://q:1", "http://p:1"]),
    (["all_proxy": "http://p:1", "https_proxy": ""], ["http://p:1", "http://p:1"]),
  ])
  func variables(variables: [String: String], names: [String]) {
    #expect(Self.names(variables) == names)
  }

  @Test(arguments: [
    ("http://p:1", "http://p:1"), ("p:1", "http://p:1"), ("p", "http://p:1080"), ("https://p", "https://p:443"),
    ("https://p:8443/", "https://p:8443"), ("socks5://p:1", "socks5://p:1"), ("SOCKS5H://p", "socks5h://p:1080"),
    ("http://me:secret@p:1", "http://p:1"), ("http://P.Example:1", "http://p.example:1"),
    ("http://[::1]:1", "http://[::1]:1"), ("127.0.0.1:3128", "http://127.0.0.1:3128"),
  ])
  func spellings(text: String, name: String) {
    #expect(Self.names(["all_proxy": text]) == [name, name])
  }

  @Test(arguments: ["socks4://p:1", "ftp://p:1", "http://", "http://p:99999", "http://p:x", "http://a b"])
  func defects(text: String) throws {
    let environment = Self.environment(["https_proxy": text])
    #expect(try #require(environment.defect).hasPrefix("https_proxy is no proxy that can be used"))
    #expect(environment.proxy(to: "a.example", port: 443, isSecure: true) == nil)
    var options = TransportOptions()
    options.proxy = .named(by: environment)
    #expect(throws: TransferError.self) { try PreparedOptions(options) }
  }

  /// It goes out with each request, by Basic.
  @Test func credentials() throws {
    let proxy = try #require(
      Self.environment(["http_proxy": "http://m%40e:s%3Acret@p:1"]).proxy(to: "a", port: 80, isSecure: false))
    #expect(proxy.credential?.userAndPassword == TransferCredential(user: "m@e", password: "s:cret"))
    #expect(proxy.credential?.authorization == Array("Basic bUBlOnM6Y3JldA==".utf8))
    #expect(proxy.answer == nil)
    #expect(Self.environment(["http_proxy": "http://p:1"]).proxy(to: "a", port: 80, isSecure: false)?.credential == nil)
  }

  private static let hosts = "example.com,.dotted.example , *.stars.example\tfinal.example."
  private static let addresses = "192.0.2.1, 10.0.0.0/8, 172.16.5.4/12, ::1, [2001:db8::2], 2001:db8:1::/48"

  @Test(
    arguments: [
      ("", "example.com", false), ("*", "example.com", true), ("*", "192.0.2.1", true), ("a, *", "b.example", true),
      ("*x", "ax", false), (hosts, "example.com", true), (hosts, "www.example.com", true),
      (hosts, "EXAMPLE.com", true), (hosts, "example.com.", true), (hosts, "notexample.com", false),
      (hosts, "example.com.other", false), (hosts, "dotted.example", true), (hosts, "a.dotted.example", true),
      (hosts, "stars.example", true), (hosts, "a.stars.example", true), (hosts, "final.example", true),
      (hosts, "com", false), (hosts, "192.0.2.1", false), ("Example.COM", "example.com", true),
      (addresses, "192.0.2.1", true), (addresses, "192.0.2.2", false), (addresses, "10.1.2.3", true),
      (addresses, "11.1.2.3", false), (addresses, "172.31.0.1", true), (addresses, "172.32.0.1", false),
      (addresses, "[::1]", true), (addresses, "::1", true), (addresses, "[2001:db8::2]", true),
      (addresses, "[2001:db8:1::9]", true), (addresses, "[2001:db8:2::9]", false), (addresses, "10.example", false),
      ("2.1", "192.0.2.1", false),
    ] as [(String, String, Bool)])
  func exceptions(text: String, host: String, isExempt: Bool) {
    #expect(ProxyExceptions(text).contain(host[...], port: 80) == isExempt)
    for name in ["no_proxy", "NO_PROXY"] {
      let environment = Self.environment(["all_proxy": "http://p:1", name: text])
      for isSecure in [true, false] {
        #expect((environment.proxy(to: host[...], port: 80, isSecure: isSecure) == nil) == isExempt)
      }
    }
  }

  @Test(arguments: [
    ("example.com:8080", "example.com", 8080, true), ("example.com:8080", "example.com", 80, false),
    ("192.0.2.1:81", "192.0.2.1", 81, true), ("192.0.2.1:81", "192.0.2.1", 80, false),
    ("[::1]:81", "[::1]", 81, true), ("[::1]:81", "[::1]", 80, false), ("example.com:x", "example.com", 80, false),
  ])
  func ports(text: String, host: String, port: Int, isExempt: Bool) {
    #expect(ProxyExceptions(text).contain(host[...], port: port) == isExempt)
  }

  @Test func smallLettersComeFirst() {
    let environment = Self.environment(["all_proxy": "http://p:1", "no_proxy": "a", "NO_PROXY": "b"])
    #expect(environment.proxy(to: "a", port: 80, isSecure: false) == nil)
    #expect(environment.proxy(to: "b", port: 80, isSecure: false) != nil)
  }
}
