import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirCompression
import WeirTestSupport

@testable import Weir

/// A transfer that fails while what came before is still decoded, piece by piece.
@Suite("§8.4 Streams: coded bodies that break off", .timeLimit(.minutes(5)))
struct StreamCutTests {
  private static let size = 700_000

  private static func head(_ length: Int) -> [UInt8] {
    Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(length)\r\n\r\n".utf8)
  }

  /// Its loop waits at the first decoded piece until the connection is cut, if that is awaited.
  private static func session(
    isInline: Bool = false, until closed: Gate? = nil, _ interceptor: (any RequestInterceptor)? = nil
  ) -> Session {
    var configuration = SessionConfiguration.default
    configuration.maximumDecompressionRatio = nil
    if isInline { configuration.handlerExecution = .eventLoop }
    return Session(
      configuration: configuration, startRequestsImmediately: false, interceptor: interceptor,
      eventMonitors: closed.map { closed in [AtFirstData { closed.wait() }] } ?? [])
  }

  /// A connection that is cut when all but the last byte has come, and says so.
  private static func cut(_ closed: Gate) throws -> ScriptedServer {
    let body = try Compression.deflate([UInt8](repeating: 0, count: size), .gzip)
    return try ScriptedServer(
      Script(
        .request, .send(head(body.count + 1) + body), .halfClose, .call { closed.open() }, .awaitClose))
  }

  @Test("All that came before the cut is delivered before retriers are asked", arguments: [true, false])
  func cut(isInline: Bool) async throws {
    let closed = Gate()
    let server = try Self.cut(closed)
    let bytes = Mutex(0)
    let asked = Journal<Int>()
    let session = Self.session(
      isInline: isInline, until: closed,
      Retrier { _, _, _, completion in
        asked.append(bytes.withLock { $0 })
        completion(.doNotRetry)
      })
    let request = session.streamRequest(server.url)
    let ended = Journal<String>()
    request.responseStream(on: isInline ? nil : DispatchQueue(label: "own")) { stream in
      guard let data = stream.value else { return ended.append(stream.note) }
      bytes.withLock { $0 += data.count }
    }
    request.resume()
    #expect(await ended.all().count == 1)
    #expect(request.error?.urlErrorCode == .networkConnectionLost)
    #expect(asked.entries == [Self.size])
    #expect(bytes.withLock { $0 } == Self.size)
  }

  @Test("An async reader gets it too")
  func reader() async throws {
    let closed = Gate()
    let server = try Self.cut(closed)
    let session = Self.session(until: closed)
    let request = session.streamRequest(server.url)
    let chunks = request.streamTask().streamingData()
    request.resume()
    var count = 0
    for await chunk in chunks { count += chunk.value?.count ?? 0 }
    #expect(count == Self.size)
    #expect(request.error?.urlErrorCode == .networkConnectionLost)
  }

  @Test("Cancelled while it is decoded, it ends, and nothing more is delivered", arguments: [true, false])
  func cancelled(isInline: Bool) async throws {
    let closed = Gate()
    let server = try Self.cut(closed)
    let session = Self.session(isInline: isInline, until: closed)
    let request = session.streamRequest(server.url)
    let ended = Journal<String>()
    request.responseStream(on: isInline ? nil : DispatchQueue(label: "own")) { stream in
      guard stream.completion == nil else { return ended.append(stream.note) }
      stream.cancel()
      ended.append("chunk")
    }
    request.resume()
    #expect(await ended.all() == ["chunk", "complete(explicitly_cancelled)"])
  }

  @Test("A body that can't be decoded to its end fails when its handler has had what came before")
  func corrupt() async throws {
    var body = try Compression.deflate([UInt8](repeating: 0, count: Self.size), .gzip)
    body[body.count - 8] ^= 1
    let server = try ScriptedServer(Script(.request, .send(Self.head(body.count) + body), .awaitClose))
    let session = Self.session()
    let request = session.streamRequest(server.url)
    let gate = Gate()
    let bytes = Mutex(0)
    let ended = Journal<String>()
    request.responseStream(on: DispatchQueue(label: "own")) { stream in
      guard let data = stream.value else { return ended.append(stream.note) }
      gate.wait()
      bytes.withLock { $0 += data.count }
    }
    request.resume()
    try await eventually("all of it is decoded, and the handler has had nothing") {
      request.streaming.withLock { $0.delivery.undelivered } > Self.size - ResponseBody.decodedBytesAtOnce
    }
    for _ in 0..<50 { await session.loopTurn() }
    gate.open()
    #expect(await ended.all().count == 1)
    #expect(request.error?.urlErrorCode == .cannotDecodeContentData)
    #expect(bytes.withLock { $0 } > 0)
  }

  @Test("Of a data request that is cut nothing is told any more once its task is complete")
  func dataRequest() async throws {
    let closed = Gate()
    let server = try Self.cut(closed)
    let events = DataEvents(closed)
    var configuration = SessionConfiguration.default
    configuration.maximumDecompressionRatio = nil
    let session = Session(configuration: configuration, eventMonitors: [events])
    let response = await session.request(server.url).plainResponse()
    #expect(response.error?.urlErrorCode == .networkConnectionLost)
    for _ in 0..<50 { await session.loopTurn() }
    #expect(events.isLate.withLock { $0 } == false)
  }

  /// Whether there were bytes after the task's completion; waits for the cut at the first ones.
  private final class DataEvents: InlineEventMonitor {
    let isLate = Mutex<Bool?>(nil)
    private let closed: Gate

    init(_ closed: Gate) {
      self.closed = closed
    }

    func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) {
      closed.wait()
      isLate.withLock { $0 = $0 != nil }
    }

    func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?) {
      isLate.withLock { $0 = false }
    }
  }
}
