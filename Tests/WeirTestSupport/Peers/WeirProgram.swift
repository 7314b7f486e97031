/// The gateway's own program, `weir serve`, on free ports of 127.0.0.1.
package final class WeirProgram: Sendable {
  package let port: Int
  package let metricsPort: Int
  package let peer: Peer

  /// - Parameters:
  ///   - arguments: Flags besides those of the two addresses.
  ///   - port: Where it forwards; nil: on a free port.
  package init(
    _ arguments: [String] = [], program: Tool = .weir, port: Int? = nil, metricsPort: Int? = nil
  ) async throws {
    let port = port ?? LoopbackPort.free(), metricsPort = metricsPort ?? LoopbackPort.free()
    self.port = port
    self.metricsPort = metricsPort
    peer = try Peer(
      program,
      [
        "serve", "--gateway.listen-address=127.0.0.1:\(port)", "--web.listen-address=127.0.0.1:\(metricsPort)",
      ] + arguments)
    try await peer.waitForPort(port)
    try await peer.waitForPort(metricsPort)
  }

  package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  package func metricsURL(_ path: String) -> String { "http://127.0.0.1:\(metricsPort)\(path)" }
}
