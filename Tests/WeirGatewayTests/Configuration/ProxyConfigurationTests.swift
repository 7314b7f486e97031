import Testing
import Weir
import WeirCurl
import WeirTransport

@testable import WeirGateway

/// The key `proxy` of the file, of upstreams and of token services, and what is said of it beside other keys.
@Suite struct ProxyConfigurationTests {
  private static let credentials = """
    credentials:
      - {name: user, basic: {user: shop, password: s3cret}}
      - {name: token, bearer: t}
      - {name: key, field: {name: X-Key, value: k}}
      - {name: fetched, oauth2: {tokenURL: "https://id", clientID: a, clientSecret: b, proxy: off}}

    """

  private static let environment = ProxyEnvironment { name in
    ["http_proxy": "http://plain.example:1", "https_proxy": "socks5://secure.example:2", "no_proxy": ".internal"][name]
  }

  private func configuration(
    _ text: String, environment: ProxyEnvironment = environment
  ) throws(ConfigurationError) -> Configuration {
    try Configuration(parsing: Array(text.utf8), file: "f", environment: environment)
  }

  /// All that is said of a file, problems or warnings, but for credentials that nothing names.
  private func said(_ text: String, environment: ProxyEnvironment = environment) -> [String] {
    do {
      return try configuration(text, environment: environment).warnings.map {
        String($0.description(file: "").dropFirst())
      }
      .filter { !$0.contains("names this credential") }
    } catch {
      return error.problems.map { "problem " + $0.description(file: "").dropFirst() }
    }
  }

  private static func proxy(_ url: String, credential: String? = nil) throws -> ProxySettings {
    var proxy = try ProxySettings.Proxy(parsing: url)
    proxy.credential = credential
    return .proxy(proxy)
  }

  // MARK: Places

