import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir
@testable import WeirTransport

/// Two attempts of one request on the wire.
@Suite("Hedges on the wire", .timeLimit(.minutes(5)))
struct HedgeTransferTests {
  /// Events of attempts and hedges, in their order.
  private final class Recorder: InlineEventMonitor {
    let events = Journal<String>()

    func request(_ request: Request, didStartAttempt number: Int) { events.append("start \(number)") }
    func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {
      events.append("end \(number) \(error?.label ?? metrics.statusCode.map(String.init) ?? "-")")
    }
    func request(_ request: Request, hedge event: HedgeEvent) { events.append("hedge \(event.rawValue)") }
    func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {
      events.append("task \(task.taskIdentifier)")
    }
    func request(_ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason)
    {
      events.append("retry \(reason.rawValue)")
    }
    func requestDidSettle(_ request: Request, outcome: RequestOutcome) { events.append("settled \(outcome.rawValue)") }
  }

  private static func session(
    _ table: DestinationTable, _ recorder: Recorder, slots: Int = 4, _ interceptor: (any RequestInterceptor)? = nil,
    _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) throws -> Session {
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = slots
    change(&configuration)
    return try .sharing(table, configuration, interceptor: interceptor, eventMonitors: [recorder])
  }

  private static let never = Script(.request, .awaitClose)

  private static func says(_ text: String) -> Script { Script(.request, .send(text)) }

