/// dnsmasq on a port of 127.0.0.1. It answers from these lines alone, without the machine's files and servers.
package final class DnsmasqServer: Sendable {
  /// `127.0.0.1:port`.
  package let server: String
  private let peer: Peer

  /// - Parameter lines: Its arguments, such as `--host-record=a.test,10.1.0.1,60`. It answers for the domain `test` only.
  package init(_ lines: [String]) async throws {
    let port = LoopbackPort.free()
    server = "127.0.0.1:\(port)"
    peer = try Peer(
      .dnsmasq,
      [
        "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--pid-file=", "--user=",
        "--listen-address=127.0.0.1", "--bind-interfaces", "--port=\(port)", "--local=/test/",
      ] + lines)
    try await peer.waitForPort(port)
  }

  /// Has it read its files of hosts again.
  package func reload() { peer.send(signal: 1) }

  package func stop() { peer.stop() }
}
