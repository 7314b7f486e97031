import Foundation

/// An Alertmanager on 127.0.0.1 that follows a configuration file.
package final class AlertmanagerServer: Sendable {
  package let port: Int
  private let peer: Peer
  private let directory: TemporaryDirectory

  package init(config: String) async throws {
    port = LoopbackPort.free()
    directory = try TemporaryDirectory()
    peer = try Peer(
      .alertmanager,
      [
        "--config.file=\(config)", "--web.listen-address=127.0.0.1:\(port)", "--cluster.listen-address=",
        "--storage.path=\(try directory.directory("data"))", "--log.level=error",
      ])
    try await peer.waitForPort(port)
  }

  /// An alert that fires and that nothing inhibits.
  package struct Alert: Decodable, Sendable {
    package let labels: [String: String]
    package let annotations: [String: String]
    package let receivers: [Receiver]

    package struct Receiver: Decodable, Sendable {
      package let name: String
    }
  }

  /// Lets alerts fire that have nothing but these labels.
  package func fire(_ labels: [[String: String]]) async throws {
    let alerts = labels.map { ["labels": $0] }
    let body = String(decoding: try JSONEncoder().encode(alerts), as: UTF8.self)
    try await Tool.curl.run([
      "-sSf", "--max-time", "30", "-H", "Content-Type: application/json", "--data-binary", body,
      "http://127.0.0.1:\(port)/api/v2/alerts",
    ])
  }

  package func alerts() async throws -> [Alert] {
    try await get("alerts")
  }

  /// Alerts of which one notification tells.
  package struct Group: Decodable, Sendable {
    /// Those by which the alerts are grouped.
    package let labels: [String: String]
    package let alerts: [Alert]
  }

  /// The groups that have an alert that nothing inhibits.
  package func groups() async throws -> [Group] {
    try await get("alerts/groups")
  }

  private func get<Answer: Decodable>(_ path: String) async throws -> Answer {
    let url = "http://127.0.0.1:\(port)/api/v2/\(path)?active=true&inhibited=false&silenced=false"
    let text = try await Tool.curl.run(["-sSf", "--max-time", "30", url])
    return try JSONDecoder().decode(Answer.self, from: Data(text.utf8))
  }
}
