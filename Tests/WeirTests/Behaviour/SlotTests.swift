import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

/// Attempts that give their slot up while they wait for something else, and take one again.
@Suite("Slots given up", .slow, .timeLimit(.minutes(5)))
struct SlotTests {
  @Test("The slot is free between the hops of a redirect, and there is one again for the next")
  func redirects() async throws {
    let server = try ScriptedServer(
      Script(
        .forever([
          .request, .send(response("302 Found", ["Location: /next"])), .request, .send(okResponse("other")), .request,
          .send(okResponse("next")),
        ])))
    let table = DestinationTable()
    let session = try Session.sharing(table, .limited())
    let first = session.request(server.url + "first").serializingString()
    let second = session.request(server.url + "second").serializingString()
    #expect(await first.response.value == "next")
    #expect(await second.response.value == "other")
    #expect(server.requests().map(\.target) == ["/first", "/second", "/next"])
    #expect(server.connectionCount == 1)
    #expect(await first.response.metrics?.redirectCount == 1)
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }

  /// Cancels the request as soon as its task runs, which is before it asks for a slot.
  private final class AtOnce: InlineEventMonitor {
    func request(_ request: Request, didResumeTask task: TransferTask) { request.cancel() }
  }

  @Test("A request that is cancelled in the moment before it gets its slot leaves that to others")
  func cancelledBeforeItsSlot() async throws {
    let server = try answering(okResponse("x"))
    let table = DestinationTable()
    let session = try Session.sharing(table, .limited())
    let cancelled = session.request(server.url).eventMonitor(AtOnce())
    #expect(await cancelled.serializingData().response.error?.isExplicitlyCancelledError == true)
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
    #expect(try await session.request(server.url).serializingString().value == "x")
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
      table, .limited(to: 2) { $0.maximumRedirects = 10_000 }, redirectHandler: held)
    let tasks = (0..<40).map { _ in session.request(server.url).serializingString() }
    for task in tasks { #expect(await task.response.value == "x") }
    #expect(under.withLock { $0.most } <= 2)
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
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
    let session = try Session.sharing(table, .limited())
    let inner = Journal<String>()
    let request = session.request(server.url).onHTTPResponse { _ in
      inner.append(await session.request(server.url).serializingString().response.value ?? "-")
    }
    #expect(await request.serializingString().response.value == "x")
    #expect(inner.entries == ["x"])
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }

  @Test("A transfer that gave up its slot waits for one before it goes on, ahead of those who never had one")
  func waitsForASlot() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .send(okResponse("parked")), .forever([.request, .send(okResponse("later"))])),
      Script(.request, .wait(gate), .send(okResponse("blocker")), .forever([.request, .send(okResponse("later"))])))
    let table = DestinationTable()
    let session = try Session.sharing(table, .limited())
    let held = Held<Request.ResponseDisposition>()
    let parked = session.request(server.url).onHTTPResponse { _, completion in held.keep(completion) }
    let task = parked.serializingString()
    await held.wait()
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 1, 0])
    let blocker = session.request(server.url).serializingString()
    let later = session.request(server.url).serializingString()
    try await eventually("the blocker has arrived") { !server.received(on: 1).isEmpty }
    held.answer(.allow)
    for _ in 0..<50 { await session.loopTurn() }
    #expect(!parked.isFinished, "there is no slot for it")
    #expect(parked.data == nil)
    #expect(try table.occupancy(of: server) == [1, 1, 1])
    gate.open()
    #expect(await blocker.response.value == "blocker")
    #expect(await task.response.value == "parked")
    #expect(await later.response.value == "later")
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
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
    let session = try Session.sharing(table, .limited())
    let held = Held<Request.ResponseDisposition>()
    let parked = session.request(server.url).onHTTPResponse { _, completion in held.keep(completion) }
    if how == "deadline" { parked.deadline(2) }
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
      #expect(try table.occupancy(of: server) == [0, 1, 0])
      parked.resume()
      #expect(await task.response.value == "parked")
    }
    gate.open()
    #expect(await blocker.response.value == "blocker")
    #expect(await session.request(server.url).serializingString().response.value == "later")
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
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
    let session = try Session.sharing(table, .limited())
    let request = session.request(server.url).eventMonitor(recorder)
    let task = request.serializingString()
    try await eventually("half has arrived") { request.data?.count == 4 }
    request.suspend()
    await recorder.events.wait(for: "suspendTask")
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 1, 0])
    #expect(await session.request(server.url).serializingString().response.value == "other")
    gate.open()
    request.resume()
    #expect(await task.response.value == "halfhalf")
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }

  @Test("A retry's delay holds no slot")
  func retryDelay() async throws {
    let server = try answeringInTurn(response("503 Busy"), okResponse("other"))
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(configuration: .limited())
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
    let session = try Session.sharing(table, .limited { $0.headers = [:] })
    let held = Held<Request.ResponseDisposition>()
    let tasks = (0..<258).map { _ in
      session.request(server.url).onHTTPResponse { _, completion in held.keep(completion) }.serializingString()
    }
    await held.wait(for: 257)
    try await eventually("all are parked") { try table.occupancy(of: server) == [1, 256, 1] }
    for _ in 0..<20 { await session.loopTurn() }
    #expect(held.count == 257)
    #expect(server.connectionCount == 257)
    held.answer(.allow)
    await held.wait(for: 258)
    held.answer(.allow)
    for task in tasks { #expect(await task.response.value == "x") }
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
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
      table, .limited(to: 3), interceptor: Retrier { $3($0.retryCount < 5 ? .retry : .doNotRetry) },
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
      #expect(try table.occupancy(of: server)[0] <= 3)
    }
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
    #expect(await session.activeRequests.isEmpty)
  }
}
