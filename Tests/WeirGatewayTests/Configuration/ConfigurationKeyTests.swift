import Foundation
import Testing
import Weir
import WeirTestSupport

@testable import WeirGateway

/// The entries of keys, against the reader and the schema that are made of them.
@Suite struct ConfigurationKeyTests {
  /// Problems of values that another key or the machine rules out.
  private static let elsewhere = [
    "HTTP/2 needs libcurl", "must be less than the route's timeout, ", "no credential is named \"one\"",
  ]

  @Test func everyKeyTakesWhatItsEntrySays() {
    for sample in KeySamples.all {
      let problems = problems(of: sample.document)
      let own = problems.filter {
        Self.name(of: $0.path).hasPrefix(sample.key) && !Self.elsewhere.contains(where: $0.message.hasPrefix)
      }
      #expect(own.isEmpty == sample.fits, "\(sample): \(problems.map { "\($0.path): \($0.message)" })")
    }
    #expect(KeySamples.all.count > 2500)
  }

  /// Without the places in lists, and the names that users choose.
  private static func name(of path: ConfigurationPath) -> String {
    path.steps.compactMap { if case .key(let key) = $0, key != "a" { key } else { nil } }.joined(separator: ".")
  }

  private func problems(of document: String) -> [ConfigurationProblem] {
    do {
      _ = try Configuration(parsing: Array(document.utf8), file: "f")
      return []
    } catch {
      return error.problems
    }
  }

  // MARK: The schema

  private static let python = Tool("jsonschema", at: ["\(PackageRoot.path)/.build/test-venv/bin/python"])
  private static let package = Tool("jsonschema", at: ["\(PackageRoot.path)/.build/test-venv/bin/jsonschema"])

  /// Prints the documents about which the schema says another thing than the list.
  private static let validator = """
    import json, sys
    from jsonschema import Draft202012Validator
    from ruamel.yaml import YAML
    schema, cases = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:])
    Draft202012Validator.check_schema(schema)
    validator, yaml = Draft202012Validator(schema), YAML(typ="safe", pure=True)
    for text, fits in cases:
      errors = [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(yaml.load(text))]
      if bool(errors) == fits: print("refuses" if fits else "takes", text, errors[:1])
    """

  /// The examples of documents and deployments, and the files of ``KeySamples``.
  @Test(.enabled(if: package.isInstalled)) func theSchemaSaysTheSame() async throws {
    let root = URL(filePath: PackageRoot.path)
    var cases: [(String, Bool)] = []
    for name in GatewayDocumentTests.documents {
      let text = try String(contentsOf: root.appending(path: "docs/\(name)"), encoding: .utf8)
      cases += text.split(separator: "```yaml\n").dropFirst().compactMap { $0.split(separator: "```").first }
        .map { (String($0), true) }
    }
    for name in ["debian", "image", "kubernetes/base"] {
      cases.append((try String(contentsOf: root.appending(path: "deploy/\(name)/weir.yml"), encoding: .utf8), true))
    }
    #expect(cases.count > 10)
    for sample in KeySamples.all {
      // A file that names another is right or not by that.
      if sample.fits, !problems(of: sample.document).isEmpty { continue }
      cases.append((sample.document, sample.fits))
    }
    let directory = try TemporaryDirectory()
    let list = try JSONSerialization.data(withJSONObject: cases.map { [$0.0, $0.1] as [Any] })
    let files = [
      try directory.file("schema", ConfigurationSchema.text),
      try directory.file("cases", String(decoding: list, as: UTF8.self)),
    ]
    let complaints = try await Self.python.run(["-c", Self.validator] + files)
    #expect(complaints == "")
  }

  // MARK: Entries

  /// All that is said of a key follows its entry: here that of `overload.wait` and copies of it that differ in range,
  /// default or kind.
  @Test func whatIsSaidFollowsTheEntry() throws {
    let later = OverloadSettings(wait: 2)
    let copies: [(mapping: ConfigurationMapping<OverloadSettings>, row: String, schema: String, tooMuch: String)] = [
      (
        ConfigurationMapping(OverloadSettings()) { Key("wait", .seconds(0.01...60), \.wait, "how long") },
        "| `wait` | duration | `1.5s` | 10ms to 60s; how long |", "\"default\" : \"1.5s\"", "61s"
      ),
      (
        ConfigurationMapping(OverloadSettings()) { Key("wait", .seconds(1...3600), \.wait, "how long") },
        "| `wait` | duration | `1.5s` | 1s to 1h; how long |", "\"maximum\" : 3600", "2h"
      ),
      (
        ConfigurationMapping(later) { Key("wait", .seconds(0.01...60), \.wait, "how long") },
        "| `wait` | duration | `2s` | 10ms to 60s; how long |", "\"default\" : \"2s\"", "61s"
      ),
      (
        ConfigurationMapping(OverloadSettings()) { Key("wait", .number(0...9), \.wait, "how long") },
        "| `wait` | number | `1.5` | 0 to 9; how long |", "\"type\" : \"number\"", "1s"
      ),
    ]
    for copy in copies {
      #expect(copy.mapping.outline.rows().map(\.line) == [copy.row])
      #expect(ManualPage.entry(of: copy.mapping.outline.rows()[0]).contains("how long"))
      #expect(ConfigurationSchema.text(of: copy.mapping.outline).contains(copy.schema))
      let form = copy.mapping.form()
      #expect(throws: ConfigurationError.self) {
        try ConfigurationFile.parse(Array("wait: \(copy.tooMuch)".utf8), file: "f") { form.read($0) }
      }
    }
  }

  // MARK: Patterns

  /// Numbers about a bound, written in several ways.
  @Test(arguments: ["0", "1", "60", "0.1", "3600", "0.5", "1.05", "0.001", "19.09", "0.016666666667"])
  func patternsCompareNumbers(bound: String) throws {
    let value = try #require(Double(bound))
    let (least, most) = (
      try Regex("^(?:\(ConfigurationPattern.atLeast(bound)))$"),
      try Regex("^(?:\(ConfigurationPattern.atMost(bound)))$")
    )
    var texts = [bound, "0\(bound)", "7", "10", "59", "61", "100000", "0.09", "0.99999", "00.5"]
    texts +=
      bound.contains(".") ? ["\(bound)0", "\(bound)1", String(bound.dropLast())] : ["\(bound).0", "\(bound).01"]
    for text in texts where text.last != "." {
      let number = try #require(Double(text))
      #expect((text.firstMatch(of: least) != nil) == (number >= value), "\(text) >= \(bound)")
      #expect((text.firstMatch(of: most) != nil) == (number <= value), "\(text) <= \(bound)")
    }
  }
}
