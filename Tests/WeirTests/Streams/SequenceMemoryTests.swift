import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirCompression
import WeirCurl
import WeirTestSupport

@testable import Weir

/// Bodies that go up from asynchronous sequences, or come down as such, eight at once: 100 of 64 MiB with
/// `script/test --large`.
@Suite("Sequences: memory", .timeLimit(.minutes(10)), .slow)
struct SequenceMemoryTests {
  private static let bodies = LargeForm.isWanted ? 100 : 16
  private static let size = LargeForm.isWanted ? 64 << 20 : 8 << 20
  private static let atOnce = 8
  /// The most that the process may grow by.
  private static let limit = 16 << 20
  private static let chunkSize = 64 << 10

  // MARK: Up

  /// How a producer goes about it.
  enum Producing: CaseIterable {
    case faster, slower, failing, endless
    /// In chunks of a type that is copied, which are many times as large.
    case inLargeChunks
  }

  @Test("Up", arguments: Producing.allCases, [HTTP1EngineChoice.own, .libcurl])
  func up(_ producing: Producing, _ engine: HTTP1EngineChoice) async throws {
    // The pauses of the server make the connection the slower side.
    let server = try BulkServer(size: 0, pause: producing == .faster ? 0.000_2 : 0)
    let session = Self.session(engine)
    try await Self.warmUp(session, server)
    let memory = Memory(try MemoryPeak())
    try await Self.eightAtOnce {
      let result = await Self.request(producing, session, server.url, memory).serializingString().response.result
      switch producing {
      case .faster, .slower, .inLargeChunks: #expect(result.success == "taken")
      case .failing: #expect(result.failure?.underlyingError as? TestError == TestError(number: 7))
      case .endless: #expect(result.failure?.urlErrorCode == .requestBodyStreamExhausted)
      }
    }
    memory.expect(within: Self.limit, "\(producing), \(engine)")
  }

  private static func request(
    _ producing: Producing, _ session: Session, _ url: String, _ memory: Memory
  ) -> UploadRequest {
    var producer = Producer(count: size / chunkSize, memory: memory)
    switch producing {
    case .faster: break
    case .slower: producer.pause = 0.001
    case .failing: (producer.count, producer.error) = (size / chunkSize / 2, TestError(number: 7))
    case .endless: producer.count = nil
    case .inLargeChunks:
      let chunks = AsyncStream<Data>.make(size >> 20) {
        memory.note()
        return Data(repeating: 65, count: 1 << 20)
      }
      return session.upload(stream: chunks, length: Int64(size), to: url)
    }
    return session.upload(stream: producer, length: producing == .endless ? Int64(size) : nil, to: url)
  }

  // MARK: Down

  /// How a consumer goes about it.
  enum Consuming: CaseIterable {
    case slower, stopping, failing
  }

  @Test("Down", arguments: Consuming.allCases, [HTTP1EngineChoice.own, .libcurl])
  func down(_ consuming: Consuming, _ engine: HTTP1EngineChoice) async throws {
    let server = try BulkServer(size: Self.size)
    let session = Self.session(engine)
    try await Self.warmUp(session, server)
    let memory = Memory(try MemoryPeak())
    try await Self.eightAtOnce {
      let request = session.streamRequest(server.url).validate()
      do {
        let count = try await Self.consume(request.streaming().body, consuming, memory)
        #expect(consuming == .slower ? count == Self.size : count < Self.size)
      } catch {
        #expect(consuming == .failing && error as? TestError == TestError(number: 7), "\(error)")
      }
      await request.settled()
      #expect(request.outcome == (consuming == .slower ? .success : .cancelled))
    }
    memory.expect(within: Self.limit, "\(consuming), \(engine)")
  }

  /// Reads a body half a MiB at a time, and lets others have their turn in between.
  private static func consume(
    _ body: StreamedResponse.Body, _ consuming: Consuming, _ memory: Memory
  ) async throws -> Int {
    var (count, rested) = (0, 0)
    for try await chunk in body {
      count += chunk.count
      memory.note()
      if count >= size / 2 {
        if consuming == .stopping { break }
        if consuming == .failing { throw TestError(number: 7) }
      }
      guard count - rested >= 512 << 10 else { continue }
      rested = count
      try await letPass(0.02)
    }
    return count
  }

