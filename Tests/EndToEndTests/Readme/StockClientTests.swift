import Foundation
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// The example of docs/authentication.md, run.
@Suite struct StockClientTests {
  @Test func itFetchesATokenForAllWhoNeedOne() async throws {
    let (issued, valid) = (Tally(), Tally())
    let server = try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            if head.hasPrefix("POST /token ") {
              guard head.contains("Authorization: Basic \(Data("shop:s3cret".utf8).base64EncodedString())\r\n") else {
                return [.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")]
              }
              let number = issued.next()
              valid.set(number)
              return [.send(okResponse(#"{"access_token": "t\#(number)", "expires_in": 600}"#))]
            }
            let isValid = (head + "\r\n").contains("Authorization: Bearer t\(valid.value)\r\n")
            return [.send(isValid ? okResponse("7") : "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")]
          }
        ])))
    let base = "http://127.0.0.1:\(server.port)"
    let directory = try TemporaryDirectory()
    let file = try SecretFile(directory.file("client-secret", "s3cret\n"))
    let client = StockClient(base: base, tokenURL: try #require(URL(string: "\(base)/token")), secret: Secret(file))
    func counts() async throws -> [Int] {
      try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<50 { group.addTask { try await client.count(of: "item\(number)") } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(try await counts() == Array(repeating: 7, count: 50))
    #expect(issued.value == 1)
    // Revoked: the client learns of it by being refused.
    valid.set(0)
    #expect(try await counts() == Array(repeating: 7, count: 50))
    #expect(issued.value == 2)
  }

  private final class Tally: Sendable {
    private let number = Mutex(0)

    var value: Int { number.withLock { $0 } }

    func set(_ value: Int) { number.withLock { $0 = value } }

    func next() -> Int {
      number.withLock { number in
        number += 1
        return number
      }
    }
  }

  @Test func theDocumentShowsIt() throws {
    let file = "docs/authentication.md"
    let example = try PackageRoot.example(file, of: "Tests/EndToEndTests/Readme/StockClient.swift")
    #expect(!example.isEmpty)
    #expect(try PackageRoot.text(of: file).contains("```swift\n\(example)```\n"))
  }
}
