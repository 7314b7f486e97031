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
      request: request, body: body.map { .data(Data($0.utf8)) } ?? .none, sessionHeaders: sessionHeaders,
      credentials: credentials, cookies: cookies,
      redactingSecrets: redacting
    ).text
  }

  static func cookie(_ name: String, _ value: String) throws -> HTTPCookie {
    try #require(HTTPCookie(properties: [.name: name, .value: value, .domain: "h", .path: "/"]))
  }

  @Test func plain() throws {
    #expect(
      try Self.text("http://h/p?q=1")
        == "$ curl -v \\\n\t-X 'GET' \\\n\t-H 'User-Agent:' \\\n\t'http://h/p?q=1'")
  }

  @Test func everythingInOrder() throws {
    let text = try Self.text(
      "http://h/", method: .post, headers: ["Accept": "b", "Z": #"a"b"#, "Empty": " "], body: "k=v",
      sessionHeaders: ["ACCEPT": "a", "S": "1", "Content-Length": "9"],
      credentials: [URLCredential(user: "u", password: "p", persistence: .forSession)],
      cookies: [try Self.cookie("n", "v"), try Self.cookie("n2", "v2")], redacting: false)
    #expect(
      text.components(separatedBy: " \\\n\t") == [
        "$ curl -v", "-X 'POST'", "--anyauth -u 'u:p'", "-b 'n=v; n2=v2'", "-H 'Accept: b'", "-H 'S: 1'",
        "-H 'Empty;'", #"-H 'Z: a"b'"#, "-H 'User-Agent:'", "-H 'Content-Type:'", "-H 'Expect:'", "-d 'k=v'",
        "'http://h/'",
      ])
  }

  /// As when weir sends the request: its own Cookie and Authorization are not added to.
  @Test func ownSecretsGoFirst() throws {
    let text = try Self.text(
      "http://h/", headers: ["Cookie": "x=y", "Authorization": "Bearer t"],
      credentials: [URLCredential(user: "u", password: "p", persistence: .none)], cookies: [try Self.cookie("n", "v")],
      redacting: false)
    #expect(text.contains("-H 'Authorization: Bearer t' \\\n\t-H 'Cookie: x=y' \\\n"))
    #expect(!text.contains("-u") && !text.contains("-b"))
  }

  @Test func secretsAreRedacted() throws {
    let text = try Self.text(
      "http://user:pass@h/", headers: ["Authorization": "Bearer token", "proxy-authorization": "Basic x"],
      cookies: [try Self.cookie("n", "crumb")])
    #expect(
      text.components(separatedBy: " \\\n\t") == [
        "$ curl -v", "-X 'GET'", "-b 'n=<redacted>'", "-H 'Authorization: <redacted>'",
        "-H 'proxy-authorization: <redacted>'", "-H 'User-Agent:'", "'http://<redacted>@h/'",
      ])
    let others = try Self.text(
      "http://h/", headers: ["Cookie": "crumb"],
      credentials: [URLCredential(user: "u", password: "secret", persistence: .none)])
    #expect(others.contains("-u 'u:<redacted>'") && others.contains("-H 'Cookie: <redacted>'"))
    #expect(!others.contains("crumb") && !others.contains("secret"))
  }

  @Test(
    arguments: [
      ("http://h/a/../b", "--path-as-is"), ("http://h/.", "--path-as-is"), ("http://h/%2E%2e/b", "--path-as-is"),
      ("http://h/a.b/..c?/../", nil), ("http://[::1]/", "--globoff"),
      ("http://h/?q=1#/../", nil),
    ] as [(String, String?)])
  func optionsForTheURL(url: String, option: String?) throws {
    let text = try Self.text(url)
    for known in ["--path-as-is", "--globoff"] { #expect(text.contains(known) == (known == option), "\(text)") }
  }

  private static func text(of body: CURLBody) throws -> String {
    CURLCommand(request: try URLRequest(url: "http://h/", method: .post), body: body).text
  }

  @Test("A body that is no argument is written by printf, or named by a remark")
  func bodiesElsewhere() throws {
    let binary = try Self.text(of: .data(Data([0x2D, 0, 0xFF, 0x0D, 0x0A, 0x27, 0x25, 0x5C, 0x2D, 0x41])))
    #expect(binary.hasPrefix(#"$ printf '\055\000\377\r\n'\''%%\\-A'"# + " \\\n\t| curl -v \\\n\t-X 'POST'"))
    #expect(binary.contains(" \\\n\t--data-binary @- \\\n\t'http://h/'"))
    let long = try Self.text(of: .data(Data(repeating: 0x61, count: 100_001)))
    #expect(long.hasPrefix("$ printf 'aaa") && long.contains("--data-binary @-"))
    let file = try Self.text(of: .file(URL(filePath: "/a b'c"), isTemporary: false))
    #expect(file.hasSuffix(#"--data-binary '@/a b'\''c'"# + " \\\n\t'http://h/'"))
    let temporary = try Self.text(of: .file(URL(filePath: "/f"), isTemporary: true))
    #expect(temporary.hasSuffix("'http://h/'\n# The file is removed when the request has ended."))
    let stream = try Self.text(of: .input(length: nil, what: "a stream"))
    #expect(
      stream.contains("-T - \\\n") && stream.hasSuffix("\n# The body is a stream: give it to curl's standard input."))
    #expect(try Self.text(of: .input(length: 5, what: "a stream")).contains("--data-binary @- \\\n"))
    #expect(try Self.text(of: .unmade).hasSuffix("'http://h/'\n# The body is made when the request is sent."))
  }

  @Test("HEAD has no body, whatever the request says")
  func head() throws {
    let text = try Self.text("http://h/", method: .head, body: "x")
    #expect(text.contains("--head \\\n") && !text.contains("-X") && !text.contains("-d"))
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
    let command = CURLCommand(
      request: request, body: .data(Data(text.utf8)),
      credentials: [URLCredential(user: text, password: text, persistence: .none)],
      cookies: [try Self.cookie("n", "v'$(echo no)")], redactingSecrets: false
    ).text
    #expect(command.hasPrefix("$ curl"))
    let script = "curl() { printf '<%s>\\n' \"$@\"; }\n\(command.dropFirst(2))"
    let words = try await Tool.shell.run(["-c", script])
    let expected = [
      "-v", "-X", "P`'$!&|*#~", "--anyauth", "-u", "\(text):\(text)", "-b", "n=v'$(echo no)", "-H",
      "X: \(text.replacing("\n", with: " "))", "-H", "User-Agent:", "-H", "Content-Type:", "-H",
      "Expect:",
      text.utf8.first == UInt8(ascii: "@") ? "--data-raw" : "-d", text,
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
