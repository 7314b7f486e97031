import Testing
import WeirCurl
import WeirTransport

@testable import WeirGateway

/// Plans, endpoints and credentials of a configuration with proxies.
@Suite struct ProxyPlanTests {
  private let context = PlanContext(
    pseudonym: "weir", coders: Gate(limit: 1),
    credentials: CredentialRegistry(monitor: nil, log: Logger(level: .error)))

  private static let environment = ProxyEnvironment { ["http_proxy": "http://p:1", "no_proxy": "internal"][$0] }

  private func configuration(_ text: String) throws -> Configuration {
    try Configuration(parsing: Array(text.utf8), file: "f", environment: Self.environment)
  }

  /// The ways of all plans of a configuration.
  private func ways(_ text: String) throws -> [ProxyOptions?] {
    let configuration = try configuration(text)
    context.credentials.follow(configuration)
    return ForwardingPlan(configuration, context).forwarding.map(\.spec.rules?.proxy)
  }

  private static func file(password: String) -> String {
    """
    credentials: [{name: c, basic: {user: shop, password: \(password)}}, {name: d, bearer: b}]
    upstreams:
      - {name: u, endpoints: ["h:1"], proxy: {url: "https://p:2", credential: d}}
      - {name: v, endpoints: ["h:1"], proxy: off}
    proxy: {url: "http://p:1", credential: c}
    routes:
      - {name: a, upstream: "http://h"}
      - {name: b, match: {path: /b}, upstream: u}
      - {name: c, match: {path: /c}, upstream: v}
      - {name: d, match: {path: /d}, upstream: {url: "http://h", proxy: environment}}
    """
  }

  @Test func transfersHaveTheirWay() throws {
    let ways = try ways(Self.file(password: "s3cret"))
    try #require(ways.count == 4)
    guard case .proxy(let first)? = ways[0], case .proxy(let second)? = ways[1], case ProxyOptions.none? = ways[2]
    else {
      Issue.record("\(ways)")
      return
    }
    #expect(first.name == "http://p:1")
    #expect(first.credential?.authorization.map { String(decoding: $0, as: UTF8.self) } == "Basic c2hvcDpzM2NyZXQ=")
    #expect(first.credential?.userAndPassword == TransferCredential(user: "shop", password: "s3cret"))
    #expect(second.name == "https://p:2")
    #expect(second.credential?.authorization.map { String(decoding: $0, as: UTF8.self) } == "Bearer b")
    #expect(second.credential?.userAndPassword == nil)
    #expect(ways[3] == Self.environment.proxy(to: "h", port: 80, isSecure: false).map(ProxyOptions.proxy))
    #expect(Set(context.credentials.all.map(\.name)) == ["c", "d"])
  }

  @Test func aRouteWithoutOneHasNoRules() throws {
    #expect(
      ForwardingPlan(try configuration("routes: [{name: a, upstream: 'http://h'}]"), context).forwarding
        .allSatisfy { $0.spec.rules == nil && !$0.hasSecrets })
  }

  /// Connections to a proxy outlive a reload, unless its credential is another one.
  @Test func aReloadKeepsTheWay() throws {
    let first = try ways(Self.file(password: "s3cret")), second = try ways(Self.file(password: "s3cret"))
    #expect(first == second)
    let third = try ways(Self.file(password: "other"))
    #expect(first[0] != third[0])
    #expect(first[1] == third[1])
  }

  @Test func aProxysCredentialIsTakenOutOfItsAnswer() throws {
    _ = try ways(Self.file(password: "s3cret00"))
    let credential = try #require(context.credentials["c"])
    #expect(credential.redacted("no s3cret00, c2hvcDpzM2NyZXQwMA== here") == "no <redacted>, <redacted>== here")
  }

  // MARK: Endpoints

  @Test(arguments: [
    ("off", ["a:1", "a.internal:1"]), ("socks5://p:1", ["a:1", "a.internal:1"]), ("http://p:1", []),
    ("socks5h://p:1", []), ("environment", ["a.internal:1"]),
  ])
  func namesThatTheProxyLooksUpAreEndpoints(proxy: String, lookedUp: [String]) throws {
    let text = """
      upstreams: [{name: u, endpoints: ["a:1", "a.internal:1", "127.1:1"], proxy: "\(proxy)"}]
      routes: [{name: r, upstream: u}]
      """
    let upstream = try #require(try configuration(text).upstreams.first)
    #expect(upstream.places.map(\.name) == lookedUp)
    let written = ["a:1", "a.internal:1", "127.0.0.1:1"].filter { !lookedUp.contains($0) }
    #expect(upstream.written.map(\.name) == written)
    #expect(upstream.written.map(\.url) == written.map { "http://\($0)/" })
  }

  @Test func anotherProxyIsAnotherWayToTalk() throws {
    func upstream(_ proxy: String) throws -> NamedUpstream? {
      try configuration(
        "upstreams: [{name: u, endpoints: ['a:1'], proxy: \(proxy)}]\nroutes: [{name: r, upstream: u}]"
      ).upstreams.first
    }
    let (first, second) = (try #require(try upstream("'http://p:1'")), try #require(try upstream("'http://p:2'")))
    #expect(first.talks(like: first))
    #expect(!first.talks(like: second))
  }
}
