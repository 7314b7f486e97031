import Foundation
import Glibc
import WeirIO

/// An nginx with one worker on 127.0.0.1.
package final class NginxServer: Sendable {
  /// A `server` block: what it says besides where it listens.
  package struct Site: Sendable {
    let name: String
    let listenOptions: String
    let config: String
    let beside: String
    let port: Int

    /// - Parameters:
    ///   - listen: What follows the address, such as `ssl http2`.
    ///   - beside: What stands beside the block, such as an `upstream`.
    ///   - port: Where it listens; nil: on a free one.
    package init(_ name: String, listen: String = "", _ config: String, beside: String = "", port: Int? = nil) {
      self.name = name
      self.port = port ?? LoopbackPort.free()
      self.beside = beside
      listenOptions = listen
      self.config = config
    }
  }

  private let ports: [String: Int]
  private let peer: Peer
  private let directory: TemporaryDirectory

  /// One site without a name, on plain HTTP.
  package convenience init(config: String) async throws {
    try await self.init(Site("", config))
  }

  package init(_ sites: Site...) async throws {
    let ports = Dictionary(uniqueKeysWithValues: sites.map { ($0.name, $0.port) })
    self.ports = ports
    directory = try TemporaryDirectory()
    let config = try directory.file("nginx.conf", Self.config(sites, ports, directory.path))
    // The workers of one that was killed hold its port for a moment longer than it lives.
    for port in ports.values {
      try await eventually("port \(port) is free") { !LoopbackPort.accepts(port) }
    }
    peer = try Peer(.nginx, ["-p", directory.path, "-c", config, "-e", "stderr"])
    for port in ports.values { try await peer.waitForPort(port) }
  }

  package func port(_ site: String = "") -> Int { ports[site] ?? 0 }

  package func url(_ path: String = "/", on site: String = "") -> String {
    "http://127.0.0.1:\(port(site))\(path)"
  }

  package func url(https site: String, host: String = "127.0.0.1", _ path: String = "/") -> String {
    "https://\(host):\(port(site))\(path)"
  }

  /// Makes a file that it serves.
  package func write(_ text: String, toFile name: String) throws {
    try directory.file(name, text)
  }

  /// Makes a file of zeros that it serves.
  package func makeFile(_ name: String, size: Int) throws {
    guard truncate(try directory.file(name, ""), size) == 0 else { throw Errno.current }
  }

  /// Where a file is that it serves or stores.
  package func path(ofFile name: String) -> String { "\(directory.path)/\(name)" }
  /// Makes a file of random bytes that it serves; returns its path.
  package func makeFile(_ name: String, randomBytes size: Int) throws -> String {
    let path = try directory.file("\(name).new", "")
    let source = try FileHandle(forReadingFrom: URL(filePath: "/dev/urandom"))
    let target = try FileHandle(forWritingTo: URL(filePath: path))
    var rest = size
    while rest > 0, let piece = try source.read(upToCount: min(rest, 1 << 20)) {
      try target.write(contentsOf: piece)
      rest -= piece.count
    }
    try target.close()
    // At once, as one replaces a file that is being served.
    let final = "\(directory.path)/\(name)"
    guard rename(path, final) == 0 else { throw Errno.current }
    return final
  }

  /// Kills the process that serves connections; its master starts another one.
  package func killWorker() throws {
    guard let worker = peer.children.first else { throw PeerError("nginx has no worker:\n\(peer.output)") }
    kill(worker, SIGKILL)
  }

  package var log: String { peer.output }

  private static func config(_ sites: [Site], _ ports: [String: Int], _ directory: String) -> String {
    let servers = sites.map { site in
      """
        \(site.beside)
        server {
          listen 127.0.0.1:\(ports[site.name] ?? 0) \(site.listenOptions);
          \(site.config)
        }
      """
    }
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(directory)/\($0);" }
    return """
      daemon off;
      \(geteuid() == 0 ? "user root;" : "")
      pid \(directory)/nginx.pid;
      worker_processes 1;
      events { worker_connections 2048; }
      http {
        access_log off;
        keepalive_requests 1000000;
        root \(directory);
        \(temporary.joined(separator: "\n  "))
      \(servers.joined(separator: "\n"))
      }

      """
  }
}
