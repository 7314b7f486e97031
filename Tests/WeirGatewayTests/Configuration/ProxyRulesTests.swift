import Testing
import WeirCurl

@testable import WeirGateway

/// Problems and warnings about proxies beside the keys of what goes through them.
@Suite struct ProxyRulesTests {
  private static let environment = ProxyEnvironment { name in
    ["http_proxy": "http://plain.example:1", "https_proxy": "socks5://secure.example:2", "no_proxy": ".internal"][name]
  }

  /// The problems of a file, or its warnings, without their places.
  private func said(_ text: String, environment: ProxyEnvironment = environment) -> [String] {
    do throws(ConfigurationError) {
      let configuration = try Configuration(parsing: Array(text.utf8), file: "f", environment: environment)
      return configuration.warnings.map { "\($0.path): warning: \($0.message)" }
    } catch {
      return error.problems.map { "\($0.path): \($0.message)" }
    }
  }

  private func said(ofEntry keys: String, beside key: String = "") -> [String] {
    said("\(key)\nupstreams: [{name: u, \(keys)}]\nroutes: [{name: r, upstream: u}]\n")
  }

  private static func blind(_ proxy: String) -> String {
    "the proxy \(proxy) looks names up itself, so that destinationPolicy can't judge their addresses; socks5:// has "
      + "them looked up here"
  }

  private static let publicOnly = "destinationPolicy: {otherwise: publicOnly}"

  // MARK: Policies

