import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirCompression
import WeirTestSupport

/// Content codings are undone while the body comes in, within limits.
@Suite("Content codings on the wire", .timeLimit(.minutes(5)))
struct ContentCodingTests {
  private static let text = String(repeating: "weir steers and measures. ", count: 4_000)

  private static func encoded(_ formats: PackedForm...) -> [UInt8] {
    formats.reduce(Array(text.utf8)) { bytes, format in (try? Compression.pack(bytes, format)) ?? [] }
  }

  private static func response(_ coding: String, _ body: [UInt8], status: Int = 200) -> Script {
    let head = "HTTP/1.1 \(status) X\r\nContent-Type: text/plain\r\nContent-Encoding: \(coding)\r\n"
    return Script(.head, .send(Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body), .awaitClose)
  }

  struct Coding: CustomTestStringConvertible, Sendable {
    let name: String
    let body: [UInt8]
    var testDescription: String { name }

    static let all = [
      Coding(name: "gzip", body: encoded(.gzip)),
      Coding(name: "x-gzip", body: encoded(.gzip)),
      Coding(name: "GZIP", body: encoded(.gzip)),
      Coding(name: "deflate", body: encoded(.zlib)),
      Coding(name: "Deflate", body: encoded(.raw)),
      Coding(name: "identity", body: Array(text.utf8)),
      Coding(name: "deflate, gzip", body: encoded(.zlib, .gzip)),
      Coding(name: "gzip, identity, gzip", body: encoded(.gzip, .gzip)),
    ]
  }

  @Test(arguments: Coding.all)
  func decodes(_ coding: Coding) async throws {
    let server = try ScriptedServer(Self.response(coding.name, coding.body))
    let session = Session()
    let response = await session.request(server.url).serializingString().response
    #expect(response.value == Self.text)
    #expect(response.response?.headers["Content-Encoding"] == coding.name)
    #expect(response.response?.headers["Content-Length"] == "\(coding.body.count)")
    #expect(response.metrics?.bytesReceivedOnWire == Int64(coding.body.count))
    #expect(response.metrics?.bytesDecoded == Int64(Self.text.utf8.count))
  }

  @Test("Byte by byte, with pauses between; a blank before the colon hides nothing", arguments: ["", " "])
  func decodesInPieces(_ blank: String) async throws {
    let body = try Compression.deflate(Array("hello, world".utf8), .gzip)
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding\(blank): gzip\r\nContent-Length: \(body.count)\r\n\r\n"
    let server = try ScriptedServer(Script(.head, .drip(Array(head.utf8) + body, every: 0.000_1), .awaitClose))
    let session = Session()
    #expect(await session.request(server.url).serializingString().response.value == "hello, world")
  }

  @Test("An unknown coding passes through undecoded", arguments: ["br", "gzip, br", "zstd"])
  func unknown(_ coding: String) async throws {
    let body = Self.encoded(.gzip)
    let server = try ScriptedServer(Self.response(coding, body))
    let session = Session()
    #expect(await session.request(server.url).serializingData().response.value == Data(body))
  }

  @Test func notWhenTurnedOff() async throws {
    let body = Self.encoded(.gzip)
    let server = try ScriptedServer(Self.response("gzip", body))
    var configuration = SessionConfiguration.default
    configuration.automaticallyDecompresses = false
    let session = Session(configuration: configuration)
    #expect(await session.request(server.url).serializingData().response.value == Data(body))
  }

  @Test("Cut anywhere, it fails; the length says that the body is complete", arguments: [5, 12, 100, -8, -1])
  func truncated(_ count: Int) async throws {
    let whole = Self.encoded(.gzip)
    let server = try ScriptedServer(
      Self.response("gzip", Array(whole.prefix(count > 0 ? count : whole.count + count))))
    let session = Session()
    let response = await session.request(server.url).serializingData().response
    #expect(response.error?.urlErrorCode == .cannotDecodeContentData)
  }

  @Test("Corrupt bytes, and bytes that are no such coding at all", arguments: ["gzip", "deflate"])
  func corrupt(_ coding: String) async throws {
    var body = coding == "gzip" ? Self.encoded(.gzip) : Self.encoded(.zlib)
    body[body.count / 2] ^= 0xFF
    let server = try ScriptedServer(Self.response(coding, body), Self.response(coding, Array("plain".utf8)))
    for _ in 0..<2 {
      let session = Session()
      let response = await session.request(server.url).serializingData().response
      #expect(response.error?.urlErrorCode == .cannotDecodeContentData, "\(response)")
    }
  }

