import Foundation
import FoundationNetworking
import Testing
import WeirCompression
import WeirTestSupport

@testable import Weir

@Suite("§21 Bodies compressed while they are sent", .timeLimit(.minutes(5)))
struct CompressedBodyTests {
  private static func coding(_ coding: RequestCoding) -> ContentCoding { coding == .gzip ? .gzip : .deflate }

  /// All that a body gives, read in pieces of a size, from pieces of another.
  private static func compressed(
    _ plain: [UInt8], _ coding: RequestCoding, read: Int, pulled: Int
  ) throws -> [UInt8] {
    var body = try CompressedBody(coding)
    var rest = plain[...]
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: read)
    while true {
      let count = try buffer.withUnsafeMutableBytes { buffer in
        try body.read(into: buffer) { room in
          let piece = rest.prefix(min(pulled, room.count))
          room.copyBytes(from: piece)
          rest = rest.dropFirst(piece.count)
          return piece.count
        }
      }
      guard count > 0 else { return result }
      result += buffer.prefix(count)
    }
  }

  private static func samples(_ count: Int) -> [[UInt8]] {
    let text = Array("weir steers and measures. ".utf8)
    return [
      [UInt8](repeating: 0, count: count), Array(MultipartSamples.noise(count, seed: 1)),
      Array([[UInt8]](repeating: text, count: count / text.count + 1).joined().prefix(count)),
    ]
  }

  @Test("In pieces of any size", arguments: [RequestCoding.deflate, .gzip], [0, 1, 1000, 65_536, 300_001])
  func pieces(coding: RequestCoding, count: Int) throws {
    for plain in Self.samples(count) {
      for (read, pulled) in [(1 << 20, 1 << 20), (1000, 70_000), (65_536, 999)] {
        let bytes = try Self.compressed(plain, coding, read: read, pulled: pulled)
        let isSame = try Compression.inflate(bytes, Self.coding(coding), limits: .unlimited) == plain
        #expect(isSame)
        if coding == .deflate { #expect(bytes.prefix(2) == [0x78, 0x5E]) }
      }
    }
  }

  @Test("Drop by drop")
  func drops() throws {
    let plain = Array("weir steers and measures".utf8)
    let bytes = try Self.compressed(plain, .gzip, read: 1, pulled: 1)
    #expect(try Compression.inflate(bytes, .gzip, limits: .unlimited) == plain)
  }

  @Test("It pulls at most 64 KiB at once, and holds no more than it was given")
  func bounded() throws {
    var body = try CompressedBody(.gzip)
    var buffer = [UInt8](repeating: 0, count: 10)
    var rest = 64 << 20
    var longest = 0
    var random = SeededRandom(seed: 1)
    let before = try ThisProcess.residentBytes
    var total = 0
    while true {
      let count = try buffer.withUnsafeMutableBytes { buffer in
        try body.read(into: buffer) { room in
          longest = max(longest, room.count)
          let count = min(rest, room.count)
          // Bytes that can't be made smaller once in a while.
          if count > 0, rest % 3 == 0 { room.storeBytes(of: random.next(), as: UInt64.self) }
          rest -= count
          return count
        }
      }
      total += count
      if count == 0 { break }
    }
    #expect(longest == 65_536)
    #expect(rest == 0 && total > 0)
    if !ThisProcess.isSanitized { #expect(try ThisProcess.residentBytes - before < 16 << 20) }
  }

  @Test("What the source throws is thrown, and nothing of it is lost")
  func errors() throws {
    var body = try CompressedBody(.deflate)
    var results: [Result<Int, any Error>] = [
      .success(3), .failure(SampleError()), .success(2), .failure(SampleError()), .success(0),
    ].reversed()
    var bytes: [UInt8] = []
    var failures = 0
    var buffer = [UInt8](repeating: 0, count: 100)
    while true {
      do {
        let count = try buffer.withUnsafeMutableBytes { buffer in
          try body.read(into: buffer) { room in
            room.initializeMemory(as: UInt8.self, repeating: 65)
            return try results.popLast()?.get() ?? 0
          }
        }
        if count == 0 { break }
        bytes += buffer.prefix(count)
      } catch {
        failures += 1
      }
    }
    #expect(failures == 2)
    #expect(bytes.prefix(2) == [0x78, 0x5E])
    #expect(try Compression.inflate(bytes, .deflate, limits: .unlimited) == Array("AAAAA".utf8))
  }

  // MARK: As a stream

  private static func readAll(_ stream: InputStream) -> [UInt8]? {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1000)
    stream.open()
    defer { stream.close() }
    while true {
      let count = stream.read(&buffer, maxLength: buffer.count)
      if count < 0 { return nil }
      if count == 0 { return bytes }
      bytes += buffer.prefix(count)
    }
  }

  @Test("As a stream it has a stream's states")
  func states() throws {
    let plain = MadeStream { _ in 0 }
    let stream = try CompressedInputStream(plain, .gzip)
    var buffer = [UInt8](repeating: 0, count: 100)
    #expect(stream.streamStatus == .notOpen)
    #expect(stream.read(&buffer, maxLength: 100) == -1)
    #expect(plain.openings == 0)
    stream.open()
    stream.open()
    #expect(stream.streamStatus == .open && stream.hasBytesAvailable && plain.openings == 1)
    #expect(stream.read(&buffer, maxLength: 0) == 0)
    #expect(stream.read(&buffer, maxLength: 100) == 20)
    #expect(stream.read(&buffer, maxLength: 100) == 0)
    #expect(stream.streamStatus == .atEnd && !stream.hasBytesAvailable)
    #expect(stream.read(&buffer, maxLength: 100) == 0)
    stream.close()
    #expect(stream.streamStatus == .closed && plain.closings == 1)
    #expect(stream.read(&buffer, maxLength: 100) == -1)
  }

  @Test("A stream that fails makes it fail")
  func failing() throws {
    let stream = try CompressedInputStream(MadeStream { _ in -1 }, .deflate)
    #expect(Self.readAll(stream) == nil)
    let missing = try CompressedInputStream(try #require(InputStream(fileAtPath: "/nowhere/at/all")), .deflate)
    missing.open()
    var buffer: [UInt8] = [0]
    #expect(missing.read(&buffer, maxLength: 1) == -1)
    #expect(missing.streamStatus == .error && missing.streamError != nil)
    let boasting = try CompressedInputStream(MadeStream { $0.count + 1 }, .deflate)
    #expect(Self.readAll(boasting) == nil)
  }

  @Test("A request sends it in chunks", arguments: [RequestCoding.deflate, .gzip])
  func wire(coding: RequestCoding) async throws {
    let plain = Self.samples(200_000).flatMap { $0 }
    let server = try ScriptedServer(Script(.head, .chunkedBody, .send(okResponse("ok")), .awaitClose))
    let session = Session()
    var request = try URLRequest(url: server.url, method: .post, headers: ["Content-Encoding": coding.rawValue])
    request.httpBodyStream = try CompressedInputStream(InputStream(data: Data(plain)), coding)
    #expect(await session.request(request).serializingString().response.value == "ok")
    let bytes = try #require(Self.unchunked(server.received()))
    #expect((bytes.prefix(2) == [0x78, 0x5E]) == (coding == .deflate))
    let isSame = try Compression.inflate(bytes, Self.coding(coding), limits: .unlimited) == plain
    #expect(isSame)
  }

  private static func unchunked(_ message: [UInt8]) -> [UInt8]? {
    guard let head = message.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    var rest = message[head.upperBound...]
    var body: [UInt8] = []
    while let end = rest.firstIndex(of: 13) {
      guard let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), size > 0 else { break }
      rest = rest.dropFirst(end + 2 - rest.startIndex)
      body += rest.prefix(size)
      rest = rest.dropFirst(size + 2)
    }
    return body
  }
}
