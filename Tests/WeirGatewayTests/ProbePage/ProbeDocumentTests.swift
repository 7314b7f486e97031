import Foundation
import Testing

@testable import WeirGateway

/// docs/probe.md is the reference of the probe file.
@Suite struct ProbeDocumentTests {
  private let text: String

  init() throws {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
    text = try String(contentsOf: root.appending(path: "docs/probe.md"), encoding: .utf8)
  }

  /// The reader itself is asked which keys it knows: it names them to those who write another.
  @Test func namesEveryKey() throws {
    let asking =
      "{0: 0, targets: {0: 0}, modules: {m: {0: 0, prober: http, http: {0: 0, tls_config: {0: 0}, basic_auth: {0: 0}, "
      + "authorization: {0: 0}, fail_if_header_matches: [{0: 0}]}}}}"
    let error = #expect(throws: ConfigurationError.self) {
      try ProbeConfiguration(parsing: Array(asking.utf8), file: "probe.md")
    }
    var keys: Set<String> = []
    for problem in error?.problems ?? [] {
      guard let known = problem.message.split(separator: "known keys are ").dropFirst().first else { continue }
      keys.formUnion(known.split(separator: ", ").map(String.init))
    }
    let others: Set = [
      "tcp", "dns", "icmp", "grpc", "proxy_url", "proxy_connect_header", "proxy_from_environment", "no_proxy",
    ]
    #expect(keys.count == 54)
    for key in keys.subtracting(others).sorted() {
      let isNamed = ["`\(key)`", "targets.\(key)`", "`\(key):", "no_\(key)`"].contains { text.contains($0) }
      #expect(isNamed, "\(key)")
    }
  }

  @Test func itsExampleIsRight() throws {
    let example = try #require(text.split(separator: "```yaml\n").dropFirst().first?.split(separator: "```").first)
    let lines = example.split(separator: "\n", omittingEmptySubsequences: false).map { $0.dropFirst(3) }
    let file = Array(lines.joined(separator: "\n").utf8)
    #expect(Set(try ProbeConfiguration(parsing: file, file: "probe.md").modules.keys) == ["http_2xx", "login"])
  }
}
