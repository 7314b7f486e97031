import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// Endpoints that are looked up, or named by a file, as clients see them.
@Suite(.slow, .timeLimit(.minutes(5)), .serialized) struct DiscoveryTests {
  private func rig(_ upstream: String) async throws -> GatewayRig {
    let text = "upstreams:\n  - {name: u, \(upstream)}\nroutes: [{name: r, upstream: u}]\n"
    let rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"))
    await rig.gateway.prepareUpstreams()
    return rig
  }

  /// Servers of one port at 127.0.0.2 and so on, which answer with the last numbers of their addresses.
  private func servers(_ count: UInt8) throws -> [ScriptedServer] {
    let first = try ScriptedServer(host: 2, Script(.forever([.head, .send(okResponse("2"))])))
    return try [first]
      + (3..<(2 + count)).map { host in
        try ScriptedServer(host: host, port: first.port, Script(.forever([.head, .send(okResponse("\(host)"))])))
      }
  }

  /// Sends requests until one is answered by `text`, or for so many seconds. Returns the seconds, and the answers that
  /// are none of the servers'.
  private func seconds(until text: String, within limit: Double = 10, _ client: RawClient) -> (Double, [String]) {
    let began = MonotonicTime.now
    var bad: [String] = []
    while true {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = client.response()
      if response?.status != 200 { bad.append(response?.text ?? "nothing") }
      let seconds = MonotonicTime.now.seconds(since: began)
      if response?.text == text || seconds > limit || response == nil { return (seconds, bad) }
      letPass(0.001)
    }
  }

  // MARK: Names

  /// The bytes that the test's machine would not be asked for: dnsmasq alone knows the name.
  @Test func aNameChangesItsAddresses() async throws {
    let servers = try servers(4)
    let directory = try TemporaryDirectory()
    let hosts = try directory.file("hosts", "127.0.0.2 pay.test\n")
    let dnsmasq = try await DnsmasqServer(["--addn-hosts=\(hosts)", "--local-ttl=1"])
    let port = servers[0].port
    let rig = try await rig(
      "endpoints: [\"pay.test:\(port)\"], slowStart: off, resolve: {servers: [\"\(dnsmasq.server)\"], maximum: 1s}")
    let client = try rig.client()
    for round in 0..<6 {
      let host = 2 + round % 4
      _ = try directory.file("hosts", "127.0.0.\(host) pay.test\n")
      dnsmasq.reload()
      let (seconds, bad) = seconds(until: "\(host)", client)
      #expect(seconds < 10)
      #expect(bad.isEmpty)
      // libcurl's idle connections close by their age.
      if round > 0, isOwnEngine {
        let before = servers[(round - 1) % 4]
        #expect(eventually { before.closedByClientCount == before.connectionCount })
      }
    }
    let head = servers[0].receivedText().split(separator: "\r\n").dropFirst().first
    #expect(head == "Host: pay.test:\(port)")
    // Without the server the last addresses stay.
    dnsmasq.stop()
    let failures = "weir_upstream_discoveries_total{upstream=\"u\",result=\"failed\"}"
    var statuses: Set<Int?> = []
    #expect(
      eventually {
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        statuses.insert(client.response()?.status)
        return (rig.sample(failures) ?? 0) >= 2
      })
    #expect(statuses == [200])
    #expect(rig.sample("weir_upstream_endpoints{upstream=\"u\",state=\"available\"}") == 1)
  }

  @Test func servicesHaveWeights() async throws {
    let servers = try servers(3)
    let port = servers[0].port
    let dnsmasq = try await DnsmasqServer([
      "--host-record=a.test,127.0.0.2,60", "--host-record=b.test,127.0.0.3,60", "--host-record=c.test,127.0.0.4,60",
      "--srv-host=_http._tcp.test,a.test,\(port),10,1", "--srv-host=_http._tcp.test,b.test,\(port),10,3",
      "--srv-host=_http._tcp.test,c.test,\(port),20,1",
    ])
    let rig = try await rig(
      "srv: _http._tcp.test, slowStart: off, balance: roundRobin, resolve: {servers: [\"\(dnsmasq.server)\"]}")
    let client = try rig.client()
    var counts: [String: Int] = [:]
    for _ in 0..<400 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      counts[client.response()?.text ?? "", default: 0] += 1
    }
    #expect(counts == ["2": 100, "3": 300])
    let head = servers[1].receivedText().split(separator: "\r\n").dropFirst().first
    #expect(head == "Host: b.test:\(port)")
  }

  @Test func withoutAnyEndpointARequestWaitsAndIsRefused() async throws {
    let silent = LoopbackPort.free()
    let servers = "resolve: {servers: [\"127.0.0.1:\(silent)\"], timeout: 200ms}"
    let rig = try await rig("endpoints: [\"pay.test:80\"], connectTimeout: 300ms, \(servers)")
    let client = try rig.client()
    let began = MonotonicTime.now
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = client.response()
    #expect(response?.status == 503)
    #expect(response?.text == "the upstream has no endpoint\n")
    #expect(response?.values("Retry-After") == ["1"])
    #expect(MonotonicTime.now.seconds(since: began) >= 0.3)
    #expect(eventually { rig.count("no_endpoint") == 1 })
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 1)
  }

  // MARK: Reloads

  /// The upstreams `n` of a name, `s` of a service and `f` of a file, each with a route.
  private func configuration(_ name: String, _ service: String, _ file: String, _ keys: String) throws -> Configuration
  {
    let places = ["n": "endpoints: [\"\(name)\"]", "s": "srv: \(service)", "f": "file: \(file)"]
    let upstreams = places.map { "  - {name: \($0), \($1), \(keys)}\n" }.joined()
    let routes = places.keys.map { "  - {name: \($0), match: {pathPrefix: /\($0)}, upstream: \($0)}\n" }.joined()
    return try Configuration(parsing: Array("upstreams:\n\(upstreams)routes:\n\(routes)".utf8), file: "f")
  }

  @Test func aReloadKeepsTheEndpointsOfPlacesThatFail() async throws {
    let servers = try servers(2)
    let port = servers[0].port
    let directory = try TemporaryDirectory()
    let file = try directory.file("f.json", "[{\"targets\": [\"127.0.0.2:\(port)\", \"127.0.0.3:\(port)\"]}]")
    let dnsmasq = try await DnsmasqServer([
      "--host-record=pay.test,127.0.0.2,60", "--host-record=pay.test,127.0.0.3,60",
      "--srv-host=_http._tcp.test,pay.test,\(port),10,1",
    ])
    let resolve = "slowStart: off, resolve: {servers: [\"\(dnsmasq.server)\"], timeout: 200ms}"
    let places = ("pay.test:\(port)", "_http._tcp.test", file)
    let rig = try GatewayRig(configuration(places.0, places.1, places.2, resolve))
    await rig.gateway.prepareUpstreams()
    let client = try rig.client()
    func answers() -> [Int] {
      ["n", "s", "f"].map { path in
        client.send("GET /\(path) HTTP/1.1\r\nHost: h\r\n\r\n")
        return client.response()?.status ?? 0
      }
    }
    #expect(answers() == [200, 200, 200])
    dnsmasq.stop()
    try FileManager.default.removeItem(atPath: file)
    for keys in ["host: a.test", "host: b.test, basePath: /base", "host: c.test, resolve: {timeout: 100ms}"] {
      let keys = keys.contains("resolve") ? keys : "\(keys), \(resolve)"
      try await rig.gateway.reload(configuration(places.0, places.1, places.2, keys))
      #expect(answers() == [200, 200, 200])
      for name in ["n", "s", "f"] {
        #expect(rig.sample("weir_upstream_endpoints{upstream=\"\(name)\",state=\"available\"}") == 2)
      }
    }
    let heads = servers.flatMap { server in (0..<server.connectionCount).map { server.receivedText(on: $0) } }
    #expect(heads.contains { $0.contains("GET /base/n HTTP/1.1\r\nHost: b.test\r\n") })
    let failures = "weir_upstream_discoveries_total{upstream=\"n\",result=\"failed\"}"
    #expect(eventually { (rig.sample(failures) ?? 0) >= 1 })
    // Other places have no answers, and requests by the old plan keep their slots meanwhile.
    let limit = "weir_concurrency_limit{server_address=\"n\",server_port=\"\(port)\"}"
    #expect(rig.sample(limit) == 1024)
    try await rig.gateway.reload(configuration("other.test:\(port)", "_other._tcp.test", file, "host: d.test"))
    #expect(rig.sample("weir_upstream_endpoints{upstream=\"n\",state=\"available\"}") == 0)
    #expect(rig.sample(limit) == 1024)
  }

  // MARK: Files

  @Test func aFileIsFollowedHoweverItIsReplaced() async throws {
    let servers = try servers(4)
    let port = servers[0].port
    func group(_ host: Int) -> String {
      "[{\"targets\": [\"127.0.0.\(host):\(port)\"], \"labels\": {\"weir_weight\": \"2\", \"env\": \"x\"}}]"
    }
    let directory = try TemporaryDirectory()
    let real = try directory.file("a.json", group(2))
    let link = "\(directory.path)/pay.json"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: real)
    let rig = try await rig("file: \(link), slowStart: off")
    let client = try rig.client()
    let failures = "weir_upstream_discoveries_total{upstream=\"u\",result=\"failed\"}"
    #expect(seconds(until: "2", client).1.isEmpty)
    for (step, host) in [3, 4, 5, 2].enumerated() {
      // A file that is not whole, or names no endpoint, changes nothing.
      for broken in ["[{\"targets\": [\"127.0.0", "[]", "", "[{\"targets\": [\"pay.test:80\"]}]"].prefix(step) {
        _ = try directory.file("a.json", broken)
      }
      switch step {
      case 0: _ = try directory.file("a.json", group(host))
      case 1:
        let next = try directory.file("next.json", group(host))
        #expect(rename(next, real) == 0)
      case 2:
        let other = try directory.file("b.json", "- targets: ['127.0.0.\(host):\(port)']\n")
        let newLink = "\(directory.path)/new"
        try FileManager.default.createSymbolicLink(atPath: newLink, withDestinationPath: other)
        #expect(rename(newLink, link) == 0)
      default:
        let failed = rig.sample(failures) ?? 0
        _ = try directory.file("b.json", "[")
        #expect(eventually { (rig.sample(failures) ?? 0) > failed })
        #expect(seconds(until: "5", client).1.isEmpty)
        _ = try directory.file("b.json", group(host))
      }
      let (seconds, bad) = seconds(until: "\(host)", client)
      #expect(seconds < 10)
      #expect(bad.isEmpty)
    }
    #expect((rig.sample(failures) ?? 0) >= 1)
  }

  @Test func policiesLeaveEndpointsOut() async throws {
    let servers = try servers(2)
    let port = servers[0].port
    let policy = "destinationPolicy: {deny: [127.0.0.2/32], otherwise: any}"
    let some = try await rig("endpoints: [\"127.0.0.2:\(port)\", \"127.0.0.3:\(port)\"], \(policy)")
    for _ in 0..<10 {
      let client = try some.client()
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.text == "3")
    }
    let none = try await rig("endpoints: [\"127.0.0.2:\(port)\"], \(policy)")
    let client = try none.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 502)
    #expect(servers[0].connectionCount == 0)
  }
}
