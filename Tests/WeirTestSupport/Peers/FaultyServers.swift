/// Servers that fail in TLS and HTTP/2, each in its own way and on its own port: Tests/Peers/faulty.py.
package final class FaultyServers: Sendable {
  package let certificates: TestCertificates
  private let peer: Peer
  private let ports: [Substring: Int]

  package init() async throws {
    certificates = try await TestCertificates()
    let peer = try Peer(.python, ["\(PackageRoot.path)/Tests/Peers/faulty.py", certificates.path])
    self.peer = peer
    ports = try await eventually("the faulty servers listen") {
      if let status = peer.exitStatus { throw PeerError("they ended (\(status)):\n\(peer.output)") }
      return Self.ports(peer.output)
    }
  }

  /// - Throws: ``PeerError`` when there is no fault of that name.
  package func url(_ fault: String) throws -> String {
    guard let port = ports[Substring(fault)] else { throw PeerError("no server fails by \"\(fault)\"") }
    return "https://127.0.0.1:\(port)/"
  }

  /// The names of all faults.
  package var faults: Set<String> { Set(ports.keys.map(String.init)) }

  /// What they have written, which is nothing unless they are wrong.
  package var log: String { peer.output.split(separator: "ready\n").dropFirst().joined() }

  /// Nil until all are listening.
  private static func ports(_ output: String) -> [Substring: Int]? {
    let lines = output.split(separator: "\n")
    guard lines.last == "ready" else { return nil }
    return Dictionary(
      uniqueKeysWithValues: lines.dropLast().map { line in
        let parts = line.split(separator: "\t")
        return (parts[0], Int(parts[1]) ?? 0)
      })
  }
}
