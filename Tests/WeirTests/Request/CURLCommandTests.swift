import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir

@Suite struct CURLCommandTests {
  static func text(
    _ url: String, method: HTTPMethod = .get, headers: HTTPHeaders? = nil, body: String? = nil,
    sessionHeaders: HTTPHeaders = [], credentials: [URLCredential] = [], cookies: [HTTPCookie] = [],
    redacting: Bool = true
  ) throws -> String {
    var request = try URLRequest(url: url, method: method, headers: headers)
    request.httpBody = body.map { Data($0.utf8) }
    return CURLCommand(
      request: request, sessionHeaders: sessionHeaders, credentials: credentials, cookies: cookies,
      redactingSecrets: redacting
    ).text
  }

  static func cookie(_ name: String, _ value: String) throws -> HTTPCookie {
    try #require(HTTPCookie(properties: [.name: name, .value: value, .domain: "h", .path: "/"]))
  }

  @Test func plain() throws {
    #expect(try Self.text("http://h/p?q=1") == "$ curl -v \\\n\t-X 'GET' \\\n\t'http://h/p?q=1'")
  }

  @Test func everythingInOrder() throws {
    let text = try Self.text(
      "http://h/", method: .post, headers: ["Accept": "b", "Cookie": "x=y", "Z": #"a"b"#], body: "k=v",
      sessionHeaders: ["ACCEPT": "a", "S": "1"],
      credentials: [URLCredential(user: "u", password: "p", persistence: .forSession)],
      cookies: [try Self.cookie("n", "v"), try Self.cookie("n2", "v2")], redacting: false)
    #expect(
      text.components(separatedBy: " \\\n\t") == [
        "$ curl -v", "-X 'POST'", "-u 'u:p'", "-b 'n=v;n2=v2'", "-H 'Accept: b'", "-H 'S: 1'", #"-H 'Z: a"b'"#,
        "-d 'k=v'", "'http://h/'",
      ])
  }

  @Test func secretsAreRedacted() throws {
    let text = try Self.text(
      "http://user:pass@h/", headers: ["Authorization": "Bearer token", "proxy-authorization": "Basic x"],
      credentials: [URLCredential(user: "u", password: "secret", persistence: .none)],
      cookies: [try Self.cookie("n", "crumb")])
    #expect(
      text.components(separatedBy: " \\\n\t") == [
        "$ curl -v", "-X 'GET'", "-u 'u:<redacted>'", "-b 'n=<redacted>'", "-H 'Authorization: <redacted>'",
        "-H 'proxy-authorization: <redacted>'", "'http://<redacted>@h/'",
      ])
  }

  @Test(arguments: [
    (#"{"a":1}"#, #"{"a":1}"#), (#"\""#, #"\""#), (#"a\b"#, #"a\b"#), ("", ""), ("it's", #"it'\''s"#),
  ])
  func bodies(body: String, quoted: String) throws {
    let text = try Self.text("http://h/", method: .post, body: body)
    #expect(text.contains("-d '\(quoted)' \\\n"))
  }

  @Test(
    "A shell that is given the command expands nothing, and curl reads no file",
    .enabled(if: Tool.shell.isInstalled, "\(Tool.shell.isMissing)"),
    arguments: [
      "$(echo no)", "`echo no`", "$HOME", "!!", "a b", "a\nb", "'", "'+'", #"\"#, #"\'"#, #"""#, "*", "~", "&", ";",
      "|", "# no", "@/etc/passwd", "ü",
      "'\u{301} echo no", "@\u{301}/etc/passwd",
    ])
  func inAShell(_ text: String) async throws {
    var request = try URLRequest(url: "http://h/p?q=1'$(echo%20no)", method: HTTPMethod(rawValue: "P`'$!&|*#~"))
    request.headers = ["X": text.replacing("\n", with: " ")]
    request.httpBody = Data(text.utf8)
    let command = CURLCommand(
      request: request, credentials: [URLCredential(user: text, password: text, persistence: .none)],
      cookies: [try Self.cookie("n", "v'$(echo no)")], redactingSecrets: false
    ).text
    #expect(command.hasPrefix("$ curl"))
    let script = "curl() { printf '<%s>\\n' \"$@\"; }\n\(command.dropFirst(2))"
    let words = try await Tool.shell.run(["-c", script])
    let expected = [
      "-v", "-X", "P`'$!&|*#~", "-u", "\(text):\(text)", "-b", "n=v'$(echo no)", "-H",
      "X: \(text.replacing("\n", with: " "))", text.utf8.first == UInt8(ascii: "@") ? "--data-raw" : "-d", text,
      request.url?.absoluteString ?? "-",
    ]
    #expect(words == expected.map { "<\($0)>\n" }.joined())
  }

  @Test func withoutURLOrHost() throws {
    #expect(try Self.text("/path") == "$ curl command could not be created")
    var request = try URLRequest(url: "http://h", method: .get)
    request.url = nil
    #expect(CURLCommand(request: request).text == CURLCommand.failure)
  }
}