  @Test("A second attempt answers for one that hangs; the first is cancelled, and the request shows the second")
  func hedgeWins() async throws {
    let server = try ScriptedServer(Self.never, Self.says(okResponse("second")))
    let (table, recorder) = (DestinationTable(), Recorder())
    let session = try Self.session(table, recorder)
    let request = session.request(server.url).hedge(after: .seconds(0.02))
    let response = await request.serializingString().response
    #expect(response.value == "second")
    #expect(response.metrics?.statusCode == 200)
    #expect(request.task?.taskIdentifier == 2)
    #expect(request.tasks.map(\.taskIdentifier) == [1, 2])
    #expect(request.allMetrics.map(\.statusCode) == [nil, 200])
    #expect(request.retryCount == 0)
    #expect(request.attemptCount == 2)
    #expect(
      recorder.events.entries == [
        "start 1", "start 2", "hedge started", "end 1 cancelled", "hedge won", "task 2", "end 2 200", "settled success",
      ])
    #expect(await soon { server.closedByClientCount == 1 }, "its connection carries nothing any more")
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }

  @Test("A QUERY is hedged as a GET is")
  func query() async throws {
    let server = try ScriptedServer(Self.never, Self.says(okResponse("second")))
    let (table, recorder) = (DestinationTable(), Recorder())
    let session = try Self.session(table, recorder)
    let request = session.request(server.url, method: .query).hedge(after: .seconds(0.02))
    #expect(await request.serializingString().response.value == "second")
    for request in server.allRequests {
      #expect(request.line == "QUERY / HTTP/1.1" && request.value(of: "Content-Length") == "0")
    }
  }

  @Test("The first attempt may still win")
  func firstWins() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("first"))), Self.never)
    let (table, recorder) = (DestinationTable(), Recorder())
    let session = try Self.session(table, recorder)
    let request = session.request(server.url).hedge(after: .seconds(0.01))
    let value = request.serializingString()
    await recorder.events.wait(for: "hedge started")
    gate.open()
    #expect(await value.response.value == "first")
    #expect(request.task?.taskIdentifier == 1)
    #expect(request.tasks.map(\.taskIdentifier) == [2, 1], "the one that answered is last")
    #expect(
      recorder.events.entries == [
        "start 1", "start 2", "hedge started", "hedge lost", "end 2 cancelled", "task 1", "end 1 200",
        "settled success",
      ])
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }

  @Test(
    "A failure says nothing while another attempt runs, of whatever kind it is",
    arguments: ["503 Busy", "429 Slow", ""])
  func failureOfTheFirst(status: String) async throws {
    let (first, second) = (Gate(), Gate())
    let failing: Script.Step = status.isEmpty ? .reset : .send(response(status, body: "busy"))
    let server = try ScriptedServer(
      Script(.request, .wait(first), failing), Script(.request, .wait(second), .send(okResponse("fine"))))
    let (table, recorder) = (DestinationTable(), Recorder())
    let session = try Self.session(table, recorder, RetryPolicy())
    let request = session.request(server.url).hedge(after: .seconds(0.01)).validate()
    let value = request.serializingString()
    await recorder.events.wait(for: "hedge started")
    first.open()
    await recorder.events.wait { $0.contains { $0.hasPrefix("end 1") } }
    second.open()
    #expect(await value.response.value == "fine")
    #expect(recorder.events.entries.suffix(4) == ["hedge won", "task 2", "end 2 200", "settled success"])
    #expect(request.retryCount == 0)
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }

  @Test("When both fail, the later error goes to the retriers, and the retry has the next number")
  func bothFail() async throws {
    let (first, second) = (Gate(), Gate())
    let server = try ScriptedServer(
      Script(.request, .wait(first), .reset), Script(.request, .wait(second), .send(response("503 Busy"))),
      Self.says(okResponse("third")))
    let (table, recorder) = (DestinationTable(), Recorder())
    let session = try Self.session(table, recorder, RetryPolicy(exponentialBackoffScale: 0.001))
    let request = session.request(server.url).hedge(after: .seconds(0.01)).validate()
    let value = request.serializingString()
    await recorder.events.wait(for: "hedge started")
    first.open()
    await recorder.events.wait { $0.contains { $0.hasPrefix("end 1") } }
    second.open()
    #expect(await value.response.value == "third")
    #expect(
      recorder.events.entries == [
        "start 1", "start 2", "hedge started", "end 1 network_connection_lost", "hedge lost", "task 2",
        "end 2 unacceptable_status_code", "retry 503", "start 3", "task 3", "end 3 200", "settled success",
      ])
    #expect(request.retryCount == 1)
    #expect(request.attemptCount == 3)
    #expect(request.tasks.count == 3 && request.allMetrics.count == 3)
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }

  @Test("Adapters run for each attempt, also when they take their time")
  func adapters() async throws {
    let server = try ScriptedServer(Self.never, Self.says(okResponse("x")))
    let (table, recorder) = (DestinationTable(), Recorder())
    let count = Mutex(0)
    let adapter = Adapter { request, _, completion in
      let number = count.withLock {
        $0 += 1
        return $0
      }
      var request = request
      request.setValue("\(number)", forHTTPHeaderField: "X-Number")
      let adapted = request
      DispatchQueue.global().async { completion(.success(adapted)) }
    }
    let session = try Self.session(table, recorder, Interceptor(adapters: [adapter]))
    let request = session.request(server.url).hedge(after: .seconds(0.01))
    #expect(await request.serializingString().response.value == "x")
    #expect(server.allRequests.map { $0.value(of: "X-Number") ?? "" }.sorted() == ["1", "2"])
    #expect(request.request?.value(forHTTPHeaderField: "X-Number") == "2")
  }

  @Test("The delay of the next second attempt counts from the start of the one before, not from its adapters'")
  func slowAdapters() async throws {
    let server = try ScriptedServer(Self.never, Self.never, Self.says(okResponse("third")))
    let (table, recorder, held) = (DestinationTable(), Recorder(), Held<Void>())
    let count = Mutex(0)
    let adapter = Adapter { request, _, completion in
      let number = count.withLock {
        $0 += 1
        return $0
      }
      if number == 1 { completion(.success(request)) } else { held.keep { completion(.success(request)) } }
    }
    let session = try Self.session(table, recorder, Interceptor(adapters: [adapter]))
    let request = session.request(server.url).hedge(after: .seconds(0.02), limit: 2)
    let value = request.serializingString()
    await held.wait()
    try await letPass(0.1)
    #expect(held.count == 1, "one request is made at a time")
    held.answer(())
    await held.wait(for: 2)
    #expect(request.attemptCount == 2)
    held.answer(())
    #expect(await value.response.value == "third")
    #expect(request.attemptCount == 3)
  }

  @Test("Neither a method that may do harm twice is hedged, nor a destination without a free place")
  func notHedged() async throws {
    for (method, slots) in [(HTTPMethod.post, 4), (.patch, 4), (.get, 1)] {
      let gate = Gate()
      let server = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("x"))), Self.never)
      let (table, recorder) = (DestinationTable(), Recorder())
      let session = try Self.session(table, recorder, slots: slots)
      let request = session.request(server.url, method: method).hedge(after: .seconds(0))
      let value = request.serializingString()
      await recorder.events.wait(for: "start 1")
      if slots == 1 { await recorder.events.wait(for: "hedge denied") }
      for _ in 0..<5 { await session.loopTurn() }
      gate.open()
      #expect(await value.response.value == "x")
      #expect(request.attemptCount == 1)
      #expect(server.connectionCount == 1)
    }
  }

  @Test("A hedge that finds no place takes nothing of the budget, and says nothing of retries")
  func noPlace() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .wait(gate), .reset), Script(.request, .awaitClose), Self.says(okResponse("third")))
    let (table, recorder) = (DestinationTable(), Recorder())
    let session = try Self.session(table, recorder, slots: 1, RetryPolicy(exponentialBackoffScale: 0.001)) {
      $0.announcesAttempts = .standard
    }
    let request = session.request(server.url).hedge(after: .seconds(0))
      .retryBudget(RetryBudget(ratio: 0, minimumPerSecond: 0, burst: 1))
    let value = request.serializingString()
    await recorder.events.wait(for: "hedge denied")
    gate.open()
    #expect(await soon { server.allRequests.count == 2 })
    #expect(server.allRequests.map { $0.value(of: "X-Retry-Attempt") } == [nil, "1"])
    request.cancel()
    #expect(await value.response.error?.isExplicitlyCancelledError == true)
  }

  /// What happens while the adapters of a second attempt take their time.
  enum Meanwhile: CaseIterable {
    case theyFail, thePlaceIsTaken, theCircuitOpens
  }

  @Test("A hedge that comes to nothing after its adapters takes nothing of the budget", arguments: Meanwhile.allCases)
  func tooLate(_ meanwhile: Meanwhile) async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .wait(gate), .send(response("503 Busy"))),
      meanwhile == .theCircuitOpens ? Self.says(response("503 Busy")) : Self.never, Self.says(okResponse("third")))
    let (table, recorder, held) = (DestinationTable(), Recorder(), Held<Result<URLRequest, any Error>>())
    let count = Mutex(0)
    let adapter = Adapter { request, _, completion in
      let isSecond = count.withLock {
        $0 += 1
        return $0 == 2
      }
      if isSecond { held.keep { completion($0) } } else { completion(.success(request)) }
    }
    let circuit = CircuitBreaker(minimumRequests: 1)
    let session = try Self.session(table, recorder, slots: 2, Interceptor(adapters: [adapter])) {
      if meanwhile == .theCircuitOpens { $0.circuitBreaker = circuit }
    }
    let budget = RetryBudget(ratio: 0, minimumPerSecond: 0, burst: 1)
    let request = session.request(server.url).hedge(after: .seconds(0.01)).retryBudget(budget)
    let value = request.serializingData()
    await held.wait()
    let other = session.request(server.url)
    let otherValue = other.serializingData()
    switch meanwhile {
    case .theyFail: held.answer(.failure(URLError(.unknown)))
    case .thePlaceIsTaken:
      #expect(await soon { server.allRequests.count == 2 })
      held.answer(.success(try URLRequest(url: server.url, method: .get)))
    case .theCircuitOpens:
      _ = await otherValue.response
      held.answer(.success(try URLRequest(url: server.url, method: .get)))
    }
    if meanwhile != .theyFail { await recorder.events.wait(for: "hedge denied") }
    gate.open()
    #expect(await value.response.response?.statusCode == 503)
    #expect(request.attemptCount == 1)
    #expect(!recorder.events.entries.contains("hedge started"))
    #expect(try table.state(of: server.url).hasRetry(by: budget, at: .now))
    other.cancel()
    _ = await otherValue.response
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }

  @Test("Hedges draw from the retry budget")
  func budget() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("x"))), Self.never)
    let (table, recorder) = (DestinationTable(), Recorder())
    let session = try Self.session(table, recorder)
    let request = session.request(server.url).hedge(after: .seconds(0), limit: 3)
      .retryBudget(RetryBudget(ratio: 0, minimumPerSecond: 0, burst: 1))
    let value = request.serializingString()
    await recorder.events.wait(for: "hedge denied")
    gate.open()
    #expect(await value.response.value == "x")
    #expect(recorder.events.entries.prefix(4) == ["start 1", "start 2", "hedge started", "hedge denied"])
    #expect(request.attemptCount == 2)
  }

  @Test("Cancels, deadlines and a session's end apply to both attempts", arguments: ["cancel", "deadline", "session"])
  func endedFromOutside(how: String) async throws {
    let server = try ScriptedServer(Self.never, Self.never)
    let (table, recorder) = (DestinationTable(), Recorder())
    let session = try Self.session(table, recorder)
    let request = session.request(server.url).hedge(after: .seconds(0.01))
    if how == "deadline" { request.deadline(2) }
    let value = request.serializingString()
    await recorder.events.wait(for: "hedge started")
    #expect(await soon { server.connectionCount == 2 })
    request.suspend()
    request.resume()
    if how == "cancel" { request.cancel() }
    if how == "session" { session.invalidateAndCancel() }
    #expect(await value.response.error != nil)
    await recorder.events.wait { $0.last?.hasPrefix("settled") == true }
    let ends = recorder.events.entries.filter { $0.hasPrefix("end") || $0 == "hedge lost" }
    #expect(ends.prefix(2) == ["hedge lost", "end 2 cancelled"])
    #expect(ends.count == 3 && ends[2].hasPrefix("end 1"))
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
    #expect(await soon { server.closedByClientCount == 2 })
  }

  @Test("A redirect is followed by either; the race is decided by final heads")
  func redirects() async throws {
    // The second is at its first hop until the first is at its next, so that each has its own connection.
    let gate = Gate()
    let server = try ScriptedServer(
      Script(
        .request, .send(response("302 Found", ["Location: /next"])), .request, .call { gate.open() }, .awaitClose),
      Script(
        .request, .wait(gate), .send(response("302 Found", ["Location: /next"])), .request, .send(okResponse("x"))))
    let (table, recorder) = (DestinationTable(), Recorder())
    let session = try Self.session(table, recorder)
    let request = session.request(server.url).hedge(after: .seconds(0.05))
    #expect(await request.serializingString().response.value == "x")
    #expect(request.metrics?.redirectCount == 1)
    #expect(request.response?.url?.path == "/next")
    #expect(request.task?.taskIdentifier == 2)
  }

  @Test("A quantile hedges nothing before it knows a hundred responses, then those that are slower")
  func quantile() async throws {
    let isFirst = Mutex(true)
    let server = try ScriptedServer(
      Script(
        .forever([
          .dispatch { line in
            guard line.contains("slow") else { return [.send(okResponse("x"))] }
            let hangs = isFirst.withLock { isFirst in
              defer { isFirst = false }
              return isFirst
            }
            return hangs ? [.awaitClose] : [.send(okResponse("x"))]
          }
        ])))
    let (table, recorder) = (DestinationTable(), Recorder())
    let session = try Self.session(table, recorder)
    for _ in 0..<101 {
      #expect(
        await session.request(server.url).hedge(after: .quantile(0.999)).serializingString().response.value
          == "x")
    }
    let request = session.request(server.url + "slow").hedge(after: .quantile(0.95))
    #expect(await request.serializingString().response.value == "x")
    #expect(request.attemptCount == 2)
  }
}