  @Test("A body that is small before it is decoded, for a slow reader", arguments: [HTTP1EngineChoice.own, .libcurl])
  func decoded(_ engine: HTTP1EngineChoice) async throws {
    let size = LargeForm.isWanted ? 1 << 30 : 64 << 20
    var packed = Data()
    let (deflater, zeros) = (try Deflater(.gzip, level: 1), [UInt8](repeating: 0, count: 1 << 20))
    for index in 0..<(size >> 20) {
      try zeros.withUnsafeBytes { bytes in
        try deflater.feed(bytes, flush: index + 1 == size >> 20 ? .finish : .none) { packed.append(contentsOf: $0) }
      }
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(packed.count)\r\n\r\n"
    let server = try ScriptedServer(Script(.request, .send(Array(head.utf8) + packed), .awaitClose))
    let session = Self.session(engine)
    let memory = Memory(try MemoryPeak())
    var (count, turns) = (0, 0)
    for try await chunk in try await session.streamRequest(server.url).streaming().body {
      count += chunk.count
      memory.note()
      turns += 1
      if turns % 16 == 0 { await session.loopTurn() }
    }
    #expect(count == size)
    memory.expect(within: Self.limit, "decoded, \(engine)")
  }

  // MARK: What they share

  private static func session(_ engine: HTTP1EngineChoice) -> Session {
    var configuration = SessionConfiguration.default
    configuration.http1Engine = engine
    (configuration.maximumDecompressedSize, configuration.maximumDecompressionRatio) = (nil, nil)
    return Session(configuration: configuration)
  }

  /// Makes the connections and threads there will be, which take memory once.
  private static func warmUp(_ session: Session, _ server: BulkServer) async throws {
    try await eightAtOnce(count: atOnce) {
      let chunks = Producer(count: 1, memory: nil)
      #expect(await session.upload(stream: chunks, to: server.url).serializingString().response.value == "taken")
    }
  }

  private static func eightAtOnce(
    count: Int = bodies, _ work: @escaping @Sendable () async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<count {
        if index >= atOnce { try await group.next() }
        group.addTask { try await work() }
      }
      try await group.waitForAll()
    }
  }

  /// Looks at the process's memory at every sixteenth chunk.
  private final class Memory: Sendable {
    private let peak: MemoryPeak
    private let chunks = Atomic(0)

    init(_ peak: MemoryPeak) {
      self.peak = peak
    }

    func note() { if chunks.add(1, ordering: .relaxed).newValue % 16 == 0 { peak.note() } }

    func expect(within limit: Int, _ what: String, at place: SourceLocation = #_sourceLocation) {
      let told: Comment = "\(what): \(peak.growth >> 10) KiB"
      print(told)
      #expect(peak.growth <= limit || ThisProcess.isSanitized, told, sourceLocation: place)
    }
  }

  /// So many chunks, each made anew, or chunks without end.
  private struct Producer: AsyncSequence, Sendable {
    var count: Int?
    let memory: Memory?
    /// Seconds before each chunk.
    var pause: Double?
    var error: TestError?

    struct AsyncIterator: AsyncIteratorProtocol {
      let producer: Producer
      var made = 0

      mutating func next() async throws -> [UInt8]? {
        producer.memory?.note()
        if let pause = producer.pause { try await letPass(pause) }
        guard made < producer.count ?? .max else {
          if let error = producer.error { throw error }
          return nil
        }
        made += 1
        return [UInt8](unsafeUninitializedCapacity: chunkSize) { buffer, count in
          if let start = buffer.baseAddress { memset(start, 65, chunkSize) }
          count = chunkSize
        }
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(producer: self) }
  }
}

extension AsyncStream {
  /// So many elements, each made when it is asked for.
  fileprivate static func make(_ count: Int, _ element: @escaping @Sendable () -> Element) -> AsyncStream {
    let left = Mutex(count)
    return AsyncStream {
      left.withLock { left in
        left -= 1
        return left >= 0 ? element() : nil
      }
    }
  }
}
