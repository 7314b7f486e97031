import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// A request whose outcome is fixed is answered without a worker or a queue, whatever those do.
@Suite("Fixed outcomes", .slow, .timeLimit(.minutes(5)))
struct FixedOutcomeTests {
  /// Too large to be serialized on the loop.
  private static let body = String(repeating: "x", count: 70_000)

  /// Holds whoever runs it until a test opens the gate, and counts.
  private struct Stuck: DataResponseSerializerProtocol {
    let gate: Gate
    let runs: Journal<String>

    func serialize(
      request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> String {
      runs.append(error.map { "\($0)" } ?? "success")
      gate.wait()
      return "done"
    }
  }

  /// Where the bodies of these tests are serialized.
  enum Place: CaseIterable {
    case workers, queue, blockedQueue
  }

  /// Keeps everybody busy who serializes until `gate` opens.
  private func occupy(
    _ place: Place, _ gate: Gate, _ runs: Journal<String>, _ url: String
  ) async throws -> (session: Session, occupants: [DataTask<String>]) {
    let queue = DispatchQueue(label: "serialization")
    let session = Session(serializationQueue: place == .workers ? nil : queue)
    if place == .blockedQueue {
      queue.async { gate.wait() }
      return (session, [])
    }
    let count = place == .workers ? 2 : 1
    let occupants = (0..<count).map { _ in
      session.request(url).serializingResponse(using: Stuck(gate: gate, runs: runs))
    }
    await runs.wait { $0.count == count }
    return (session, occupants)
  }

  /// Returns when the request waits for its turn to be serialized.
  private func untilSerializing(_ request: DataRequest) async throws {
    try await eventually("its body is there") { request.metrics != nil }
    await (request.delegate as? Session)?.loopTurn()
  }

  @Test("A large body that is not read needs no worker")
  func bytesAsTheyAre() async throws {
    let (gate, runs) = (Gate(), Journal<String>())
    defer { gate.open() }
    let server = try answering(okResponse(Self.body))
    let (session, _) = try await occupy(.workers, gate, runs, server.url)
    let request = session.request(server.url)
    async let plain = withCheckedContinuation { continuation in
      request.response(queue: .global()) { continuation.resume(returning: $0.data) }
    }
    #expect(try await request.serializingData().value == Data(Self.body.utf8))
    #expect(await plain == Data(Self.body.utf8))
  }

  @Test("Cancelling is answered at once while all workers serialize", arguments: Place.allCases)
  func cancel(_ place: Place) async throws {
    let (gate, runs, late) = (Gate(), Journal<String>(), Journal<String>())
    defer { gate.open() }
    let server = try answering(okResponse(Self.body))
    let (session, occupants) = try await occupy(place, gate, runs, server.url)
    let recorder = EventRecorder()
    var fastest = Duration.seconds(60)
    for _ in 0..<3 {
      let request = session.request(server.url).eventMonitor(recorder)
      let task = request.serializingString()
      let stuck = request.serializingResponse(using: Stuck(gate: gate, runs: late))
      try await untilSerializing(request)
      let began = ContinuousClock.now
      request.cancel()
      #expect(await task.response.error?.isExplicitlyCancelledError == true)
      #expect(await stuck.response.error?.isExplicitlyCancelledError == true)
      fastest = min(fastest, ContinuousClock.now - began)
      let again = await request.serializingString().response
      #expect(again.error?.isExplicitlyCancelledError == true, "and who comes late is not kept waiting either")
    }
    #expect(fastest < .seconds(5))
    #expect(recorder.violations.entries == [])
    gate.open()
    for occupant in occupants { #expect(await occupant.response.value == "done") }
    #expect(await session.request(server.url).serializingString().response.value == Self.body, "the pool goes on")
    #expect(late.entries == [], "nobody serializes for those who have their answer")
  }

  @Test("So is the deadline", arguments: Place.allCases)
  func deadline(_ place: Place) async throws {
    let (gate, runs, late) = (Gate(), Journal<String>(), Journal<String>())
    defer { gate.open() }
    let server = try answering(okResponse(Self.body))
    let (session, occupants) = try await occupy(place, gate, runs, server.url)
    var smallest = TimeInterval(60)
    for _ in 0..<3 {
      let request = session.request(server.url).deadline(0.3)
      let task = request.serializingString()
      let stuck = request.serializingResponse(using: Stuck(gate: gate, runs: late))
      #expect(await task.response.error?.urlErrorCode == .timedOut)
      #expect(await stuck.response.error?.urlErrorCode == .timedOut)
      #expect(request.outcome == .timeout)
      smallest = min(smallest, try #require(request.duration) - 0.3)
    }
    #expect(smallest < 5)
    gate.open()
    for occupant in occupants { #expect(await occupant.response.value == "done") }
    #expect(await session.request(server.url).serializingString().response.value == Self.body)
    #expect(late.entries == [])
  }

  @Test("Cancel and deadline of a request that is being serialized are answered at once; its value is dropped")
  func whileSerializing() async throws {
    let (gate, runs) = (Gate(), Journal<String>())
    defer { gate.open() }
    let server = try answering(okResponse(Self.body))
    let session = Session()
    let cancelled = session.request(server.url)
    let late = session.request(server.url).deadline(2)
    let tasks = [cancelled, late].map { $0.serializingResponse(using: Stuck(gate: gate, runs: runs)) }
    await runs.wait { $0.count == 2 }
    cancelled.cancel()
    #expect(await tasks[0].response.error?.isExplicitlyCancelledError == true)
    #expect(await tasks[1].response.error?.urlErrorCode == .timedOut)
    gate.open()
    #expect(await session.request(server.url).serializingString().response.value == Self.body)
    await session.loopTurn()
    #expect(await tasks[0].response.error?.isExplicitlyCancelledError == true)
    #expect(late.outcome == .timeout)
    #expect(runs.entries == ["success", "success"])
  }

  @Test("Serializers that wait for one that finds no worker end with the deadline")
  func deadlock() async throws {
    let server = try answering(okResponse(Self.body))
    var configuration = SessionConfiguration.default
    configuration.timeoutIntervalForResource = 2
    let session = Session(configuration: configuration)
    let (gate, runs) = (Gate(), Journal<String>())
    defer { gate.open() }
    let waiting = (0..<2).map { _ in
      session.request(server.url).serializingResponse(using: Stuck(gate: gate, runs: runs))
    }
    await runs.wait { $0.count == 2 }
    let third = session.request(server.url).serializingString()
    #expect(await third.response.error?.urlErrorCode == .timedOut)
    for task in waiting { #expect(await task.response.error?.urlErrorCode == .timedOut) }
  }

  @Test("The end of a session and a full queue are answered without the queue that serializes")
  func endsAndRefusals() async throws {
    let (gate, runs) = (Gate(), Journal<String>())
    defer { gate.open() }
    let hole = try BlackHole()
    let queue = DispatchQueue(label: "serialization")
    queue.async { gate.wait() }
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = 1
    configuration.maximumPendingRequestsPerHost = 0
    let session = Session(configuration: configuration, serializationQueue: queue)
    let first = session.request(hole.url).serializingString()
    try await eventually("it is on its way") { hole.connectionCount == 1 }
    let second = session.request(hole.url).serializingResponse(using: Stuck(gate: gate, runs: runs))
    guard case .requestRejected(.queueFull)? = await second.response.error else {
      Issue.record("not refused")
      return
    }
    session.invalidateAndCancel()
    #expect(await first.response.error?.isSessionInvalidatedError == true)
    #expect(runs.entries == [])
  }
}
