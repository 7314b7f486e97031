import Foundation

/// A Pushgateway on 127.0.0.1 that keeps nothing on disk.
package final class PushgatewayServer: Sendable {
  package let port: Int
  private let peer: Peer

  package init() async throws {
    port = LoopbackPort.free()
    peer = try Peer(
      .pushgateway, ["--web.listen-address=127.0.0.1:\(port)", "--persistence.file=", "--log.level=warn"])
    try await peer.waitForPort(port)
  }

  package var url: String { "http://127.0.0.1:\(port)" }

  /// What Prometheus would scrape.
  package func page() async throws -> String {
    try await Tool.curl.run(["-sSf", "--max-time", "30", "\(url)/metrics"])
  }

  /// The labels of each group.
  package func groups() async throws -> Set<[String: String]> {
    struct Answer: Decodable {
      let data: [Group]
    }
    struct Group: Decodable {
      let labels: [String: String]
    }
    let text = try await Tool.curl.run(["-sSf", "--max-time", "30", "\(url)/api/v1/metrics"])
    return Set(try JSONDecoder().decode(Answer.self, from: Data(text.utf8)).data.map(\.labels))
  }
}
