/// The gateway's own program, `weir serve`, on free ports of 127.0.0.1.
package final class WeirProgram: Sendable {
  package let port: Int
  package let metricsPort: Int
  package let peer: Peer

  /// - Parameter arguments: Flags besides those of the two addresses.
  package init(_ arguments: [String] = []) async throws {
    port = LoopbackPort.free()
    metricsPort = LoopbackPort.free()
    peer = try Peer(
      .weir,
      [
        "serve", "--gateway.listen-address=127.0.0.1:\(port)", "--web.listen-address=127.0.0.1:\(metricsPort)",
      ] + arguments)
    try await peer.waitForPort(port)
    try await peer.waitForPort(metricsPort)
  }

  package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  package func metricsURL(_ path: String) -> String { "http://127.0.0.1:\(metricsPort)\(path)" }
}
