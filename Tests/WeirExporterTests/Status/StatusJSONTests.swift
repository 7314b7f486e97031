import Foundation
import Testing
import WeirTestSupport

@testable import WeirExporter

@Suite struct StatusJSONTests {
  /// Python with jsonschema.
  private static let python = Tool("jsonschema", at: ["\(PackageRoot.path)/.build/test-venv/bin/python"])
  private static let package = Tool("jsonschema", at: ["\(PackageRoot.path)/.build/test-venv/bin/jsonschema"])

  /// Prints where each document departs from the schema.
  private static let validator = """
    import json, sys
    from jsonschema import Draft202012Validator
    schema = json.load(open(sys.argv[1]))
    Draft202012Validator.check_schema(schema)
    for name in sys.argv[2:]:
      for error in Draft202012Validator(schema).iter_errors(json.load(open(name, encoding="utf-8"))):
        print(error.json_path, error.message[:200])
    """

  private func text(_ report: StatusReport) -> String { String(decoding: StatusJSON.bytes(report), as: UTF8.self) }

  private func object(_ report: StatusReport) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(StatusJSON.bytes(report))) as? [String: Any])
  }

  @Test(.enabled(if: package.isInstalled)) func reportsAreAsTheSchemaSays() async throws {
    let directory = try TemporaryDirectory()
    let files = try [
      directory.file("empty", text(StatusSamples.empty)), directory.file("calm", text(StatusSamples.calm)),
      directory.file("troubled", text(StatusSamples.troubled)), directory.file("huge", text(StatusSamples.huge("\"<"))),
    ]
    let schema = "\(PackageRoot.path)/docs/status.schema.json"
    #expect(try await Self.python.run(["-c", Self.validator, schema] + files) == "")
  }

  @Test func anEmptyReport() {
    #expect(
      text(StatusSamples.empty) == """
        {"version":"1.2.3","started":"2026-11-12T03:12:03.250Z","now":"2026-11-12T03:12:07.250Z","config":null,\
        "problems":[],"listeners":[],"routes":[],"upstreams":[],"credentials":[],"failures":[],\
        "slowest":[]}
        """)
  }

  @Test func credentials() {
    var report = StatusSamples.empty
    report.credentials = [
      StatusReport.Credential(name: "maps", state: "good", expiresIn: nil, failure: nil, waiting: 0),
      StatusReport.Credential(name: "<b>", state: "failing", expiresIn: 41.5, failure: "\"no\"", waiting: 3),
    ]
    #expect(
      text(report).contains(
        """
        "credentials":[{"name":"maps","state":"good","expires_in":null,"failure":null,"waiting":0},\
        {"name":"\\u003cb>","state":"failing","expires_in":41.5,"failure":"\\"no\\"","waiting":3}]
        """))
  }

  @Test func aFailure() {
    var report = StatusSamples.empty
    var request = RecentRequest(time: 0.5)
    request.seconds = 0.0123456
    report.failures = [StatusSamples.failure(1), request]
    #expect(
      text(report).contains(
        """
        "failures":[{"time":"2026-11-12T03:12:06.550Z","route":"checkout","upstream":"payments",\
        "endpoint":"10.0.0.7:8443","method":"POST","path":"/v1/charges/ch_3426126/capture","status":503,\
        "outcome":"http_error","error":null,"seconds":0.49,"attempts":2,\
        "trace_id":"4bf92f3577b34da6a3ce929d0e0e4101"},{"time":"1970-01-01T00:00:00.500Z","route":null,\
        "upstream":null,"endpoint":null,"method":"","path":"","status":null,"outcome":"","error":null,\
        "seconds":0.012346,"attempts":0,"trace_id":null}]
        """))
  }

  @Test(arguments: [
    "</script><script>alert(1)</script>", "quote \" backslash \\ slash /", "\u{0}\u{1}\t\r\n\u{1F}\u{7F}\u{80}",
    "\u{2028}\u{2029}\u{2027}\u{202A}", "\u{FFFD}é日本🙂\u{202E}", "\u{E2}\u{2028}", "€", "",
  ])
  func textComesBackAsItWas(hostile: String) throws {
    var report = StatusSamples.empty
    report.routes = [StatusReport.Route(name: hostile, upstream: "\(hostile)!", traffic: .init())]
    report.problems = [StatusProblem(.log, .warning, hostile, hostile)]
    let text = text(report)
    #expect(!text.contains("<") && !text.contains("\u{2028}") && !text.contains("\u{2029}"))
    #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
    let routes = try #require(try object(report)["routes"] as? [[String: Any]])
    #expect(routes.first?["name"] as? String == hostile)
    #expect(routes.first?["upstream"] as? String == "\(hostile)!")
    let problems = try #require(try object(report)["problems"] as? [[String: String]])
    #expect(problems.first?["text"] == hostile)
  }

  @Test(arguments: [
    (0.0, "0"), (1, "1"), (-1.5, "-1.5"), (0.25, "0.25"), (0.000001, "0.000001"), (0.0000001, "0"), (-0.0000001, "0"),
    (1234.000056, "1234.000056"), (999_999_999_999, "999999999999"), (0.1 + 0.2, "0.3"), (59.9999999, "60"),
    (1e12, "null"), (.infinity, "null"), (-.infinity, "null"), (.nan, "null"),
  ])
  func numbers(value: Double, text: String) {
    var json = JSONWriter(capacity: 16)
    json.value(value)
    #expect(String(decoding: json.bytes, as: UTF8.self) == text)
  }

  @Test(arguments: [(0, "0"), (10, "10"), (-205, "-205"), (Int.max, "\(Int.max)"), (.min, "\(Int.min)")])
  func wholeNumbers(value: Int, text: String) {
    var json = JSONWriter(capacity: 16)
    json.value(value)
    #expect(String(decoding: json.bytes, as: UTF8.self) == text)
  }
}
