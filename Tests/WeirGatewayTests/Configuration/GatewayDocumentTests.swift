import Foundation
import Testing

@testable import WeirGateway

/// docs/gateway.md and docs/upstreams.md are the reference of the configuration file and of the flags.
///
/// With `WEIR_RECORD=1` in the environment their tables of keys are written anew from `ConfigurationReference`.
@Suite struct GatewayDocumentTests {
  private let folder = URL(filePath: #filePath).appending(path: "../../../../docs").standardized
  private let text: String
  private let upstreams: String

  init() throws {
    text = try String(contentsOf: folder.appending(path: "gateway.md"), encoding: .utf8)
    upstreams = try String(contentsOf: folder.appending(path: "upstreams.md"), encoding: .utf8)
  }

  @Test(arguments: ["gateway.md", "upstreams.md"]) func itsTablesAreThoseOfTheReference(name: String) throws {
    var tables = ConfigurationReference.tables.filter { $0.document == name }[...]
    var lines: [Substring] = []
    var isInTable = false
    let document = name == "gateway.md" ? text : upstreams
    for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
      if isInTable, line.hasPrefix("| ") { continue }
      lines.append(line)
      isInTable = line.hasPrefix("|---") && lines.dropLast().last?.hasPrefix("| key | type |") == true
      if isInTable { lines += tables.popFirst()?.keys.map { $0.row[...] } ?? [] }
    }
    #expect(tables.isEmpty)
    if ProcessInfo.processInfo.environment["WEIR_RECORD"] == "1" {
      try lines.joined(separator: "\n").write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
    } else {
      let old = document.split(separator: "\n", omittingEmptySubsequences: false)
      for (line, new) in zip(old, lines) where line != new { #expect(line == new) }
      #expect(old.count == lines.count)
    }
  }

  @Test func namesEveryKeyOfUpstreams() {
    let asking =
      "{upstreams: [{0: 0, endpoints: [{0: 0}], resolve: {0: 0}, balance: {0: 0}, outlier: {0: 0}, check: {0: 0}}]}"
    let error = #expect(throws: ConfigurationError.self) {
      try Configuration(parsing: Array(asking.utf8), file: "upstreams.md")
    }
    var keys: Set<String> = []
    for problem in error?.problems ?? [] where problem.path.steps.first == .key("upstreams") {
      guard let known = problem.message.split(separator: "known keys are ").dropFirst().first else { continue }
      let steps = problem.path.steps.dropFirst(2).dropLast().filter { if case .key = $0 { true } else { false } }
      let mapping = ConfigurationPath(Array(steps))
      keys.formUnion(known.split(separator: ", ").map { mapping.key(String($0)).description })
    }
    #expect(keys == Set(ConfigurationReference.upstreams.map(\.name)))
  }

