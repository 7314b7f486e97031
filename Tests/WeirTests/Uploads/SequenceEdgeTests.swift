import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirCurl
import WeirTestSupport

@testable import Weir

@Suite("Uploads of asynchronous sequences: difficult ones", .timeLimit(.minutes(5)))
struct SequenceEdgeTests {
  private static let chunked: Script = Script(.head, .chunkedBody, .send(okResponse("taken")), .awaitClose)

  private let session = KeptSessions()

  /// Chunks that a closure makes. `gone` opens when its last iterator is released.
  private struct Made<Chunk: Collection<UInt8> & Sendable>: AsyncSequence, Sendable {
    let gone = Latch()
    let make: @Sendable () async throws -> Chunk?

    struct AsyncIterator: AsyncIteratorProtocol {
      let life: Life
      let make: @Sendable () async throws -> Chunk?

      mutating func next() async throws -> Chunk? { try await make() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(life: Life(gone), make: make) }
  }

  private final class Life: Sendable {
    private let gone: Latch

    init(_ gone: Latch) {
      self.gone = gone
    }

    deinit { gone.open() }
  }

  private static let compressor: any RequestInterceptor = .gzipCompressor(compressesUploads: true)

  @Test("Empty chunks without end are left at a cancel", arguments: [true, false])
  func empty(isCompressed: Bool) async throws {
    let server = try ScriptedServer(Script(.head, .awaitClose))
    let asked = Journal<Int>()
    let empties = Made<[UInt8]> {
      if asked.entries.count < 3 { asked.append(1) }
      return []
    }
    let request = session(.standard, isCompressed ? Self.compressor : nil).upload(stream: empties, to: server.url)
    let task = request.serializingData()
    await asked.wait { $0.count == 3 }
    request.cancel()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    await empties.gone.wait()
  }

  @Test("A sequence that does not heed a cancel holds nothing up, and no request", arguments: [true, false])
  func deaf(isCompressed: Bool) async throws {
    let server = try ScriptedServer(Script(.head, .awaitClose))
    let (asked, end) = (Latch(), Latch())
    let deaf = Made<[UInt8]> {
      asked.open()
      await end.wait()
      return [65]
    }
    weak var left: UploadRequest?
    let session = self.session(.standard, isCompressed ? Self.compressor : nil)
    try await {
      let request = session.upload(stream: deaf, to: server.url)
      left = request
      let task = request.serializingData()
      await asked.wait()
      request.cancel()
      #expect(await task.response.error?.isExplicitlyCancelledError == true)
      try await eventually("the connection is closed") { server.closedByClientCount == 1 }
    }()
    try await eventually("the request is gone") { left == nil }
    end.open()
    await deaf.gone.wait()
  }

  @Test("A compressed upload cancels the sequence and lets go of it")
  func cancelledCompressed() async throws {
    let server = try ScriptedServer(Script(.head, .awaitClose))
    let (asked, cancelled) = (Latch(), Latch())
    let waiting = Made<[UInt8]> {
      asked.open()
      await withTaskCancellationHandler {
        await cancelled.wait()
      } onCancel: {
        cancelled.open()
      }
      return nil
    }
    let request = session(.standard, Self.compressor).upload(stream: waiting, to: server.url)
    let task = request.serializingData()
    await asked.wait()
    request.cancel()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    await waiting.gone.wait()
  }

  @Test("A request that ends before it sends anything lets go of the sequence")
  func unsent() async throws {
    let chunks = Made<[UInt8]> { [65] }
    let request = session().upload(stream: chunks, to: "http://127.0.0.1:\(LoopbackPort.free())/")
    #expect(await request.serializingData().response.error != nil)
    await chunks.gone.wait()
    #expect(request.uploadable != nil)
  }

  @Test("A large chunk goes out whole, piece by piece", arguments: [HTTP1EngineChoice.own, .libcurl], [true, false])
  func large(_ engine: HTTP1EngineChoice, isArray: Bool) async throws {
    let bytes = pattern((1 << 20) + 1)
    let server = try ScriptedServer(Script(.request, .send(okResponse("taken")), .awaitClose))
    let once = Turn([bytes])
    let session = self.session(engine)
    let length = Int64(bytes.count)
    let request =
      isArray
      ? session.upload(stream: Made<[UInt8]> { once.next() }, length: length, to: server.url)
      : session.upload(stream: Made<Data> { once.next().map { Data($0) } }, length: length, to: server.url)
    #expect(await request.serializingString().response.value == "taken")
    #expect(server.body() == bytes)
  }

  @Test("The length decides on the framing, and not the caller's fields", arguments: [HTTP1EngineChoice.own, .libcurl])
  func framing(_ engine: HTTP1EngineChoice) async throws {
    let server = try ScriptedServer(Script(.request, .send(okResponse("taken")), .awaitClose))
    let once = Turn([Array("some".utf8)])
    let request = session(engine).upload(
      stream: Made<[UInt8]> { once.next() }, length: 4, to: server.url,
      headers: ["Content-Length": "3", "Transfer-Encoding": "chunked"])
    #expect(await request.serializingString().response.value == "taken")
    #expect(server.headLines().filter { $0.lowercased().hasPrefix("content-length:") } == ["Content-Length: 4"])
    #expect(!server.receivedText().lowercased().contains("transfer-encoding"))
    #expect(server.body() == Array("some".utf8))
  }

  @Test("A negative length is an error", arguments: [HTTP1EngineChoice.own, .libcurl])
  func negative(_ engine: HTTP1EngineChoice) async throws {
    let server = try ScriptedServer(Script(.head, .awaitClose))
    let request = session(engine).upload(stream: Made<[UInt8]> { [65] }, length: -1, to: server.url)
    let error = await request.serializingData().response.error
    #expect(error?.urlErrorCode == .requestBodyStreamExhausted)
    #expect(error.map { "\($0)" }?.contains("its length is -1") == true)
  }

  @Test("A sequence has one reader, and one that is closed has not come to its end")
  func reader() async throws {
    let (asked, end) = (Latch(), Latch())
    let stream = SequenceInputStream(
      Made<[UInt8]> {
        asked.open()
        await end.wait()
        return nil
      })
    let reader = stream.reader
    #expect(reader.open())
    #expect(!reader.open())
    let answers = Journal<String>()
    let note: @Sendable (String) -> SequenceReader.Completion = { name in
      { answers.append("\(name): \(Self.kind($0))") }
    }
    reader.next(note("first"))
    await asked.wait()
    reader.next(note("second"))
    #expect(answers.entries == ["second: failed"])
    stream.close()
    #expect(answers.entries == ["second: failed", "first: failed"])
    reader.next(note("third"))
    #expect(answers.entries.last == "third: failed")
    var byte: UInt8 = 0
    #expect(stream.read(&byte, maxLength: 1) == -1)
    end.open()
  }

  private static func kind(_ piece: BodyStream.Piece) -> String {
    switch piece {
    case .bytes: "bytes"
    case .end: "end"
    case .failed, .broken: "failed"
    }
  }
}
