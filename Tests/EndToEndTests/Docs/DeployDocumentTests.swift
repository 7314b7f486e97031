import Foundation
import Testing
import WeirTestSupport

/// The commands of docs/deploy.md do what the text says.
@Suite(
  .needs(
    .shippedWeir, .haproxy, .prometheus, .promtool, .alertmanager, .amtool, .victoriaMetrics, .curl, .shell))
struct DeployDocumentTests {
  /// They are run as they stand, in one shell and in a directory that has `deploy` and nothing else. Ports are the one thing
  /// that is changed: each that stands somewhere behind `127.0.0.1:` becomes a free one, there and behind `port`.
  @Test func theCommandsWork() async throws {
    let text = try PackageRoot.text(of: "docs/deploy.md")
    let commands = Self.commands(in: text)
    #expect(commands.count > 6)
    let directory = try TemporaryDirectory()
    let ports = try Self.lay(out: directory, for: text)
    #expect(ports.count > 15)
    let bin = try directory.directory("bin")
    try FileManager.default.createSymbolicLink(atPath: "\(bin)/weir", withDestinationPath: Tool.shippedWeir.path)
    // The last commands wait for the end of all that was started. If an earlier one fails, the shell's group is killed.
    let prelude = "set -euo pipefail; cd \(directory.path); PATH=\(bin):$PATH\n"
    let shell = try Peer(.shell, ["-c", prelude + Self.rewrite(commands.joined(separator: "\n"), ports)])
    let status = try await shell.waitForExit()
    #expect(status == .exited(0), "\(shell.output)\n\(Self.logs(in: directory))")
    #expect(shell.output.matches(of: /=> 3 @/).count == 2, "\(shell.output)")
    #expect(shell.output.contains("\n2\n") && !shell.output.contains("replica"), "\(shell.output)")
    #expect(shell.output.matches(of: /"__name__":"up","cluster":"main"/).count == 3, "\(shell.output)")
    #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/trial"))
  }

  private static func commands(in text: String) -> [Substring] {
    text.matches(of: /```sh\n((?:(?!```).*\n)*)```/).map(\.output.1)
  }

  /// Copies the shipped files, with free ports. Returns these by the ones that they replace.
  private static func lay(out directory: TemporaryDirectory, for document: String) throws -> [String: Int] {
    let root = "\(PackageRoot.path)/deploy"
    let names = try FileManager.default.subpathsOfDirectory(atPath: root)
    var files: [String: String] = [:]
    for name in ["haproxy/", "prometheus/", "alertmanager/"].flatMap({ folder in names.filter { $0.hasPrefix(folder) } }
    ) {
      files[name] = try? PackageRoot.text(of: "deploy/\(name)")
    }
    var ports: [String: Int] = [:]
    for text in files.values + [document] {
      for found in text.matches(of: /127\.0\.0\.1:(\d+)/) where ports[String(found.output.1)] == nil {
        ports[String(found.output.1)] = LoopbackPort.free()
      }
    }
    for (name, text) in files {
      let file = "\(directory.path)/deploy/\(name)"
      let folder = URL(fileURLWithPath: file).deletingLastPathComponent()
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try rewrite(text, ports).write(toFile: file, atomically: false, encoding: .utf8)
    }
    return ports
  }

  private static func rewrite(_ text: String, _ ports: [String: Int]) -> String {
    text.replacing(/(127\.0\.0\.1:| port )(\d+)/) { found in
      "\(found.output.1)\(ports[String(found.output.2)].map { "\($0)" } ?? String(found.output.2))"
    }
  }

  private static func logs(in directory: TemporaryDirectory) -> String {
    let trial = "\(directory.path)/trial"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: trial)) ?? []
    return names.filter { $0.hasSuffix(".log") }.sorted().map { name in
      let text = (try? String(contentsOfFile: "\(trial)/\(name)", encoding: .utf8)) ?? ""
      return "\(name):\n\(text.suffix(500))"
    }.joined(separator: "\n")
  }
}
