import Foundation
import Testing
import WeirCompression
import WeirTestSupport

@testable import Weir

@Suite("Memory of large bodies")
struct BodyMemoryTests {
  private let memory = BodyMemory()
  private let first = Data((0..<100).map { UInt8($0) })

  private func address(of data: Data) -> Int {
    data.withUnsafeBytes { Int(bitPattern: $0.baseAddress) }
  }

  @Test("What was let go of is used by the next body")
  func usedAgain() throws {
    var body = try #require(memory.extended(first, to: 1 << 20))
    #expect(body == first)
    let address = address(of: body)
    body.append(contentsOf: Data(repeating: 7, count: (1 << 20) - first.count))
    #expect(self.address(of: body) == address, "it has the room that was asked for")
    #expect(body.count == 1 << 20 && body.starts(with: first) && body.last == 7 && memory.idleSize == 0)
    body = Data()
    #expect(memory.idleSize >= 1 << 20)
    let next = try #require(memory.extended(first, to: 900_000))
    #expect(self.address(of: next) == address && next == first && memory.idleSize == 0)
  }

  @Test("A body that somebody keeps stays as it is")
  func kept() throws {
    var body = try #require(memory.extended(first, to: 1 << 20))
    let early = body
    body.append(contentsOf: [1, 2, 3])
    #expect(early == first && body == first + [1, 2, 3])
    body = Data()
    let other = try #require(memory.extended(Data(repeating: 9, count: 200), to: 1 << 20))
    #expect(early == first && other.count == 200)
  }

  @Test("A body may outgrow its room, and its memory")
  func outgrown() throws {
    var body = try #require(memory.extended(first, to: 128 << 10))
    body.append(contentsOf: Data(repeating: 7, count: 8 << 20))
    #expect(body.count == 8 << 20 + 100 && body.starts(with: first) && body.last == 7)
    body = Data()
    #expect(memory.idleSize <= BodyMemory.kept)
  }

  @Test(
    "Small and very large ones are malloc's alone, as is what is larger than announced",
    arguments: [(100, 100), (100, 131_071), (100, (4 << 20) + 1), (10, 1 << 20), (200_000, 150_000)])
  func others(count: Int, room: Int) {
    #expect(memory.extended(Data(count: count), to: room) == nil)
  }

  @Test("No more is kept than the limit, and nothing that is much too large is used")
  func bounds() throws {
    var bodies = try (0..<20).map { _ in try #require(memory.extended(first, to: 1 << 20)) }
    #expect(bodies.count == 20)
    bodies = []
    #expect(memory.idleSize <= BodyMemory.kept && memory.idleSize > BodyMemory.kept - (2 << 20))
    let idle = memory.idleSize
    let small = try #require(memory.extended(first, to: 200_000))
    #expect(memory.idleSize == idle && small == first)
  }

  // MARK: In a session

  private static let text = String(repeating: "0123456789abcdef", count: 1 << 16)

  private static let responses = [
    "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n\(text)\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\(text)",
  ]

  @Test("A large body is the same however it is announced", arguments: responses.indices)
  func response(index: Int) async throws {
    let server = try ScriptedServer(Script(.request, .send(Self.responses[index]), .close))
    let session = Session()
    do {
      let response = await session.request(server.url).serializingData().response
      #expect(response.value == Data(Self.text.utf8), "\(response)")
    }
    guard index == 0 else { return }
    try await eventually("its memory is there for the next") { session.context.bodyMemory.idleSize >= 1 << 20 }
  }

  @Test(
    "A coded body, whose length nobody knows, has such memory too, and may outgrow it", arguments: [86_000, 400_000])
  func coded(count: Int) async throws {
    let text = Array(Self.text.utf8.prefix(count))
    let body = try Compression.deflate(text, .gzip)
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n"
    let server = try ScriptedServer(Script(.request, .send(Array(head.utf8) + body), .close))
    let session = Session()
    do {
      let response = await session.request(server.url).serializingData().response
      #expect(response.value == Data(text), "\(response)")
    }
    try await eventually("its memory is there for the next") {
      session.context.bodyMemory.idleSize >= BodyMemory.sizes.lowerBound
    }
  }
}