  @Test(
    arguments: [
      ("http://p:1", "{otherwise: publicOnly}", "http://p:1"), ("https://p:1", "{otherwise: none}", "https://p:1"),
      ("socks5h://p:1", "{otherwise: any, deny: [10.0.0.0/8]}", "socks5h://p:1"),
      ("http://p:1", "{otherwise: any}", nil), ("http://p:1", "{otherwise: any, allow: [10.0.0.0/8]}", nil),
      ("socks5://p:1", "{otherwise: publicOnly}", nil), ("off", "{otherwise: publicOnly}", nil),
      ("environment", "{otherwise: publicOnly}", "http://plain.example:1"),
    ] as [(String, String, String?)])
  func aPolicyJudgesWhatIsLookedUpHere(proxy: String, policy: String, blind: String?) {
    let problem = blind.map { Self.blind($0) }
    #expect(
      said("routes: [{name: r, upstream: {url: 'http://h', proxy: '\(proxy)'}, destinationPolicy: \(policy)}]")
        == (problem.map { ["routes[0].upstream.proxy: \($0)"] } ?? []))
    #expect(
      said("proxy: '\(proxy)'\nroutes: [{name: r, upstream: 'http://h', destinationPolicy: \(policy)}]")
        == (problem.map { ["routes[0].destinationPolicy: \($0)"] } ?? []))
    #expect(
      said(ofEntry: "endpoints: ['h:1'], proxy: '\(proxy)', destinationPolicy: \(policy)")
        == (problem.map { ["upstreams[0].proxy: \($0)"] } ?? []))
    #expect(
      said(ofEntry: "endpoints: ['h:1'], destinationPolicy: \(policy)", beside: "proxy: '\(proxy)'")
        == (problem.map { ["upstreams[0].destinationPolicy: \($0)"] } ?? []))
  }

  @Test func theEnvironmentDecidesByHostAndScheme() {
    for (upstream, isBlind) in [("http://h.internal", false), ("https://h", false), ("http://h", true)] {
      let found = said("routes: [{name: r, upstream: {url: '\(upstream)', proxy: environment}, \(Self.publicOnly)}]")
      #expect(found.isEmpty != isBlind, "\(upstream)")
    }
    #expect(said(ofEntry: "file: /f, proxy: environment, \(Self.publicOnly)").isEmpty)
    #expect(
      said(ofEntry: "file: /f, proxy: 'http://p:1', \(Self.publicOnly)")
        == ["upstreams[0].proxy: \(Self.blind("http://p:1"))"])
  }

  // MARK: Endpoints

  @Test(
    arguments: [
      ("srv: _a._tcp.b, proxy: 'socks5://p:1'", nil), ("srv: _a._tcp.b.internal, proxy: environment", nil),
      ("srv: _a._tcp.b, scheme: https, proxy: environment", nil),
      (
        "srv: _a._tcp.b, proxy: 'socks5h://p:1'",
        "srv: needs addresses, which the proxy socks5h://p:1 looks up itself; socks5:// has names looked up here"
      ),
      (
        "srv: _a._tcp.b, proxy: environment",
        "srv: needs addresses, which the proxy http://plain.example:1 looks up itself; socks5:// has names looked up here"
      ),
      (
        "endpoints: ['h:1', 'unix:/run/a'], proxy: 'http://p:1'",
        "proxy: leads to no Unix socket, as unix:/run/a is one; write off, or give that an entry of its own"
      ),
      ("endpoints: ['h:1', 'unix:/run/a'], proxy: environment", nil),
      ("endpoints: ['unix:/run/a'], proxy: off", nil),
      (
        "endpoints: ['h:1', '10.0.0.1:1'], resolve: {family: ipv4}, proxy: 'http://p:1'",
        "resolve: warning: does nothing: the proxy http://p:1 looks all names up itself"
      ),
      ("endpoints: ['h:1'], resolve: {family: ipv4}, proxy: 'socks5://p:1'", nil),
      ("endpoints: ['h:1', 'h.internal:1'], resolve: {family: ipv4}, proxy: environment", nil),
      (
        "endpoints: ['10.0.0.1:1'], resolve: {family: ipv4}, proxy: 'http://p:1'",
        "resolve: warning: does nothing: all endpoints are addresses, and none is looked up"
      ),
    ] as [(String, String?)])
  func endpointsFitTheProxy(keys: String, expected: String?) {
    #expect(said(ofEntry: keys) == (expected.map { ["upstreams[0].\($0)"] } ?? []))
  }

  /// Nothing is said of the file's proxy, which these don't use.
  @Test func socketsAndLocalTokenServicesNeedNoOff() {
    #expect(said(ofEntry: "endpoints: ['unix:/run/a'], \(Self.publicOnly)", beside: "proxy: 'http://p:1'") == [])
    #expect(said(ofEntry: "endpoints: ['unix:/run/a', 'h:1']", beside: "proxy: 'http://p:1'") == [])
  }

  @Test(
    .enabled(if: CurlLibrary.hasReliableHTTP2),
    arguments: [
      (
        "'2'", "https", "socks5://p:1",
        "as names are looked up here for both destinationPolicy and the proxy socks5://p:1"
      ),
      ("'1.1'", "https", "socks5://p:1", nil), ("2-prior-knowledge", "http", "socks5h://p:1", nil),
      ("2-prior-knowledge", "http", "http://p:1", "for http, as the proxy http://p:1 takes the requests itself"),
      ("2-prior-knowledge", "https", "http://p:1", nil),
    ] as [(String, String, String, String?)])
  func versionsFitTheProxy(version: String, scheme: String, proxy: String, expected: String?) {
    let policy = proxy.hasPrefix("socks5:") ? ", \(Self.publicOnly)" : ""
    let keys = "endpoints: ['h:1'], scheme: \(scheme), httpVersion: \(version), proxy: '\(proxy)'\(policy)"
    let found = said(ofEntry: keys).map { $0.replacing("must be 1.1 for", with: "must be 1.1, for") }
    #expect(found == (expected.map { ["upstreams[0].httpVersion: must be 1.1, \($0)"] } ?? []))
  }

  // MARK: The environment

  @Test func aDefectOfTheEnvironmentIsAProblem() {
    let broken = ProxyEnvironment { $0 == "http_proxy" ? "ftp://user:s3cret@h" : nil }
    let text = "proxy: environment\nroutes: [{name: r, upstream: 'http://h'}]"
    #expect(
      said(text, environment: broken) == [
        "proxy: http_proxy is no proxy that can be used, such as http://proxy.example:3128"
      ])
    #expect(said("routes: [{name: r, upstream: 'http://h'}]", environment: broken) == [])
  }

  @Test func theEnvironmentsProxiesAreShownWhereTheyAreUsed() throws {
    func notes(_ text: String) throws -> [String] {
      try Configuration(parsing: Array(text.utf8), file: "f", environment: Self.environment).notes
    }
    let shown = [
      "the environment's proxy for http:// is http://plain.example:1",
      "the environment's proxy for https:// is socks5://secure.example:2",
    ]
    #expect(try notes("proxy: environment\nroutes: [{name: r, upstream: 'http://h'}]") == shown)
    #expect(try notes("routes: [{name: r, upstream: {url: 'http://h', proxy: environment}}]") == shown)
    #expect(try notes("proxy: 'http://p:1'\nroutes: [{name: r, upstream: 'http://h'}]") == [])
  }
}