  @Test func theFilesIsTheDefaultOfAll() throws {
    let text = """
      \(Self.credentials)
        - {name: through, oauth2: {tokenURL: "https://id", clientID: a, clientSecret: b}}
        - {name: local, oauth2: {tokenURL: "http://127.0.0.1/t", clientID: a, clientSecret: b}}
        - {name: own, oauth2: {tokenURL: "https://id", clientID: a, clientSecret: b, proxy: "socks5h://[::1]:4"}}
      proxy: {url: "HTTP://Proxy.Example:3128/", credential: user}
      upstreams:
        - {name: through, endpoints: ["a:1"]}
        - {name: direct, endpoints: ["a:1"], proxy: off}
        - {name: own, endpoints: ["a:1"], proxy: {url: "https://p:3", tls: {minimumVersion: 1.3}, credential: fetched}}
        - {name: sockets, endpoints: ["unix:/run/a"]}
        - {name: environment, endpoints: ["a:1"], proxy: environment}
      routes:
        - {name: a, upstream: "http://h"}
        - {name: b, match: {path: /b}, upstream: {url: "http://h", proxy: off}}
        - {name: c, match: {path: /c}, upstream: {url: "http://h", proxy: "socks5://127.1:5"}}
        - {name: d, match: {path: /d}, upstream: through}
        - {name: e, match: {path: /e}, respond: {status: 200}}
      """
    let configuration = try configuration(text)
    let standard = try Self.proxy("http://proxy.example:3128", credential: "user")
    var own = try ProxySettings.Proxy(parsing: "https://p:3")
    own.credential = "fetched"
    own.tls = UpstreamTLS()
    own.tls?.minimumVersion = .tls13
    #expect(
      configuration.routes.map(\.proxy) == [standard, .off, try Self.proxy("socks5://127.0.0.1:5"), .off, .off])
    let entries = Dictionary(uniqueKeysWithValues: configuration.upstreams.map { ($0.name, $0.proxy) })
    #expect(
      entries == [
        "through": standard, "direct": .off, "own": .proxy(own), "sockets": .off,
        "environment": .environment(Self.environment),
      ])
    let services: [ProxySettings] = configuration.credentials.compactMap {
      if case .oauth2(_, _, let proxy, _) = $0.kind { proxy } else { nil }
    }
    #expect(services == [.off, standard, .off, try Self.proxy("socks5h://[::1]:4")])
  }

  @Test func withoutItConnectionsAreDirect() throws {
    let configuration = try configuration("routes: [{name: a, upstream: 'http://h'}]")
    #expect(configuration.routes[0].proxy == .off)
    #expect(configuration.notes == [])
  }

  // MARK: Values

  @Test(
    arguments: [
      ("proxy.example:3128", "give a URL such as http://proxy.example:3128, environment or off"),
      ("none", "give a URL such as http://proxy.example:3128, environment or off"),
      ("socks4://h:1", "begin with http://, https://, socks5:// or socks5h://"),
      ("http://proxy.example", "the port is missing; write host:port"),
      ("'http://h:0'", "the port must be 1 to 65535"), ("http://:3128", "the host must be a name or an address"),
      (
        "http://shop:s3cret@h:1", "must have no user name or password; name an entry of credentials as credential"
      ),
      ("http://h:1/path", "must end with the port"), ("http://h:1?a", "must end with the port"),
      ("http://h:1#a", "must end with the port"),
      ("'http://::1:1'", "an IPv6 address needs brackets, as in [2001:db8::7]:8443"),
      ("false", "give a URL such as http://proxy.example:3128, environment or off"),
      ("true", "give a URL such as http://proxy.example:3128, environment or off"),
      ("5", "expected a string, found the number 5; write it in quotes"), ("[]", "expected a string, found a list"),
    ])
  func valuesAreChecked(value: String, problem: String) {
    #expect(said("proxy: \(value)\nroutes: [{name: a, upstream: 'http://h'}]") == ["problem 1:8: proxy: \(problem)"])
  }

  @Test(arguments: [
    ("{}", "1:8: proxy.url: is missing; the URL of the proxy, such as http://proxy.example:3128"),
    ("{url: off}", "1:14: proxy.url: begin with http://, https://, socks5:// or socks5h://"),
    ("{url: 'http://h:1', tls: {}}", "1:33: proxy.tls: needs an https:// proxy"),
    (
      "{url: 'https://h:1', tls: {serverName: a}}",
      "1:35: proxy.tls.serverName: unknown key; known keys are ca, certificate, key, minimumVersion, pins"
    ),
    ("{url: 'http://h:1', port: 1}", "1:28: proxy.port: unknown key; known keys are credential, tls, url"),
    (
      "{url: 'http://h:1', credential: a}",
      "1:40: proxy.credential: no credential is named \"a\"; the file has no credentials"
    ),
  ])
  func keysAreChecked(value: String, problem: String) {
    #expect(said("proxy: \(value)\nroutes: [{name: a, upstream: 'http://h'}]") == ["problem \(problem)"])
  }

  @Test func itBelongsBesideTheURL() {
    #expect(
      said("routes: [{name: a, upstream: 'http://h', proxy: off}]") == [
        "problem 1:42: routes[0].proxy: unknown key; it belongs into upstream, beside url, or into an entry of upstreams"
      ])
  }

  // MARK: Credentials

  @Test(
    arguments: [
      ("https://h:1", "user", nil), ("https://h:1", "token", nil), ("https://h:1", "fetched", nil),
      ("http://127.0.0.1:1", "user", nil), ("socks5://localhost:1", "user", nil),
      ("http://h:1", "token", "is sent to \"h\" in clear text; use https, or a loopback address or Unix socket"),
      ("socks5h://h:1", "user", "is sent to \"h\" in clear text; use https, or a loopback address or Unix socket"),
      (
        "https://h:1", "key", "writes a field of its own, which proxies don't know; give one of oauth2, basic or bearer"
      ),
      (
        "socks5://127.1:1", "token",
        "must be one of basic, as SOCKS proxies know users and passwords alone (RFC 1929)"
      ),
      (
        "socks5h://[::1]:1", "fetched",
        "must be one of basic, as SOCKS proxies know users and passwords alone (RFC 1929)"
      ),
    ] as [(String, String, String?)])
  func credentialsFitTheProxy(url: String, credential: String, expected: String?) {
    for (key, path) in [("proxy", "proxy"), ("upstreams", "upstreams[0].proxy")] {
      let proxy = "{url: \"\(url)\", credential: \(credential)}"
      let value = key == "proxy" ? proxy : "[{name: u, endpoints: [\"a:1\"], proxy: \(proxy)}]"
      let upstream = key == "proxy" ? "http://h" : "u"
      let text = "\(Self.credentials)\(key): \(value)\nroutes: [{name: a, upstream: \"\(upstream)\"}]"
      let found = said(text).filter { $0.contains(".credential: ") }
      #expect(found.count == (expected == nil ? 0 : 1))
      if let expected { #expect(found.allSatisfy { $0.hasSuffix(": \(path).credential: \(expected)") }, "\(found)") }
    }
  }

  @Test func usersOfSOCKSAreShort() {
    let long = String(repeating: "a", count: 256)
    for (user, password) in [(long, "p"), ("u", long)] {
      let text = """
        credentials: [{name: c, basic: {user: \(user), password: \(password)}}]
        proxy: {url: "socks5://127.0.0.1:1", credential: c}
        routes: [{name: a, upstream: "http://h"}]
        """
      #expect(
        said(text) == [
          "problem 2:50: proxy.credential: must have a user and a password of 1 to 255 octets for a SOCKS proxy (RFC 1929)"
        ])
    }
  }

  @Test func aTokenIsNotFetchedThroughAProxyThatWantsOne() {
    let fetched = "oauth2: {tokenURL: 'https://id', clientID: a, clientSecret: b"
    let own = """
      credentials:
        - {name: a, \(fetched), proxy: {url: "https://p:1", credential: b}}}
        - {name: b, \(fetched)}}
      routes: [{name: a, upstream: "https://h", credential: a}]
      """
    #expect(
      said(own) == [
        "problem 2:118: credentials[0].oauth2.proxy.credential: is a token, which would be fetched through this proxy; "
          + "give one of basic or bearer"
      ])
    let inherited = """
      credentials: [{name: b, \(fetched)}}]
      proxy: {url: "https://p:1", credential: b}
      routes: [{name: a, upstream: "https://h"}]
      """
    #expect(
      said(inherited) == [
        "problem 1:33: credentials[0].oauth2.proxy: is missing; the file's proxy wants a token, which would be fetched "
          + "through it"
      ])
  }

  @Test func aTokenServiceOnThisMachineHasNoProxy() {
    let text = """
      credentials: [{name: b, oauth2: {tokenURL: "http://localhost", clientID: a, clientSecret: b, proxy: environment}}]
      routes: [{name: a, upstream: "https://h", credential: b}]
      """
    #expect(said(text) == ["problem 1:101: credentials[0].oauth2.proxy: needs an https:// tokenURL"])
  }
}
