import Foundation
import WeirIO
import WeirServer
import WeirTestSupport

@testable import WeirGateway

/// A gateway whose listeners speak TLS, with certificates by one authority, and curl and openssl as its clients.
struct TLSRig {
  /// The listeners of a rig, each with keys of its own.
  enum Listener: String, CaseIterable {
    /// Certificates for several names, of two kinds of keys.
    case names
    /// The same, with names that matter.
    case strict
    /// Only TLS 1.3.
    case modern
    /// Certificates of clients are needed.
    case mutual
    /// Certificates of clients are taken.
    case optional
    case plain
  }

  let certificates: TestCertificates
  let directory: TemporaryDirectory
  let ports: [Listener: Int]
  let gateway: GatewayRig
  private let routes: String?

  /// - Parameters:
  ///   - routes: The entries of `routes`; by default one that answers with its listener and scheme.
  ///   - known: The certificates of another rig.
  init(routes: String? = nil, certificates known: TestCertificates? = nil) async throws {
    let certificates = if let known { known } else { try await Self.makeCertificates() }
    let directory = try TemporaryDirectory()
    let ports = Dictionary(uniqueKeysWithValues: Listener.allCases.map { ($0, LoopbackPort.free()) })
    (self.certificates, self.directory, self.ports, self.routes) = (certificates, directory, ports, routes)
    let text = Self.text(certificates.path, ports, routes)
    gateway = try GatewayRig(try Configuration(parsing: Array(text.utf8), file: "f"), workers: 2)
  }

  private static func makeCertificates() async throws -> TestCertificates {
    let certificates = try await TestCertificates()
    _ = try await certificates.issue("a", for: "DNS:a.example,DNS:*.wild.example,IP:127.0.0.1")
    _ = try await certificates.issue("a-rsa", for: "DNS:a.example,DNS:*.wild.example,IP:127.0.0.1", isRSA: true)
    _ = try await certificates.issue("b", for: "DNS:b.example,DNS:x.wild.example")
    _ = try await certificates.issue("c", for: "DNS:c.example", days: 9)
    _ = try await certificates.issue("stale-client", for: "DNS:me.example", days: -1)
    _ = try await certificates.issue("other-client", for: "DNS:me.example", by: certificates.otherAuthority)
    return certificates
  }

  /// The configuration's text.
  static func text(_ path: String, _ ports: [Listener: Int], _ routes: String?) -> String {
    let pairs = ["a", "a-rsa", "b"].map { "{certificate: \(path)/\($0).pem, key: \(path)/\($0).key}" }
    let list = "certificates: [\(pairs.joined(separator: ", "))]"
    let authority = "clientCA: \(path)/authority.pem"
    let tls: [Listener: String] = [
      .names: list, .strict: "\(list), strictNames: true", .modern: "\(list), minimumVersion: \"1.3\"",
      .mutual: "\(list), \(authority), forward: {subject: X-Client-Subject, certificate: Client-Cert}",
      .optional:
        "\(list), \(authority), clientAuth: optional, "
        + "forward: {subject: X-Client-Subject, certificate: Client-Cert}",
    ]
    let listeners = Listener.allCases.map { listener in
      let rest = tls[listener].map { ", tls: {\($0)}" } ?? ""
      return "  - {name: \(listener), address: \"127.0.0.1:\(ports[listener] ?? 0)\"\(rest)}\n"
    }
    let standard = """
        - name: r
          respond: {status: 200, body: "here\\n"}
          responseHeaders: {set: {X-Where: "{listener} {scheme}"}}
      """
    return "listeners:\n\(listeners.joined())routes:\n\(routes ?? standard)\n"
  }

  /// Reloads the configuration, as `change` makes it of the first one.
  func reload(_ change: (String) -> String) async throws {
    let text = change(Self.text(certificates.path, ports, routes))
    try await gateway.gateway.reload(try Configuration(parsing: Array(text.utf8), file: "f"))
  }

  func port(_ listener: Listener) -> Int { ports[listener] ?? 0 }

  /// What openssl's client says of a handshake that names `host`.
  func handshake(_ listener: Listener, host: String?, _ arguments: [String] = []) async throws -> String {
    let name = host.map { ["-servername", $0] } ?? ["-noservername"]
    let path = certificates.authority.certificate
    return try await Tool.openssl.runToEnd(
      ["s_client", "-connect", "127.0.0.1:\(port(listener))", "-CAfile", path] + name + arguments
    ).output
  }

  /// What curl prints of a request, and the status by which it ended.
  func curl(_ listener: Listener, host: String = "a.example", _ arguments: [String] = []) async throws -> String {
    let scheme = listener == .plain ? "http" : "https"
    let (status, output) = try await Tool.curl.runToEnd(
      [
        "-sS", "--max-time", "20", "--noproxy", "*", "--cacert", certificates.authority.certificate, "--resolve",
        "\(host):\(port(listener)):127.0.0.1", "-w", "%{http_code} %header{x-where}\n",
      ] + arguments + ["\(scheme)://\(host):\(port(listener))/"])
    return status == .exited(0) ? output : "\(status) \(output)"
  }

  /// The options for a client's certificate.
  func client(_ name: String) -> [String] {
    ["--cert", "\(certificates.path)/\(name).pem", "--key", "\(certificates.path)/\(name).key"]
  }
}
