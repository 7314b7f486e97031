import Foundation
import Testing
import WeirTestSupport

/// The example of docs/requests.md, run.
@Suite struct OrderClientTests {
  @Test func itAdaptsAndRetries() async throws {
    let order = OrderClient.Order(id: 7, item: "tea")
    let json = #"{"id": 7, "item": "tea"}"#
    let found = "HTTP/1.1 200 OK\r\nContent-Length: \(json.utf8.count)\r\n\r\n\(json)"
    let server = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), .head, .send(found), .head, .send(found),
        .request,
        .send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"), .awaitClose))
    let client = OrderClient(base: "http://127.0.0.1:\(server.port)", tenant: "north")
    #expect(try await client.order(7) == order)
    let result = await withCheckedContinuation { continuation in
      client.order(7) { continuation.resume(returning: $0) }
    }
    #expect(try result.get() == order)
    try await client.place(order)
    let requests = String(decoding: server.received(), as: UTF8.self)
    #expect(requests.components(separatedBy: "X-Tenant: north\r\n").count == 5, "\(requests)")
    #expect(requests.contains("POST /orders HTTP/1.1\r\n"))
  }

  @Test func theDocumentShowsIt() throws {
    let example = try PackageRoot.example("docs/requests.md", of: "Tests/EndToEndTests/Readme/OrderClient.swift")
    #expect(try PackageRoot.text(of: "docs/requests.md").contains("```swift\n\(example)```\n"))
  }
}
