import Foundation
import Testing
import WeirTestSupport

/// What the program itself says of the files it is given.
@Suite(.serialized) struct ConfigurationFileTests {
  private static let slip =
    "routes:\n  - {name: a, upstream: 'http://127.0.0.1:1', retry: {limit: 1, methods: [GTE]}}\n"

  @Test func checkWarnsOfAnUnknownMethodAndIsContent() throws {
    let file = try TemporaryFile(Self.slip)
    let weir = try WeirProcess("check", file.path)
    #expect(eventually { weir.exitStatus != nil })
    #expect(weir.exitStatus == 0)
    let place = "\(file.path):2:75: warning: routes[0].retry.methods[0]: "
    let expected =
      place + "\"GTE\" is not a registered method; did you mean \"GET\"?\n\(file.path): 1 route, 1 warning\n"
    #expect(eventually { weir.text == expected }, "\(weir.text)")
  }

  @Test func serveWarnsOfAnUnknownMethodAtTheStartAndAtReload() throws {
    let file = try TemporaryFile(Self.slip)
    let weir = try WeirProcess(
      "serve", "--config.file=\(file.path)", "--gateway.listen-address=127.0.0.1:0", "--web.listen-address=127.0.0.1:0")
    func warnings() -> Int {
      weir.text.split(separator: "\n").count {
        $0.contains("level=warn msg=configuration ") && $0.contains("\(file.path):2:75: ") && $0.contains("GTE")
      }
    }
    #expect(eventually { weir.text.contains("msg=\"serving metrics\"") })
    #expect(eventually { warnings() == 1 }, "\(weir.text)")
    weir.send(SIGHUP)
    #expect(eventually { weir.text.contains("msg=\"configuration reloaded\"") })
    #expect(eventually { warnings() == 2 }, "\(weir.text)")
  }

  @Test func checkShowsWhatItSaysOfLoadControl() throws {
    let bad = try TemporaryFile(
      """
      routes:
        - {name: a, upstream: "http://127.1:1", match: {pathPrefix: /a}}
        - {name: b, upstream: "http://127.0.0.1:1", overload: off}

      """)
    let refused = try WeirProcess("check", bad.path)
    #expect(eventually { refused.exitStatus != nil })
    #expect(refused.exitStatus == 1)
    let problem =
      "\(bad.path):3:5: routes[1].overload: must be the same as that of route \"a\", which has the same upstream\n"
    #expect(eventually { refused.text.hasPrefix(problem) }, "\(refused.text)")
  }

  @Test func serveNamesTheProblemsOfBothFiles() throws {
    let file = try TemporaryFile("routes: [{nam: a}]\n"), web = try TemporaryFile("basic_auth_users:\n")
    let weir = try WeirProcess(
      "serve", "--config.file=\(file.path)", "--web.config.file=\(web.path)", "--gateway.listen-address=127.0.0.1:0",
      "--web.listen-address=127.0.0.1:0")
    #expect(eventually { weir.exitStatus != nil })
    #expect(weir.exitStatus == 1)
    #expect(eventually { Self.names(both: file, web, weir.text) }, "\(weir.text)")
  }

  @Test func aReloadNamesTheProblemsOfBothFiles() throws {
    let file = try TemporaryFile("routes: [{name: a, upstream: 'http://127.0.0.1:1'}]\n"), web = try TemporaryFile("")
    let weir = try WeirProcess(
      "serve", "--config.file=\(file.path)", "--web.config.file=\(web.path)", "--gateway.listen-address=127.0.0.1:0",
      "--web.listen-address=127.0.0.1:0")
    #expect(eventually { weir.text.contains("msg=\"serving metrics\"") })
    try file.write("routes: [{nam: a}]\n")
    try web.write("basic_auth_users:\n")
    weir.send(SIGHUP)
    #expect(eventually { weir.text.contains("the configuration stays as it was") })
    #expect(eventually { Self.names(both: file, web, weir.text) }, "\(weir.text)")
    #expect(weir.exitStatus == nil)
  }

  private static func names(both file: TemporaryFile, _ web: TemporaryFile, _ text: String) -> Bool {
    text.contains("\(file.path):1:11: routes[0].nam: unknown key")
      && text.contains("\(file.path):1:10: routes[0].upstream")
      && text.contains("\(web.path):1:18: basic_auth_users: is empty")
  }
}

/// A file that goes with this object.
final class TemporaryFile {
  private let url = FileManager.default.temporaryDirectory.appendingPathComponent("weir-\(UUID().uuidString).yml")

  init(_ text: String) throws {
    try write(text)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  var path: String { url.path }

  func write(_ text: String) throws {
    try text.write(to: url, atomically: true, encoding: .utf8)
  }
}
