import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

/// The limit of attempts per destination, with requests on the wire.
@Suite("Connection limit", .timeLimit(.minutes(1)))
struct AdmissionTransferTests {
  private func configuration(
    slots: Int = 1, _ change: (inout SessionConfiguration) -> Void = { _ in }
  )
    -> SessionConfiguration
  {
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = slots
    change(&configuration)
    return configuration
  }

  /// Slots taken, transfers parked, requests waiting at the destination of a server.
  private func occupancy(_ table: DestinationTable, _ server: ScriptedServer) throws -> [Int] {
    let url = try #require(URL(string: server.url))
    let destination = try #require(Destination(url: url))
    return table.state(for: destination, configuration: .default).occupancy
  }

  // MARK: The queue

  @Test("Beyond the limit requests wait, and go in the order in which they came")
  func order() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .wait(gate), .send(okResponse("0")), .forever([.request, .send(okResponse("n"))])))
    let session = Session(configuration: configuration())
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
    let session = Session(configuration: configuration(slots: slots))
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
      configuration: configuration { $0.maximumPendingRequestsPerHost = 2 },
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

  @Test("Who waits too long is turned away, and leaves no slot behind")
  func admissionTimeout() async throws {
    let server = try ScriptedServer(Script(.request, .awaitClose), .answering(okResponse("x")))
    let table = DestinationTable()
    let session = try Session.sharing(table, configuration { $0.admissionTimeout = 0.05 })
    let blocker = session.request(server.url).resume()
    let late = session.request(server.url)
    let error = try #require(await late.serializingString().response.error)
    guard case .requestRejected(.admissionTimeout) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(late.outcome == .rejected)
    #expect(late.metrics?.queue ?? 0 >= 0.05)
    #expect(try occupancy(table, server) == [1, 0, 0])
    blocker.cancel()
    #expect(await session.request(server.url).serializingString().response.value == "x")
    await session.loopTurn()
    #expect(try occupancy(table, server) == [0, 0, 0])
  }

  @Test("A waiter that is cancelled leaves at once and makes room")
  func cancelled() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .wait(gate), .send(okResponse("x")), .forever([.request, .send(okResponse("x"))])))
    let session = Session(configuration: configuration { $0.maximumPendingRequestsPerHost = 1 })
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
    let session = Session(configuration: configuration())
    let waiting = (0..<3).map { _ in session.request(blocked.url).resume() }
    #expect(await session.request(free.url).serializingString().response.value == "x")
    for request in waiting { request.cancel() }
  }

  // MARK: Giving the slot up

  @Test("The slot is free between the hops of a redirect, and there is one again for the next")
  func redirects() async throws {
    let server = try ScriptedServer(
      Script(
        .forever([
          .request, .send(response("302 Found", ["Location: /next"])), .request, .send(okResponse("other")), .request,
          .send(okResponse("next")),
        ])))
    let table = DestinationTable()
    let session = try Session.sharing(table, configuration())
    let first = session.request(server.url + "first").serializingString()
    let second = session.request(server.url + "second").serializingString()
    #expect(await first.response.value == "next")
    #expect(await second.response.value == "other")
    #expect(server.requests().map(\.target) == ["/first", "/second", "/next"])
    #expect(server.connectionCount == 1)
    #expect(await first.response.metrics?.redirectCount == 1)
    await session.loopTurn()
    #expect(try occupancy(table, server) == [0, 0, 0])
  }

  @Test("Many redirected requests never exceed the limit")
  func manyRedirects() async throws {
    let under = Mutex((now: 0, most: 0, count: 0))
    let server = try ScriptedServer(
      Script(
        .forever([
          .request,
          .call {
            under.withLock {
              $0.now += 1
              $0.most = max($0.most, $0.now)
            }
          }, .sleep(0.0005), .call { under.withLock { $0.now -= 1 } },
          .answer {
            under.withLock {
              $0.count += 1
              return $0.count % 3 == 0 ? okResponse("x") : response("302 Found", ["Location: /again"], body: "moved")
            }
          },
        ])))
    let held = RedirectorPool()
    let table = DestinationTable()
    let session = try Session.sharing(
      table, configuration(slots: 2) { $0.maximumRedirects = 10_000 }, redirectHandler: held)
    let tasks = (0..<40).map { _ in session.request(server.url).serializingString() }
    for task in tasks { #expect(await task.response.value == "x") }
    #expect(under.withLock { $0.most } <= 2)
    await session.loopTurn()
    #expect(try occupancy(table, server) == [0, 0, 0])
  }

  /// Answers at once or elsewhere.
  private final class RedirectorPool: RedirectHandler {
    private let random = Mutex(SeededRandom(seed: 3))

    func task(
      _ task: TransferTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
      completion: @escaping @Sendable (URLRequest?) -> Void
    ) {
      if random.withLock({ $0.next() }) % 2 == 0 {
        completion(request)
      } else {
        DispatchQueue.global().async { completion(request) }
      }
    }
  }

  @Test("Code that looks at a head may use the same destination, whatever the limit")
  func userCodeMayUseTheDestination() async throws {
    let server = try answering(okResponse("x"))
    let table = DestinationTable()
    let session = try Session.sharing(table, configuration())
    let inner = Journal<String>()
    let request = session.request(server.url).onHTTPResponse { _ in
      inner.append(await session.request(server.url).serializingString().response.value ?? "-")
    }
    #expect(await request.serializingString().response.value == "x")
    #expect(inner.entries == ["x"])
    await session.loopTurn()
    #expect(try occupancy(table, server) == [0, 0, 0])
  }

  @Test("A transfer that gave up its slot waits for one before it goes on, ahead of those who never had one")
  func waitsForASlot() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .send(okResponse("parked")), .forever([.request, .send(okResponse("later"))])),
      Script(.request, .wait(gate), .send(okResponse("blocker")), .forever([.request, .send(okResponse("later"))])))
    let table = DestinationTable()
    let session = try Session.sharing(table, configuration())
    let held = Held<Request.ResponseDisposition>()
    let parked = session.request(server.url).onHTTPResponse { _, completion in held.keep(completion) }
    let task = parked.serializingString()
    await held.wait()
    await session.loopTurn()
    #expect(try occupancy(table, server) == [0, 1, 0])
    let blocker = session.request(server.url).serializingString()
    let later = session.request(server.url).serializingString()
    try await eventually("the blocker has arrived") { !server.received(on: 1).isEmpty }
    held.answer(.allow)
    for _ in 0..<50 { await session.loopTurn() }
    #expect(!parked.isFinished, "there is no slot for it")
    #expect(parked.data == nil)
    #expect(try occupancy(table, server) == [1, 1, 1])
    gate.open()
    #expect(await blocker.response.value == "blocker")
    #expect(await task.response.value == "parked")
    #expect(await later.response.value == "later")
    await session.loopTurn()
    #expect(try occupancy(table, server) == [0, 0, 0])
    #expect(parked.metrics?.queue ?? 0 > 0)
  }

  @Test(
    "While it waits for a slot again a transfer can be cancelled, suspended, timed out",
    arguments: [
      "cancel", "suspend", "deadline", "task",
    ])
  func interruptedWhileItWaits(_ how: String) async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .send(okResponse("parked")), .forever([.request, .send(okResponse("later"))])),
      Script(.request, .wait(gate), .send(okResponse("blocker")), .forever([.request, .send(okResponse("later"))])))
    let table = DestinationTable()
    let session = try Session.sharing(table, configuration())
    let held = Held<Request.ResponseDisposition>()
    let parked = session.request(server.url).onHTTPResponse { _, completion in held.keep(completion) }
    if how == "deadline" { parked.deadline(1) }
    let task = parked.serializingString()
    await held.wait()
    let blocker = session.request(server.url).serializingString()
    try await eventually("the blocker has arrived") { !server.received(on: 1).isEmpty }
    held.answer(.allow)
    for _ in 0..<10 { await session.loopTurn() }
    switch how {
    case "cancel":
      parked.cancel()
      #expect(await task.response.error?.isExplicitlyCancelledError == true)
    case "deadline": #expect(await task.response.error?.urlErrorCode == .timedOut)
    case "task":
      parked.task?.cancel()
      #expect(await task.response.error?.urlErrorCode == .cancelled)
    default:
      parked.suspend()
      for _ in 0..<10 { await session.loopTurn() }
      gate.open()
      #expect(await blocker.response.value == "blocker")
      for _ in 0..<10 { await session.loopTurn() }
      #expect(try occupancy(table, server) == [0, 1, 0])
      parked.resume()
      #expect(await task.response.value == "parked")
    }
    gate.open()
    #expect(await blocker.response.value == "blocker")
    #expect(await session.request(server.url).serializingString().response.value == "later")
    await session.loopTurn()
    #expect(try occupancy(table, server) == [0, 0, 0])
  }

  @Test("A suspended transfer keeps its connection, not its slot")
  func suspended() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(
        .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf"), .wait(gate), .send("half"), .awaitClose),
      .answering(okResponse("other")))
    let recorder = EventRecorder()
    let table = DestinationTable()
    let session = try Session.sharing(table, configuration())
    let request = session.request(server.url).eventMonitor(recorder)
    let task = request.serializingString()
    try await eventually("half has arrived") { request.data?.count == 4 }
    request.suspend()
    await recorder.events.wait(for: "suspendTask")
    await session.loopTurn()
    #expect(try occupancy(table, server) == [0, 1, 0])
    #expect(await session.request(server.url).serializingString().response.value == "other")
    gate.open()
    request.resume()
    #expect(await task.response.value == "halfhalf")
    await session.loopTurn()
    #expect(try occupancy(table, server) == [0, 0, 0])
  }

  @Test("A retry's delay holds no slot")
  func retryDelay() async throws {
    let server = try answeringInTurn(response("503 Busy"), okResponse("other"))
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(configuration: configuration())
    let request = session.request(server.url, interceptor: Retrier { $3(.retryWithDelay(60)) }).validate()
      .eventMonitor(recorder)
    let task = request.serializingString()
    await recorder.events.wait(for: "willRetry(backoff, 503)")
    #expect(await session.request(server.url).serializingString().response.value == "other")
    request.cancel()
    _ = await task.response
  }

  @Test("At most 256 transfers of a destination are parked; the next one keeps its slot")
  func parkedLimit() async throws {
    let server = try answering(okResponse("x"))
    let table = DestinationTable()
    let session = try Session.sharing(table, configuration { $0.headers = [:] })
    let held = Held<Request.ResponseDisposition>()
    let tasks = (0..<258).map { _ in
      session.request(server.url).onHTTPResponse { _, completion in held.keep(completion) }.serializingString()
    }
    await held.wait(for: 257)
    try await eventually("all are parked") { try occupancy(table, server) == [1, 256, 1] }
    for _ in 0..<20 { await session.loopTurn() }
    #expect(held.count == 257)
    #expect(server.connectionCount == 257)
    held.answer(.allow)
    await held.wait(for: 258)
    held.answer(.allow)
    for task in tasks { #expect(await task.response.value == "x") }
    await session.loopTurn()
    #expect(try occupancy(table, server) == [0, 0, 0])
  }

  @Test("Whatever requests do, at random: all end, the limit holds, no slot is lost")
  func atRandom() async throws {
    let under = Mutex((now: 0, most: 0, random: SeededRandom(seed: 11)))
    let server = try ScriptedServer(
      Script(
        .forever([
          .request,
          .answer {
            under.withLock {
              switch $0.random.next() % 4 {
              case 0: response("302 Found", ["Location: /again"], body: "moved")
              case 1: response("503 Busy", body: "busy")
              default: okResponse(String(repeating: "x", count: 3_000))
              }
            }
          },
        ])))
    let table = DestinationTable()
    let session = try Session.sharing(
      table, configuration(slots: 3), interceptor: Retrier { $3($0.retryCount < 5 ? .retry : .doNotRetry) },
      redirectHandler: RedirectorPool())
    var random = SeededRandom(seed: 12)
    for _ in 0..<20 {
      let requests = (0..<30).map { _ in
        let request = session.request(server.url).validate()
        let (delay, kind) = (Int(random.next() % 3_000), random.next() % 5)
        if kind == 0 {
          request.onHTTPResponse { _, completion in
            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(delay)) { completion(.allow) }
          }
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(delay)) {
          switch kind {
          case 1: request.cancel()
          case 2:
            request.suspend()
            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(delay / 2)) { request.resume() }
          case 3: request.task?.cancel()
          default: break
          }
        }
        return request
      }
      for request in requests { _ = await request.serializingData().response }
      #expect(try occupancy(table, server)[0] <= 3)
    }
    await session.loopTurn()
    #expect(try occupancy(table, server) == [0, 0, 0])
    #expect(await session.activeRequests.isEmpty)
  }
}