  @Test func namesEveryKeyOfListeners() {
    let asking =
      "listeners: [{0: 0, clients: {0: 0}, timeouts: {0: 0}, limits: {0: 0}, tls: {0: 0, certificates: [{0: 0}], forward: {0: 0}}}]\n"
      + "routes: []\n"
    let error = #expect(throws: ConfigurationError.self) {
      try Configuration(parsing: Array(asking.utf8), file: "gateway.md")
    }
    var keys: Set<String> = []
    for problem in error?.problems ?? [] where problem.path.steps.first == .key("listeners") {
      guard let known = problem.message.split(separator: "known keys are ").dropFirst().first else { continue }
      let steps = problem.path.steps.dropLast().filter { if case .key = $0 { true } else { false } }
      let mapping = ConfigurationPath(Array(steps))
      keys.formUnion(known.split(separator: ", ").map { mapping.key(String($0)).description })
    }
    #expect(keys == Set(ConfigurationReference.listeners.map(\.name)))
  }

  @Test func namesEveryKeyBesideRoutes() throws {
    let asking = "{accessLog: {0: 0}, trace: {0: 0}, requestId: {0: 0}, routes: []}"
    let error = #expect(throws: ConfigurationError.self) {
      try Configuration(parsing: Array(asking.utf8), file: "gateway.md")
    }
    var keys: [String] = []
    for problem in error?.problems ?? [] where problem.path.steps.count == 2 {
      guard let known = problem.message.split(separator: "known keys are ").dropFirst().first else { continue }
      let mapping = ConfigurationPath(Array(problem.path.steps.dropLast()))
      keys += known.split(separator: ", ").map { mapping.key(String($0)).description }
    }
    #expect(Set(keys) == Set(ConfigurationReference.file.map(\.name).filter { $0.contains(".") }))
  }

  /// The reader itself is asked which keys it knows: it names them to whoever writes another.
  @Test func namesEveryKey() throws {
    let asking =
      "{0: 0, routes: [{0: 0, match: {0: 0, headers: {a: {0: 0}}, query: {a: {0: 0}}}, headers: {0: 0}, responseHeaders: {0: 0}, retry: {0: 0, budget: {0: 0}}, circuitBreaker: {0: 0}, adaptiveConcurrency: {0: 0}, overload: {0: 0}, hedge: {0: 0}, compression: {0: 0}, upgrade: {0: 0}, rateLimits: [{0: 0}], concurrency: [{0: 0}], clients: {0: 0}, auth: {0: 0}, destinationPolicy: {0: 0}, upstream: {0: 0, tls: {0: 0}}}, {redirect: {0: 0}}, {respond: {0: 0}}]}"
    let error = #expect(throws: ConfigurationError.self) {
      try Configuration(parsing: Array(asking.utf8), file: "gateway.md")
    }
    var keys: [String] = []
    for problem in error?.problems ?? [] {
      guard let known = problem.message.split(separator: "known keys are ").dropFirst().first else { continue }
      let steps = problem.path.steps.dropFirst(2).dropLast().filter {
        if case .key(let key) = $0 { key != "a" } else { false }
      }
      let mapping = ConfigurationPath(Array(steps))
      let names = known.split(separator: ", ").map(String.init)
      keys += names.map { mapping.key($0).description }
    }
    let known = ConfigurationReference.tables.flatMap(\.sections).filter { $0.place == "in each of routes" }
    let named = Set(known.flatMap(\.keys).map(\.name))
    // `accessLog` of a route is described beside that of the file.
    #expect(Set(keys).subtracting(named) == ["accessLog", "listeners", "requestId", "routes", "trace", "upstreams"])
    // Not asked for above.
    #expect(
      named.subtracting(keys) == ["fallback.respond", "fallback.statusCodes", "fallback.upstream", "upstream.weight"])
  }

  @Test func namesEveryFlagAndOwnOutcome() {
    for flag in Flag<ServeOptions>.all { #expect(text.contains("| `\(flag.name)` |"), "\(flag.name)") }
    for flag in Flag<ProbeOptions>.all { #expect(text.contains("`\(flag.name)`"), "\(flag.name)") }
    for outcome in [
      GatewayOutcome.unrouted, .refused, .loop, .answered, .noEndpoint, .busy, .rateLimited, .tooLarge, .forbidden,
      .unauthorized,
    ] {
      #expect(text.contains("| `\(outcome.label)` |"), "\(outcome.label)")
    }
  }

  @Test func itsExamplesAreRight() throws {
    let examples = (text + upstreams).split(separator: "```yaml\n").dropFirst().compactMap {
      $0.split(separator: "```").first
    }
    let names = try examples.map { example in
      let configuration = try Configuration(parsing: Array(example.utf8), file: "gateway.md")
      #expect(configuration.warnings.isEmpty)
      return configuration.routes.map(\.name)
    }
    #expect(
      names == [
        ["payments"], ["orders", "canary", "tenants", "docs", "to-https", "closed"], ["texts"], ["downloads"], ["chat"],
        ["search"],
        ["all"], ["reports", "admin", "no-admin"], ["shop", "health"], ["traced"], ["pay"],
      ])
  }
}
