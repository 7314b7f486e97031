import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir
@testable import WeirTransport

/// The limit of attempts per destination, with requests on the wire.
@Suite("Connection limit", .timeLimit(.minutes(5)))
struct AdmissionTransferTests {
  @Test("Beyond the limit requests wait, and go in the order in which they came")
  func order() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .wait(gate), .send(okResponse("0")), .forever([.request, .send(okResponse("n"))])))
    let session = Session(configuration: .limited())
    let tasks = (0..<20).map { session.request(server.url + "\($0)").serializingString() }
    try await eventually("the first has arrived") { !server.received().isEmpty }
    await session.loopTurn()
    #expect(server.allRequests.count == 1)
    gate.open()
    for task in tasks { #expect(await task.response.error == nil) }
    #expect(server.requests().map(\.target) == (0..<20).map { "/\($0)" })
    #expect(server.connectionCount == 1)
    #expect(await tasks[0].response.metrics?.queue ?? 1 < (await tasks[19].response.metrics?.queue ?? 0))
  }

  @Test("There are never more attempts on the wire than the limit", arguments: [1, 3, 8])
  func limit(_ slots: Int) async throws {
    let under = Mutex((now: 0, most: 0))
    let server = try ScriptedServer(
      Script(
        .forever([
          .request,
          .call {
            under.withLock {
              $0.now += 1
              $0.most = max($0.most, $0.now)
            }
          }, .sleep(0.001), .call { under.withLock { $0.now -= 1 } }, .send(okResponse("x")),
        ])))
    let session = Session(configuration: .limited(to: slots))
    let tasks = (0..<60).map { _ in session.request(server.url).serializingString() }
    for task in tasks { #expect(await task.response.value == "x") }
    #expect(under.withLock { $0.most } <= slots)
    #expect(server.connectionCount <= slots)
  }

  @Test("More than may wait are turned away at once; no retrier is asked about that")
  func queueFull() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .wait(gate), .send(okResponse("x")), .forever([.request, .send(okResponse("x"))])))
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(
      configuration: .limited { $0.maximumPendingRequestsPerHost = 2 },
      interceptor: Retrier { _, _, error, completion in
        Issue.record("asked about \(error)")
        completion(.retry)
      })
    let first = (0..<3).map { _ in session.request(server.url).serializingString() }
    let refused = session.request(server.url).eventMonitor(recorder)
    let error = try #require(await refused.serializingString().response.error)
    guard case .requestRejected(.queueFull) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(refused.outcome == .rejected)
    #expect(refused.attemptCount == 0)
    #expect(refused.tasks.map(\.state) == [.completed])
    #expect(refused.allMetrics.count == 1)
    #expect(
      recorder.names.suffix(4) == [
        "completeTask(queue_full)", "finish", "parse(queue_full)", "settle(rejected)",
      ])
    gate.open()
    for task in first { #expect(await task.response.value == "x") }
    #expect(server.allRequests.count == 3)
  }

  @Test("A request that waits too long is turned away, and leaves no slot behind")
  func admissionTimeout() async throws {
    let server = try ScriptedServer(Script(.request, .awaitClose), .answering(okResponse("x")))
    let table = DestinationTable()
    let session = try Session.sharing(table, .limited { $0.admissionTimeout = 0.05 })
    let blocker = session.request(server.url).resume()
    let late = session.request(server.url)
    let error = try #require(await late.serializingString().response.error)
    guard case .requestRejected(.admissionTimeout) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(late.outcome == .rejected)
    #expect(late.metrics?.queue ?? 0 >= 0.05)
    #expect(try table.occupancy(of: server) == [1, 0, 0])
    blocker.cancel()
    #expect(await session.request(server.url).serializingString().response.value == "x")
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }

  @Test("A waiter that is cancelled leaves at once and makes room")
  func cancelled() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .wait(gate), .send(okResponse("x")), .forever([.request, .send(okResponse("x"))])))
    let session = Session(configuration: .limited { $0.maximumPendingRequestsPerHost = 1 })
    let first = session.request(server.url + "first").serializingString()
    for _ in 0..<100 {
      let waiting = session.request(server.url + "never")
      let task = waiting.serializingString()
      await session.loopTurn()
      waiting.cancel()
      #expect(await task.response.error?.isExplicitlyCancelledError == true)
    }
    let last = session.request(server.url + "last").serializingString()
    await session.loopTurn()
    gate.open()
    #expect(await first.response.value == "x")
    #expect(await last.response.value == "x")
    #expect(server.allRequests.map(\.target) == ["/first", "/last"])
  }

  @Test("Destinations do not wait for each other")
  func destinationsAreApart() async throws {
    let (blocked, free) = (try BlackHole(), try answering(okResponse("x")))
    let session = Session(configuration: .limited())
    let waiting = (0..<3).map { _ in session.request(blocked.url).resume() }
    #expect(await session.request(free.url).serializingString().response.value == "x")
    for request in waiting { request.cancel() }
  }
}

extension SessionConfiguration {
  /// So many attempts per destination at a time.
  static func limited(
    to slots: Int = 1, _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> SessionConfiguration {
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = slots
    change(&configuration)
    return configuration
  }
}

extension DestinationTable {
  /// Slots taken, transfers parked, requests waiting at the destination of a server.
  func occupancy(of server: ScriptedServer) throws -> [Int] { try state(of: server.url).occupancy }

  func occupancy(of hole: BlackHole) throws -> [Int] { try state(of: hole.url).occupancy }

  /// What is known of the destination that a URL leads to.
  func state(of url: String) throws -> DestinationState {
    let url = try #require(URL(string: url))
    let limits = TransportLimits(slots: 64, waiting: 10_000, admissionTimeout: 30)
    return state(for: try #require(Destination(url: url)), limits: limits)
  }
}
