import Testing
import Weir
import WeirResolver
import WeirTestSupport

@testable import WeirGateway

/// Which targets a probe may ask, in all spellings, by redirects and by names that change.
@Suite struct ProbeTargetsTests {
  private func probe(
    _ target: String, _ targets: DestinationPolicy = .publicOnly, module: ProbeModule = ProbeModule(),
    servers: ResolverServers = .system
  ) async throws -> ProbeDesk.Result {
    let order = ProbeOrder(target: target, moduleName: "m", module: module, targets: targets, timeout: 10)
    let desk = try ProbeDesk(servers: servers)
    return await withCheckedContinuation { continuation in
      desk.run(order) { continuation.resume(returning: $0) }
    }
  }

  /// Nothing is asked, and nothing told of an address.
  @Test(
    arguments: [
      // Loopback and the metadata services of clouds
      "127.0.0.1", "127.255.255.254", "127.1", "127.0.1", "localhost", "localhost.", "LOCALHOST", "[::1]", "0.0.0.0",
      "[::]", "0", "169.254.169.254", "169.254.170.2", "[fd00:ec2::254]", "100.100.100.200", "192.0.0.192",
      // Other numbers
      "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0x7f.0x0.0x0.0x1", "2852039166",
      "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "0xA9.254.0xA9FE", "3232235777", "0xc0.0xa8.0.1",
      "192.168.257",
      // Percent signs and other digits
      "%31%32%37.0.0.1", "127%2e0%2e0%2e1", "127.0.0.1.",
      // IPv4 in IPv6
      "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[64:ff9b::127.0.0.1]",
      "[64:ff9b::a9fe:a9fe]", "[64:ff9b::10.0.0.1]", "[::ffff:0:0]", "[2002:7f00:1::]", "[2001:0:7f00:1::]",
      "[::127.0.0.1]", "[64:ff9b:1::1]",
      // Networks that are not public
      "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "198.18.0.1", "192.0.2.1", "203.0.113.9",
      "224.0.0.1", "240.0.0.1", "255.255.255.255", "[fe80::1]", "[fc00::1]", "[ff02::1]", "[2001:db8::1]", "[fec0::1]",
    ])
  func refusesWhatIsNotPublic(host: String) async throws {
    for target in ["http://\(host):9/", "https://\(host)/"] {
      let result = try await probe(target)
      #expect(!result.isSuccess)
      #expect(result.metrics.contains("\nprobe_ip_addr_hash 0\n"), "\(target)")
      #expect(!result.log.contains("Making HTTP request"), "\(target)\n\(result.log)")
    }
  }

  @Test(
    arguments: [
      "http://169.254.169.254/latest", "http://127.0.0.2:{port}/", "http://[::1]:{port}/", "http://0x7f000002:{port}/",
      "http://[::ffff:127.0.0.2]:{port}/", "//127.0.0.3:{port}/", "http://127.4:{port}/", "https://10.0.0.1/",
    ])
  func refusesRedirects(location: String) async throws {
    let seen = try ScriptedServer(host: 2, .answering(okResponse("inside")))
    let location = location.replacing("{port}", with: "\(seen.port)")
    let server = try ScriptedServer(
      .answering("HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n"))
    let result = try await probe("http://127.0.0.1:\(server.port)/", allowing("127.0.0.1"))
    #expect(!result.isSuccess)
    #expect(result.metrics.contains("\nprobe_http_status_code 0\n"))
    #expect(result.metrics.contains("\nprobe_http_redirects 1\n"))
    #expect(result.log.contains("destinationPolicy refuses"), "\(result.log)")
    #expect(seen.connectionCount == 0)
  }

  /// A redirect to a name that leads to the loopback.
  @Test func refusesRedirectsToNames() async throws {
    let server = try ScriptedServer(
      .answering("HTTP/1.1 302 Found\r\nLocation: http://localhost:{port}/\r\nContent-Length: 0\r\n\r\n"))
    let result = try await probe("http://127.0.0.1:\(server.port)/", allowing("127.0.0.1"))
    #expect(!result.isSuccess)
  }

  @Test func asksWhatIsAllowed() async throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    let result = try await probe("127.0.0.1:\(server.port)", allowing("127.0.0.0/8"))
    #expect(result.isSuccess, "\(result.log)")
    let denied = try DestinationPolicy(allow: ["127.0.0.0/8"], deny: ["127.0.0.1"], otherwise: .allowed)
    #expect(try await !probe("127.0.0.1:\(server.port)", denied).isSuccess)
    #expect(server.connectionCount == 1)
  }

  /// A name is looked up once, and the address that was judged is the one that is asked.
  @Test(.enabled(if: Tool.dnsmasq.isInstalled, "\(Tool.dnsmasq.isMissing)"))
  func namesThatChange() async throws {
    let dns = try await DnsmasqServer([
      "--host-record=open.test,127.0.0.1", "--host-record=inside.test,10.1.0.1",
      "--address=/both.test/127.0.0.1", "--address=/both.test/127.0.0.2",
    ])
    let servers = try ResolverServers(parsing: [dns.server])
    let server = try ScriptedServer(.answering(okResponse("ok")))
    // Only this name server knows the names: a second lookup would fail.
    let open = try await probe("http://open.test:\(server.port)/", allowing("127.0.0.1"), servers: servers)
    #expect(open.isSuccess, "\(open.log)")
    #expect(server.receivedText().contains("\r\nHost: open.test:\(server.port)\r\n"))
    let inside = try await probe("http://inside.test/", allowing("127.0.0.1"), servers: servers)
    #expect(!inside.isSuccess && inside.log.contains("10.1.0.1") && inside.metrics.contains("\nprobe_ip_addr_hash 0\n"))
    // Of several addresses one that may be asked is.
    let both = try await probe("http://both.test:\(server.port)/", allowing("127.0.0.1"), servers: servers)
    #expect(both.isSuccess, "\(both.log)")
    let missing = try await probe("http://missing.test/", servers: servers)
    #expect(!missing.isSuccess && missing.log.contains("there is no such name"))
  }

  private func allowing(_ network: String) throws -> DestinationPolicy {
    try DestinationPolicy(allow: [network], otherwise: .publicOnly)
  }
}