  @Test("A bomb stops at maximumDecompressedSize, to the byte", arguments: [(0, true), (-1, false)])
  func bombBySize(_ slack: Int, _ fits: Bool) async throws {
    let size = 50_000_000
    let bomb = try Compression.deflate([UInt8](repeating: 0, count: size), .gzip)
    #expect(bomb.count < 50_000)
    let server = try ScriptedServer(Self.response("gzip", bomb))
    var configuration = SessionConfiguration.default
    configuration.maximumDecompressedSize = Int64(size + slack)
    configuration.maximumDecompressionRatio = nil
    let session = Session(configuration: configuration)
    let response = await session.request(server.url).serializingData().response
    if fits {
      #expect(response.value?.count == size)
    } else {
      #expect(response.error?.urlErrorCode == .dataLengthExceedsMaximum)
      #expect(response.error?.localizedDescription.contains("maximumDecompressedSize") == true)
      #expect(response.metrics?.bytesDecoded == Int64(size + slack))
    }
  }

  @Test("By default a bomb stops soon after 10 MiB")
  func bombByRatio() async throws {
    let bomb = try Compression.deflate([UInt8](repeating: 0, count: 50_000_000), .gzip)
    let server = try ScriptedServer(Self.response("gzip", bomb))
    let session = Session()
    let response = await session.request(server.url).serializingData().response
    #expect(response.error?.urlErrorCode == .dataLengthExceedsMaximum)
    let decoded = response.metrics?.bytesDecoded ?? 0
    #expect(decoded >= 10 << 20 && decoded <= 11 << 20, "\(decoded)")
  }

  @Test("A body in memory is limited in its decoded size too", arguments: [(0, true), (-1, false)])
  func responseSize(_ slack: Int, _ fits: Bool) async throws {
    let server = try ScriptedServer(Self.response("gzip", Self.encoded(.gzip)))
    var configuration = SessionConfiguration.default
    configuration.maximumResponseSize = Int64(Self.text.utf8.count + slack)
    let session = Session(configuration: configuration)
    let response = await session.request(server.url).serializingData().response
    #expect((response.error == nil) == fits)
    if !fits { #expect(response.error?.urlErrorCode == .dataLengthExceedsMaximum) }
  }

  @Test("Members without content can't go on for ever")
  func emptyMembers() async throws {
    let member = try Compression.deflate([], .gzip)
    let many = Array(repeatElement(member, count: 5_000).joined())
    let server = try ScriptedServer(Self.response("gzip", many))
    var configuration = SessionConfiguration.default
    configuration.maximumResponseSize = 50_000
    let session = Session(configuration: configuration)
    let response = await session.request(server.url).serializingData().response
    #expect(response.error?.urlErrorCode == .dataLengthExceedsMaximum)
  }

  @Test("Responses without a body are not decoded")
  func withoutBody() async throws {
    let fields = "Content-Encoding: gzip\r\n"
    let server = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\(fields)\r\n"),
        .head, .send("HTTP/1.1 204 No Content\r\n\(fields)\r\n"),
        .head, .send("HTTP/1.1 304 Not Modified\r\n\(fields)\r\n"), .awaitClose))
    let session = Session()
    let head = await session.request(server.url, method: .head).serializingData().response
    #expect(head.value == Data())
    let noContent = await session.request(server.url).serializingData().response
    #expect(noContent.value == Data())
    let notModified = await session.request(server.url).plainResponse()
    #expect(notModified.error == nil)
    #expect(notModified.response?.statusCode == 304)
    #expect(server.connectionCount == 1)
  }

  @Test("While a large body is inflated, the loop serves others")
  func fairness() async throws {
    let bomb = try Compression.deflate([UInt8](repeating: 0, count: 100_000_000), .gzip)
    let server = try ScriptedServer(Self.response("gzip", bomb))
    let small = try answering(okResponse("x"))
    var configuration = SessionConfiguration.default
    configuration.maximumDecompressionRatio = nil
    let recorder = EventRecorder()
    let session = Session(configuration: configuration, eventMonitors: [recorder])
    #expect(await session.request(small.url).serializingString().response.value == "x")
    // One of several: a test that gets no processor in the meantime says nothing of the loop.
    var fits = false
    for _ in 0..<5 where !fits {
      let before = recorder.events.count(of: "·data")
      let large = session.request(server.url).resume()
      await recorder.events.wait { $0.count { $0 == "·data" } > before }
      #expect(await session.request(small.url).serializingString().response.value == "x")
      fits = large.outcome == nil
      large.cancel()
      await large.settled()
    }
    #expect(fits, "a small request fits into a large inflation")
  }
}
