import Foundation
import Synchronization
import Testing
import WeirTestSupport

/// The example of docs/bodies.md, run.
@Suite struct ArchiveTests {
  @Test func itStoresFiles() async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appendingPathComponent("report.txt")
    try Data("all is well".utf8).write(to: file)
    let created = "HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n{\"id\": 7}"
    let server = try ScriptedServer(
      Script(
        .request, .send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), .request, .send(created), .request,
        .send(created), .awaitClose))
    let archive = Archive(base: "http://127.0.0.1:\(server.port)")
    let progress = Mutex<[Double]>([])
    let receipt = try await archive.store(file) { value in progress.withLock { $0.append(value) } }
    #expect(receipt.id == 7)
    #expect(try await archive.store(file, note: "daily").id == 7)
    let text = server.receivedText()
    #expect(text.components(separatedBy: "PUT /files/report.txt HTTP/1.1\r\n").count == 3)
    #expect(text.contains("name=\"file\"; filename=\"report.txt\"\r\nContent-Type: text/plain\r\n\r\nall is well"))
    try await eventually("progress is told") { progress.withLock { $0.last == 1 } }
  }

  @Test func theDocumentShowsIt() throws {
    let example = try PackageRoot.example("docs/bodies.md", of: "Tests/EndToEndTests/Readme/Archive.swift")
    #expect(try PackageRoot.text(of: "docs/bodies.md").contains("```swift\n\(example)```\n"))
  }
}
