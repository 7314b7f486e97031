import Foundation
import Testing
import WeirTestSupport

/// The example of docs/bodies.md, run.
@Suite struct ReportClientTests {
  @Test func itSendsACompressedForm() async throws {
    let directory = try TemporaryDirectory()
    let document = try directory.file("q3.csv", "a,b\n1,2\n")
    let server = try ScriptedServer(
      Script(.request, .send("HTTP/1.1 204 No Content\r\n\r\n"), .awaitClose))
    let client = ReportClient()
    try await client.send(
      URL(fileURLWithPath: document), title: "Third quarter", to: "http://127.0.0.1:\(server.port)/")
    let received = server.received()
    let head = String(decoding: received, as: UTF8.self).components(separatedBy: "\r\n\r\n")[0]
    #expect(head.contains("Content-Type: multipart/form-data; boundary=weir.boundary."))
    #expect(head.contains("\r\nContent-Encoding: gzip"))
    let body = try #require(received.firstRange(of: Array("\r\n\r\n".utf8)).map { received[$0.upperBound...] })
    let packed = try directory.file("body.gz")
    try Data(body).write(to: URL(fileURLWithPath: packed))
    let plain = try await Tool(named: "gzip").run(["-dc", packed])
    #expect(plain.contains("name=\"title\"\r\n\r\nThird quarter\r\n--weir.boundary."))
    #expect(plain.contains("name=\"document\"; filename=\"q3.csv\"\r\nContent-Type: text/csv\r\n\r\na,b\n1,2\n\r\n--"))
  }

  @Test func theDocumentShowsIt() throws {
    let file = "docs/bodies.md"
    let example = try PackageRoot.example(file, of: "Tests/EndToEndTests/Readme/ReportClient.swift")
    #expect(!example.isEmpty)
    #expect(try PackageRoot.text(of: file).contains("```swift\n\(example)```\n"))
  }
}
