import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// The client that `ClientAddress` finds is the one that nginx's realip module finds with `real_ip_recursive`.
///
/// The lines leave out what only nginx reads, which is blanks between addresses and numbers with leading zeros, and what
/// it does not read: brackets without a port behind them, and a line of nothing but commas.
@Suite(.needs(.nginx, .curl)) struct ClientAddressTests {
  private static let proxies = ["127.0.0.1", "10.0.0.0/8", "192.168.1.0/24", "2001:db8:aaaa::/48"]

  /// Values of X-Forwarded-For, one for each of its lines.
  private static let lines: [[String]] = [
    [], ["192.0.2.1"], ["2001:db8::1"], ["203.0.113.9, 192.0.2.1"], ["203.0.113.9", "192.0.2.1"],
    ["192.0.2.1, 10.0.0.2"], ["192.0.2.1,10.0.0.2,10.0.0.3"], ["192.0.2.1", "10.0.0.2, 192.168.1.7"],
    ["192.0.2.1, 2001:db8:aaaa::5, 10.0.0.2"], ["203.0.113.9, 192.0.2.1, 10.0.0.2"], ["10.1.1.1, 192.0.2.1, 10.0.0.2"],
    ["10.0.0.2"], ["10.0.0.4, 10.0.0.3, 10.0.0.2"], ["10.0.0.4", "10.0.0.3"],
    ["192.0.2.1, 192.168.2.7"], ["192.0.2.1, 11.0.0.0"], ["192.0.2.1, 2001:db8:aaab::"],
    ["192.0.2.1:80"], ["[2001:db8::1]:80"], ["192.0.2.1, 10.0.0.2:65535"],
    ["192.0.2.1, 10.0.0.2:65536"], ["192.0.2.1, [2001:db8:aaaa::1"], ["192.0.2.1, 10.0.0.2:80:80"],
    ["::ffff:192.0.2.1"], ["192.0.2.1, ::ffff:10.0.0.2"], ["192.0.2.1, 64:ff9b::10.0.0.2"],
    ["192.0.2.1,, ,10.0.0.2,"], [", 192.0.2.1"],
    ["unknown"], ["192.0.2.1, unknown"], ["192.0.2.1, unknown, 10.0.0.2"], ["192.0.2.1, unknown, 10.0.0.3, 10.0.0.2"],
    ["192.0.2.1, abc, 10.0.0.3", "xyz", "10.0.0.2"], ["unknown, 192.0.2.1"], ["192.0.2.1, 10.2"],
    ["192.0.2.1, 167772162"], ["192.0.2.1, 10.0.0.256"], ["192.0.2.1, \"10.0.0.2\""],
  ]

  @Test func nginxFindsTheSameClient() async throws {
    let directives = Self.proxies.map { "set_real_ip_from \($0);" }.joined(separator: " ")
    let nginx = try await NginxServer(
      config: """
        \(directives) real_ip_header X-Forwarded-For; real_ip_recursive on;
        location / { return 200 $remote_addr; }
        """)
    for line in Self.lines {
      let fields = line.flatMap { ["-H", "X-Forwarded-For: \($0)"] }
      let text = try await Tool.curl.run(["-sS", "--max-time", "60", nginx.url()] + fields)
      let expected = try #require(IPAddress(text), "\(line): \(text)")
      #expect(try Self.client(line) == .ip(expected.unmapped), "\(line)")
    }
  }

  private static func client(_ values: [String]) throws -> ClientAddress {
    let peer = ClientAddress(peer: .loopback(port: 1))
    return ClientAddress(peer: peer, field: .xForwardedFor, trusting: try ClientNetworks.parse(proxies)) { body in
      for value in values { Array(value.utf8).withUnsafeBytes(body) }
    }
  }
}
