import Foundation
import Testing
import Weir
import WeirCurl
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// What is shipped speaks of what the code does, and of nothing that is to come.
@Suite struct PromiseTests {
  /// In lower case. Whoever builds one of these takes its word out.
  private static let absent = ["http/3"]
  /// The beginning of a line that says what there is not.
  private static let denial = "Not offered"

  private static let texts = [
    "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md", "docs", "deploy", "dashboards",
  ].flatMap(files)

  private static func files(under path: String) -> [String] {
    let names = try? FileManager.default.subpathsOfDirectory(atPath: "\(PackageRoot.path)/\(path)")
    // A file has no subpaths, which is no error.
    guard let names, !names.isEmpty else { return [path] }
    // Neither folders nor pictures.
    return names.map { "\(path)/\($0)" }.filter { $0.contains(".") && !$0.hasSuffix(".png") }.sorted()
  }

  private func expectNoPromise(_ text: String, in source: String) {
    for word in Self.absent {
      let line = text.split(separator: "\n").first {
        $0.lowercased().contains(word) && !$0.hasPrefix(Self.denial)
      }
      #expect(line == nil, "\(source) speaks of what isn't there: \(line ?? "")")
    }
  }

  @Test func theTextsAreFound() {
    #expect(Self.texts.count > 15, "\(Self.texts)")
    #expect(Self.texts.contains("docs/runbooks.md") && Self.texts.contains("README.md"), "\(Self.texts)")
  }

  @Test(arguments: texts) func aTextSpeaksOfWhatIsThere(file: String) throws {
    expectNoPromise(try PackageRoot.text(of: file), in: file)
  }

  @Test(.needs(.weir, .curl)) func theProgramSpeaksOfWhatIsThere() async throws {
    for command in ["serve", "check", "probe"] {
      expectNoPromise(try await Tool.weir.run([command, "--help"]), in: "weir \(command) --help")
    }
    let weir = try await WeirProgram()
    #expect(try await CurlAnswer.get(weir.url("/flaky")).status == 200)
    for path in ["/", "/metrics"] {
      let page = try await CurlAnswer.get(weir.metricsURL(path))
      #expect(page.status == 200)
      expectNoPromise(page.body, in: path)
    }
  }

  // MARK: Label values

  /// A page on which one destination, one adapter and one interceptor are known, and nothing has happened.
  private static func page() throws -> String {
    let registry = Registry()
    let monitor = try MetricsMonitor(registry: registry)
    let destination = Destination(scheme: "http", host: "127.0.0.1", port: 1)
    monitor.prepare(destination)
    monitor.prepare(adapter: "signer", for: destination)
    monitor.prepare(interceptor: "tokens")
    monitor.prepare(credential: "tokens", for: destination)
    return registry.text()
  }

  /// The values that stand after a label's name, as `label="value"`, and joined by `|`, in lines with a metric's name.
  private static func values(of label: String, for metric: String, in text: String) -> Set<String> {
    var values: Set<String> = []
    for line in text.replacing("\\\"", with: "\"").split(separator: "\n") where line.contains(metric) {
      for comparison in ["=", "!=", "=~", "!~"] {
        for rest in line.split(separator: "\(label)\(comparison)\"").dropFirst() {
          values.formUnion(rest.prefix { $0 != "\"" }.split(separator: "|").map(String.init))
        }
      }
    }
    return values
  }

  /// All values of a label that the code bounds: those that are on the page from the start, and those that come with what
  /// they stand for.
  private static func known(_ label: String, of metric: String) throws -> Set<String> {
    let known = values(of: label, for: metric, in: try page())
    switch metric {
    case "weir_retries_denied_total": return known.union(RetryDenial.Reason.allCases.map(\.rawValue))
    case "weir_phase_duration_seconds": return known.union(Phase.allCases.map(\.name))
    case "weir_retry_delay_seconds": return known.union(RetryDelaySource.allCases.map(\.rawValue))
    default: return known
    }
  }

  private static let bounded = [
    ("weir_retries_denied_total", "reason"), ("weir_requests_total", "outcome"),
    ("weir_adaptation_failures_total", "reason"), ("weir_phase_duration_seconds", "phase"),
    ("weir_retry_delay_seconds", "source"), ("weir_auth_refreshes_total", "outcome"),
  ]

  @Test(arguments: bounded) func aValueThatIsAskedForExists(metric: String, label: String) throws {
    let known = try Self.known(label, of: metric)
    #expect(!known.isEmpty)
    for file in Self.texts {
      let asked = Self.values(of: label, for: metric, in: try PackageRoot.text(of: file))
      #expect(asked.subtracting(known).isEmpty, "\(file) asks \(metric) for values that it never has")
    }
  }

  /// A paragraph of docs/metrics.md: what stands in it between backquotes.
  private static func listed(_ beginning: String) throws -> Set<String> {
    let paragraphs = try PackageRoot.text(of: "docs/metrics.md").split(separator: "\n\n")
    let paragraph = try #require(paragraphs.first { $0.hasPrefix(beginning) }).dropFirst(beginning.count)
    let pieces = paragraph.split(separator: "`", omittingEmptySubsequences: false)
    return Set(pieces.indices.filter { !$0.isMultiple(of: 2) }.map { String(pieces[$0]) })
  }

  @Test(arguments: [
    ("**Outcomes**:", "weir_requests_total", "outcome"),
    ("**Reasons** of `weir_retries_denied_total`:", "weir_retries_denied_total", "reason"),
    ("**Outcomes** of `weir_auth_refreshes_total`:", "weir_auth_refreshes_total", "outcome"),
    ("**Reasons** of `weir_adaptation_failures_total`:", "weir_adaptation_failures_total", "reason"),
    ("**Phases**:", "weir_phase_duration_seconds", "phase"),
  ])
  func theDocumentListsAllValues(paragraph: String, metric: String, label: String) throws {
    // The paragraph on phases repeats some of them.
    #expect(try Self.listed(paragraph) == Self.known(label, of: metric))
  }

  @Test func allDenialsAreThoseThatHappen() {
    let happening: Set<RetryDenial.Reason> = [
      .budget, .breaker, .overload, .pace, .limit, .deadline, .method, .body, .policy,
    ]
    #expect(Set(RetryDenial.Reason.allCases) == happening)
  }
}
