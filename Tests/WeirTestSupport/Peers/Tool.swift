import Foundation
import Glibc

/// A program that tests need and that may not be installed.
package struct Tool: Sendable {
  package let name: String
  private let candidates: [String]

  package init(_ name: String, at candidates: [String]) {
    self.name = name
    self.candidates = candidates
  }

  /// Found in the usual places and in PATH.
  package init(named name: String) {
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    self.init(name, at: (path + ["/usr/sbin", "/usr/bin", "/bin"]).map { "\($0)/\(name)" })
  }

  package static let curl = Tool(named: "curl")
  package static let nginx = Tool(named: "nginx")
  package static let openssl = Tool(named: "openssl")
  package static let prometheus = Tool(named: "prometheus")
  package static let alertmanager = Tool(named: "prometheus-alertmanager")
  package static let pushgateway = Tool(named: "prometheus-pushgateway")
  package static let blackboxExporter = Tool(named: "prometheus-blackbox-exporter")
  package static let shell = Tool(named: "bash")
  package static let promtool = Tool(named: "promtool")
  package static let gunicorn = Tool("httpbin", at: ["\(PackageRoot.path)/.build/test-venv/bin/gunicorn"])
  /// Debian's Python, whose packages `script/setup --test` installs.
  package static let python = Tool("python3", at: ["/usr/bin/python3"])
  /// HTTP/2 for that Python: the directory of the package.
  package static let pythonHTTP2 = Tool("python3-h2", at: ["/usr/lib/python3/dist-packages/h2"])
  /// The gateway, built into the directory of the tests.
  package static let weir = Tool("weir", at: [PackageRoot.products + "/weir"])

  /// The same as it is shipped, where script/test has built it; else the one above.
  package static let shippedWeir = Tool(
    "weir", at: [ProcessInfo.processInfo.environment["WEIR_PROGRAM"] ?? PackageRoot.products + "/weir"])
  package static let haproxy = Tool(named: "haproxy")
  package static let wrk = Tool(named: "wrk")
  package static let envoy = Tool("envoy", at: ["\(PackageRoot.path)/.build/test-venv/bin/envoy"])
  package static let dnsmasq = Tool(named: "dnsmasq")
  package static let amtool = Tool(named: "amtool")
  package static let victoriaMetrics = Tool(named: "victoria-metrics")

  package var isInstalled: Bool { (try? path) != nil }

  /// For a test that is skipped without it.
  package var isMissing: String { "\(name) is not installed; script/setup --test installs it" }

  /// - Throws: ``PeerError`` when it isn't installed.
  package var path: String {
    get throws {
      guard let path = candidates.first(where: { access($0, X_OK) == 0 }) else { throw PeerError(isMissing) }
      return path
    }
  }

  /// Runs it to its end and returns what it wrote.
  /// - Throws: ``PeerError`` when its exit status is not 0.
  @discardableResult
  package func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
    let result = try await runToEnd(arguments, environment: environment)
    guard result.status == .exited(0) else {
      throw PeerError("\(name) \(arguments.joined(separator: " ")): \(result.status)\n\(result.output)")
    }
    return result.output
  }

  /// Runs it to its end, whatever that is.
  package func runToEnd(
    _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> (status: Peer.ExitStatus, output: String) {
    let peer = try Peer(self, arguments, environment: environment)
    let status = try await peer.waitForExit()
    return (status, peer.output)
  }
}

extension Tool {
  /// Runs it to its end with a text to read.
  package func runToEnd(
    _ arguments: [String], input: String
  ) async throws -> (status: Peer.ExitStatus, output: String) {
    let directory = try TemporaryDirectory()
    let file = try directory.file("input", input)
    return try await Tool.shell.runToEnd(["-c", "exec \"$@\" <\"$0\"", file, path] + arguments)
  }
}

/// Where the package and what was built of it lie.
package enum PackageRoot {
  package static let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  /// The directory of the programs built together with the tests.
  static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .path

  package static func text(of file: String) throws -> String {
    try String(contentsOfFile: "\(path)/\(file)", encoding: .utf8)
  }

  /// What stands in a source file between the comments that say a document's example begins and ends there; empty
  /// without them.
  package static func example(_ document: String, of file: String) throws -> Substring {
    let mark = "// \(document)"
    let rest = try text(of: file).split(separator: "\(mark) begins\n").last ?? ""
    return rest.split(separator: "\(mark) ends").first ?? ""
  }
}
