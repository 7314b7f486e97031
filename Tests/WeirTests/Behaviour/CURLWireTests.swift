import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// A request's description, run by a shell and the real curl: it sends the octets that the session has sent. The order of
/// the fields may differ, so that they are compared as sets.
@Suite(
  "§6.5 cURL on the wire", .enabled(if: Tool.curl.isInstalled, "\(Tool.curl.isMissing)"),
  .enabled(if: Tool.shell.isInstalled, "\(Tool.shell.isMissing)"), .timeLimit(.minutes(5)))
struct CURLWireTests {
  /// The octets of a request.
  private struct Message: Equatable, CustomStringConvertible {
    let line: String
    let fields: Set<String>
    var body: [UInt8]

    init(_ octets: [UInt8]) throws {
      let end = try #require(octets.firstRange(of: Array("\r\n\r\n".utf8)))
      let lines = String(decoding: octets[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
      line = lines[0]
      fields = Set(lines.dropFirst())
      #expect(fields.count == lines.count - 1)
      body = Array(octets[end.upperBound...])
      guard fields.contains("Transfer-Encoding: chunked") else { return }
      // The two may cut a body into other chunks.
      var coded = body[...]
      body = []
      while let end = coded.firstRange(of: [13, 10]),
        let size = Int(String(decoding: coded[..<end.lowerBound], as: UTF8.self), radix: 16), size > 0
      {
        body += coded[end.upperBound...].prefix(size)
        coded = coded[end.upperBound...].dropFirst(size + 2)
      }
    }

    var description: String {
      "\(line) \(fields.sorted()) \(body.count): \(String(decoding: body.prefix(200), as: UTF8.self))"
    }
  }

  private let server: ScriptedServer

  init() throws {
    // Each request has a connection of its own.
    server = try ScriptedServer(
      Script(
        .route { head in
          let lines = head.components(separatedBy: "\r\n")
          let length = lines.lazy.filter { $0.hasPrefix("Content-Length: ") }.compactMap { Int($0.dropFirst(16)) }.first
          let body: Script.Step? =
            lines.contains("Transfer-Encoding: chunked") ? .chunkedBody : length.map { .bytes($0) }
          return [body, .send(okResponse("", "Connection: close\r\n"))].compactMap(\.self)
        }))
  }

  /// Compares what a request has sent with what its description sends.
  ///
  /// - Parameter input: What the description's remark asks for.
  private func compare(
    _ fields: [String: String]? = nil, storage: CookieStorage? = nil, input: String? = nil,
    _ make: (Session) throws -> DataRequest
  ) async throws {
    var configuration = SessionConfiguration.ephemeral
    if let fields { configuration.headers = HTTPHeaders(fields) }
    configuration.httpCookieStorage = storage
    let session = Session(configuration: configuration)
    let request = try make(session)
    let answer = await request.plainResponse()
    #expect(answer.response?.statusCode == 200, "\(answer)")
    let text = request.cURLDescription(redactingSecrets: false)
    let command = text.dropFirst(2).replacing("curl -v", with: "curl -sSq --max-time 20")
    let directory = try TemporaryDirectory()
    let script = try directory.file("script", command + "\n")
    let words = input.map { "printf %s '\($0)' | /bin/sh \(script)" } ?? "/bin/sh \(script)"
    try await Tool.shell.run(["-c", "PATH=$(dirname '\(try Tool.curl.path)'):/usr/bin:/bin; " + words])
    let sent = try Message(server.received(on: 0)), described = try Message(server.received(on: 1))
    #expect(sent == described, "\(text)")
  }

  @Test(arguments: [
    "/", "/a/../b/./c?d=/../", "/%2e%2E/x", "/?f=[1-3]{a,b}", "/?q=it's&$(echo)=%60", "/p#fragment", "",
  ])
  func targets(target: String) async throws {
    try await compare { $0.request(server.url.dropLast() + target) }
  }

  /// With the fields that curl has of its own, and without.
  @Test(
    arguments: [
      nil, [:],
      ["Accept": "text/plain", "User-Agent": "x", "X-Empty": "", "X-Blank": "  ", "X-Quote": "it's \"$HOME\""],
      [
        "Host": "h.example:81", "Content-Length": "7", "Transfer-Encoding": "chunked", "Connection": "close", "TE": "a",
      ],
      ["Cookie": "own=1; two=2"], ["Authorization": "Bearer secret", "Expect": "", "Content-Type": ""],
    ] as [[String: String]?])
  func fields(fields: [String: String]?) async throws {
    try await compare(fields) { $0.request(server.url) }
  }

  @Test(arguments: [HTTPMethod.get, .head, .delete, .options, .post, .put, .patch, HTTPMethod(rawValue: "PURGE")])
  func methods(method: HTTPMethod) async throws {
    try await compare { $0.request(server.url, method: method) }
  }

  static let samples: [Data] = [
    Data(), Data("plain".utf8), Data("@/etc/passwd".utf8), Data("a\nb\n".utf8), Data("a\r\nb".utf8),
    Data("it's 100%".utf8),
    Data("ü".utf8), Data([0]), Data(0...255), Data("-n".utf8) + Data([0]), Data("%s\\n\0\\".utf8),
    Data(repeating: 0x61, count: 200_000), Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0) }),
  ]

  @Test(arguments: samples.indices)
  func bodies(index: Int) async throws {
    var request = try URLRequest(url: server.url, method: .post)
    request.httpBody = Self.samples[index]
    let made = request
    try await compare { $0.request(made) }
  }

  @Test(arguments: samples.indices)
  func uploadsOfData(index: Int) async throws {
    try await compare { $0.upload(Self.samples[index], to: server.url, method: .put) }
  }

  @Test(arguments: [0, 1, 3, 4, 8, 12])
  func uploadsOfFiles(index: Int) async throws {
    let directory = try TemporaryDirectory()
    let file = URL(filePath: "\(directory.path)/it's a $file")
    try Self.samples[index].write(to: file)
    try await compare {
      $0.upload(file, to: server.url, headers: index == 1 ? ["Content-Type": "text/plain"] : nil)
    }
  }

  @Test func uploadsOfForms() async throws {
    try await compare {
      $0.upload(
        multipartFormData: { form in
          form.append(Data("value".utf8), withName: "name")
          form.append(Data([0, 0xFF]), withName: "file", fileName: "f", mimeType: "a/b")
        }, to: server.url)
    }
  }

  @Test(arguments: [nil, "6"])
  func uploadsOfStreams(length: String?) async throws {
    let stream = InputStream(data: Data("stream".utf8))
    let headers: HTTPHeaders? = length.map { ["Content-Length": $0] }
    try await compare(input: "stream") { $0.upload(stream, to: server.url, headers: headers) }
  }

  @Test func parametersOfAForm() async throws {
    try await compare { $0.request(server.url, method: .post, parameters: ["a": ["x y", "ü"], "b": ["&"]]) }
  }

  /// The cookies of a storage, and those of it that a request does not have.
  @Test(arguments: [true, false])
  func storedCookies(areHandled: Bool) async throws {
    let storage = CookieStorage()
    for (name, value, path) in [("a", "1", "/"), ("b", "it's", "/deep"), ("c", "x y", "/")] {
      let cookie = HTTPCookie(properties: [.name: name, .value: value, .domain: "127.0.0.1", .path: path])
      storage.setCookie(try #require(cookie))
    }
    var request = try URLRequest(url: server.url + "deep/x", method: .get)
    request.httpShouldHandleCookies = areHandled
    let made = request
    try await compare(storage: storage) { $0.request(made) }
    #expect(server.receivedText(on: 1).contains("Cookie: ") == areHandled)
  }

  /// Both wait for the challenge.
  @Test func credentials() async throws {
    try await compare { $0.request(server.url, method: .post).authenticate(username: "me", password: "s3cret") }
    #expect(!server.receivedText(on: 1).contains("Authorization"))
  }
}
