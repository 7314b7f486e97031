import Foundation
import Testing
import WeirTestSupport

/// Behind a haproxy that announces clients by PROXY headers, the gateway takes them for its peers.
@Suite(.needs(.shippedWeir, .haproxy, .nginx, .curl, .openssl)) struct BehindHaproxyTests {
  private struct Setting: Sendable {
    /// The words by which haproxy's servers send a header, and perhaps speak TLS behind it.
    let words: String
    let isSecure: Bool
    let front = LoopbackPort.free()
  }

  private static let clients = (2...17).map { "127.0.0.\($0)" }

  /// Haproxy keeps connections, and must not send one client's requests on another one's.
  @Test func theClientOfHaproxyIsTheClient() async throws {
    let settings = ["send-proxy", "send-proxy-v2"].flatMap { words in
      [Setting(words: words, isSecure: false), Setting(words: "\(words) ssl verify none", isSecure: true)]
    }
    let answer = "location / { return 200 \"$http_x_forwarded_for $http_x_forwarded_proto $server_port\"; }"
    let nginx = try await NginxServer(.init("a", answer), .init("b", answer))
    let directory = try TemporaryDirectory()
    let certificates = try await TestCertificates()
    let ports = [false: LoopbackPort.free(), true: LoopbackPort.free()]
    let weir = try await Self.weir(ports, nginx, certificates.server, directory)
    let haproxy = try Peer(
      .haproxy, ["-db", "-f", try directory.file("haproxy.cfg", Self.haproxyConfig(settings, ports))])
    for setting in settings { try await haproxy.waitForPort(setting.front) }

    var servers: [String: Set<Substring>] = [:]
    for setting in settings {
      for client in Self.clients {
        let url = "http://127.0.0.1:\(setting.front)/"
        // Two requests on one connection.
        let text = try await Tool.curl.run(
          ["-sS", "--max-time", "60", "--interface", client, "-w", "\n", url, url])
        for line in text.split(separator: "\n") {
          let words = line.split(separator: " ")
          #expect(words.dropLast() == [client[...], setting.isSecure ? "https" : "http"], "\(setting.words): \(line)")
          servers[client, default: []].insert(words.last ?? "")
        }
        #expect(text.split(separator: "\n").count == 2, "\(setting.words): \(text)")
      }
    }
    // The hash is of the client, whatever header told of it, and not of its port or of haproxy.
    #expect(servers.values.allSatisfy { $0.count == 1 }, "\(servers)")
    #expect(Set(servers.values.joined()).count == 2, "\(servers)")
    withExtendedLifetime(weir) {}
  }

  private static func weir(
    _ ports: [Bool: Int], _ nginx: NginxServer, _ pair: TestCertificates.Pair, _ directory: TemporaryDirectory
  ) async throws -> Peer {
    let config = try directory.file(
      "weir.yml",
      """
      listeners:
        - {name: plain, address: "127.0.0.1:\(ports[false] ?? 0)", proxyProtocol: true}
        - name: secure
          address: "127.0.0.1:\(ports[true] ?? 0)"
          proxyProtocol: true
          tls: {certificates: [{certificate: \(pair.certificate), key: \(pair.key)}]}
      upstreams:
        - name: pair
          endpoints: ["127.0.0.1:\(nginx.port("a"))", "127.0.0.1:\(nginx.port("b"))"]
          balance: {policy: consistentHash, key: client}
      routes: [{name: all, upstream: pair}]

      """)
    let weir = try Peer(.shippedWeir, ["serve", "--config.file=\(config)", "--web.listen-address=127.0.0.1:0"])
    for port in ports.values { try await weir.waitForPort(port) }
    return weir
  }

  private static func haproxyConfig(_ settings: [Setting], _ ports: [Bool: Int]) -> String {
    let proxies = settings.map { setting in
      """
      listen front\(setting.front)
        bind 127.0.0.1:\(setting.front)
        server weir 127.0.0.1:\(ports[setting.isSecure] ?? 0) \(setting.words)
      """
    }
    return """
      defaults
        mode http
        timeout connect 5s
        timeout client 30s
        timeout server 30s
        http-reuse always
      \(proxies.joined(separator: "\n"))

      """
  }
}
