import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirCompression
import WeirIO
import WeirTestSupport

@testable import Weir

@Suite("§8.4 Streams: back-pressure", .slow, .timeLimit(.minutes(5)))
struct StreamBackPressureTests {
  private static let limit = 1 << 20

  private static func server(_ count: Int, _ fields: String = "", body: [UInt8]? = nil) throws -> ScriptedServer {
    let body = body ?? [UInt8](repeating: 7, count: count)
    let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\(fields)\r\n"
    return try ScriptedServer(Script(.forever([.request, .send(Array(head.utf8) + body)])))
  }

  /// Adds a handler that counts its bytes, and waits at the first chunk until the gate is open.
  private func counting(
    _ request: DataStreamRequest, _ gate: Gate? = nil, on queue: DispatchQueue = DispatchQueue(label: "own")
  ) -> Counter {
    let counter = Counter()
    request.responseStream(on: queue) { stream in
      if let data = stream.value {
        counter.add(data.count)
        gate?.wait()
      } else {
        counter.end()
      }
    }
    return counter
  }

  private final class Counter: Sendable {
    let count = Mutex(0)
    private let ended = Latch()

    var bytes: Int { count.withLock { $0 } }
    func add(_ bytes: Int) { count.withLock { $0 += bytes } }
    func end() { ended.open() }
    func wait() async { await ended.wait() }
  }

  /// Returns when reading has stopped, and the loop has had time to read on if it would.
  private func stops(_ request: DataStreamRequest, _ session: Session) async throws {
    try await eventually("reading waits") {
      request.streaming.withLock { $0.delivery.undelivered >= StreamDelivery<Data, StreamValue>.mark }
    }
    for _ in 0..<200 { await session.loopTurn() }
    #expect(request.streaming.withLock { $0.delivery.undelivered } <= Self.limit)
    #expect(try #require(request.task).countOfBytesReceived <= Self.limit)
  }

  @Test("At most 1 MiB waits for a slow handler; reading goes on when it does")
  func oneHandler() async throws {
    let server = try Self.server(12 << 20)
    let session = Session(startRequestsImmediately: false)
    let gate = Gate()
    let request = session.streamRequest(server.url)
    let counter = counting(request, gate)
    request.resume()
    try await stops(request, session)
    gate.open()
    await counter.wait()
    #expect(counter.bytes == 12 << 20)
    #expect(request.streaming.withLock { $0.delivery.undelivered } == 0)
  }

  @Test("Among handlers of different speed the slowest one counts, and all get everything")
  func severalHandlers() async throws {
    let server = try Self.server(4 << 20)
    let session = Session(startRequestsImmediately: false)
    let gate = Gate()
    let request = session.streamRequest(server.url)
    let (slow, fast, shared) = (
      counting(request, gate), counting(request), counting(request, on: DispatchQueue.global())
    )
    request.resume()
    try await stops(request, session)
    try await eventually("the fast ones have all there is") {
      fast.bytes > Self.limit / 2 && shared.bytes == fast.bytes
    }
    #expect(fast.bytes <= Self.limit)
    gate.open()
    for counter in [slow, fast, shared] {
      await counter.wait()
      #expect(counter.bytes == 4 << 20)
    }
  }

  @Test("A body that expands a thousandfold waits too, not only what is read of it")
  func decodedBody() async throws {
    let zeros = [UInt8](repeating: 0, count: 16 << 20)
    let server = try Self.server(0, "Content-Encoding: gzip\r\n", body: try Compression.deflate(zeros, .gzip))
    var configuration = SessionConfiguration.default
    configuration.maximumDecompressionRatio = nil
    let session = Session(configuration: configuration, startRequestsImmediately: false)
    let gate = Gate()
    let request = session.streamRequest(server.url)
    let counter = counting(request, gate)
    request.resume()
    try await stops(request, session)
    gate.open()
    await counter.wait()
    #expect(counter.bytes == 16 << 20)
    #expect(request.error == nil)
  }

  @Test("The silence timeout stands still while a handler is slow, in the middle and at the end")
  func silence() async throws {
    var configuration = SessionConfiguration.default
    configuration.timeoutIntervalForRequest = 1
    let session = Session(configuration: configuration, startRequestsImmediately: false)
    for count in [4 << 20, 1_000] {
      let server = try Self.server(count)
      let gate = Gate()
      let request = session.streamRequest(server.url)
      let counter = counting(request, gate)
      request.resume()
      try await eventually("the handler has begun") { counter.bytes > 0 }
      // Time itself is what is tested: twice the limit.
      try await letPass(2)
      gate.open()
      await counter.wait()
      #expect(request.error == nil)
      #expect(counter.bytes == count)
    }
  }

  @Test("A handler may wait for another request to the same host, which has one slot", arguments: [4 << 20, 1_000])
  func slot(count: Int) async throws {
    let server = try Self.server(count)
    let table = DestinationTable()
    let session = try Session.sharing(table, .limited())
    let request = session.streamRequest(server.url, shouldAutomaticallyResume: false)
    let counter = Counter()
    let inner = Journal<Int>()
    request.responseStream(on: DispatchQueue(label: "own")) { stream in
      guard let data = stream.value else { return counter.end() }
      counter.add(data.count)
      guard inner.entries.isEmpty else { return }
      let done = DispatchSemaphore(value: 0)
      session.request(server.url).response(queue: .global()) { response in
        inner.append(response.data?.count ?? -1)
        done.signal()
      }
      _ = done.wait(timeout: .now() + 20)
    }
    request.resume()
    await counter.wait()
    #expect(inner.entries == [count])
    #expect(counter.bytes == count)
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }

  @Test("A handler that never returns holds up neither the loop nor a worker")
  func handlerThatDoesNotReturn() async throws {
    let server = try Self.server(4 << 20)
    let session = Session(startRequestsImmediately: false)
    let gate = Gate()
    let requests = (0..<6).map { _ in session.streamRequest(server.url) }
    let counters = requests.map { counting($0, gate) }
    for request in requests { request.resume() }
    for request in requests { try await stops(request, session) }
    #expect(await session.request(server.url).resume().plainResponse().data?.count == 4 << 20)
    #expect(session.context.workers.threadCount == 0)
    for request in requests { request.cancel() }
    for request in requests { await request.settled() }
    #expect(requests.allSatisfy { $0.outcome == .cancelled })
    #expect(await session.activeRequests.isEmpty)
    gate.open()
    for counter in counters { await counter.wait() }
  }

  @Test("A handler on the event loop takes chunks at once, whatever their number")
  func onTheLoop() async throws {
    let server = try Self.server(4 << 20)
    var configuration = SessionConfiguration.default
    configuration.handlerExecution = .eventLoop
    let session = Session(configuration: configuration, startRequestsImmediately: false)
    let request = session.streamRequest(server.url)
    let counter = Counter()
    request.responseStream { stream in
      guard let data = stream.value else { return counter.end() }
      counter.add(data.count)
      if !session.context.loop.isCurrent { counter.add(1 << 30) }
    }
    request.resume()
    await counter.wait()
    #expect(counter.bytes == 4 << 20)
  }
}
