import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir
@testable import WeirTransport

/// What load control does to requests on the wire.
@Suite("Load control on the wire", .slow, .timeLimit(.minutes(5)))
struct OverloadTransferTests {
  private let busy = response("503 Busy", body: "busy")

  /// A session that shares a destination with the test.
  private static func session(
    _ table: DestinationTable, _ recorder: OverloadRecorder = OverloadRecorder(),
    _ settings: OverloadSettings = .default, slots: Int = 64, _ interceptor: (any RequestInterceptor)? = nil,
    _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) throws -> Session {
    try .sharing(
      table, .controlled(settings, slots: slots, change), interceptor: interceptor, eventMonitors: [recorder])
  }

  /// The server's destination, once the session has made it. A test that asked sooner would make it with other slots.
  private static func onceOnTheWire(
    _ server: ScriptedServer, _ table: DestinationTable
  ) async throws -> DestinationState {
    try await eventually("the first request has come") { !server.received().isEmpty }
    return try table.state(of: server.url)
  }

  // MARK: Refusals

  @Test("An overloaded destination gets no more than its limit; the others are refused, and no retrier is asked")
  func refused() async throws {
    let server = try answering(okResponse("x"))
    let (table, recorder) = (DestinationTable(), OverloadRecorder())
    let asked = Journal<String>()
    let retrier = Retrier {
      asked.append($2.asWeirError?.label ?? "-")
      $3(.retry)
    }
    let session = try Self.session(table, recorder, .default, retrier)
    let state = try table.state(of: server.url)
    state.becomeOverloaded()
    let held = state.fill()
    let requests = (0..<10).map { _ in session.request(server.url) }
    let tasks = requests.map { $0.serializingData() }
    var reasons: [ShedReason?] = []
    for task in tasks { reasons.append(await task.response.error?.shedReason) }
    #expect(reasons.allSatisfy { [.overload, .waited].contains($0) })
    #expect(reasons.contains(.overload) && reasons.contains(.waited))
    for request in requests {
      #expect(request.outcome == .rejected)
      #expect(request.attemptCount == 0)
      await request.settled()
    }
    #expect(recorder.shed.entries.count == 10)
    #expect(recorder.abandoned.entries.isEmpty)
    #expect(server.connectionCount == 0)
    #expect(asked.entries.isEmpty)
    #expect(recorder.states.entries.first == .overloaded)
    state.empty(held)
    await session.loopTurn()
    #expect(state.occupancy == [0, 0, 0] && state.onWire == 0 && state.waitingRoom == 0)
  }

  @Test("A silent destination is asked now and then, and an answer ends the silence")
  func silent() async throws {
    let server = try answering(okResponse("x"))
    let (table, recorder) = (DestinationTable(), OverloadRecorder())
    let session = try Self.session(table, recorder)
    try table.state(of: server.url).becomeSilent()
    var refused = 0
    while true {
      let response = await session.request(server.url).serializingString().response
      if response.value == "x" { break }
      #expect(response.error?.shedReason == .silent)
      refused += 1
    }
    #expect(refused > 0)
    #expect(server.allRequests.count == 1)
    await session.loopTurn()
    #expect(recorder.states.entries == [.silent, .normal])
    #expect(try await session.request(server.url).serializingString().value == "x")
  }

  @Test("While no caller gives up, a thousand requests at once all succeed", arguments: [true, false])
  func burst(isControlled: Bool) async throws {
    let server = try ScriptedServer(Script(.forever([.request, .sleep(0.001), .send(okResponse("x"))])))
    let session = Session(configuration: .limited(to: 8) { $0.overload = isControlled ? .default : nil })
    let tasks = (0..<1_000).map { _ in session.request(server.url).serializingString() }
    var good = 0
    for task in tasks where await task.response.value == "x" { good += 1 }
    #expect(good == 1_000)
  }

  @Test("A request is refused at once if its deadline comes before an answer would")
  func deadlines() async throws {
    let server = try answering(okResponse("x"))
    let (table, recorder) = (DestinationTable(), OverloadRecorder())
    let session = try Self.session(table, recorder)
    let state = try table.state(of: server.url)
    state.becomeOverloaded()
    let held = state.fill()
    let request = session.request(server.url).deadline(0.5)
    #expect(await request.serializingData().response.error?.shedReason == .overload)
    #expect(request.outcome == .rejected)
    state.empty(held)
    let patient = session.request(server.url).deadline(30)
    #expect(await patient.serializingString().response.value == "x", "there is a place for it")
  }

  // MARK: Retries and hedges

  @Test("Retries are denied while a destination is overloaded")
  func retryOfAnOverloaded() async throws {
    let server = try answering(busy)
    let (table, recorder) = (DestinationTable(), OverloadRecorder())
    let session = try Self.session(table, recorder, .default, RetryPolicy(exponentialBackoffScale: 0))
    try table.state(of: server.url).becomeOverloaded()
    let request = session.request(server.url).validate()
    #expect(await request.serializingData().response.error?.responseCode == 503, "the error that was asked about")
    #expect(recorder.denials.entries == [.overload])
    #expect(server.allRequests.count == 1 && recorder.shed.entries.isEmpty)
  }

  @Test("Retries and hedges are denied while a destination is silent")
  func retryAndHedgeOfASilent() async throws {
    let server = try BlackHole()
    let (table, recorder) = (DestinationTable(), OverloadRecorder())
    let session = try Self.session(table, recorder, .default, RetryPolicy(exponentialBackoffScale: 0)) {
      $0.timeoutIntervalForRequest = 0.3
    }
    try table.state(of: server.url).becomeSilent()
    var error: WeirError?
    repeat {
      error = await session.request(server.url).hedge(after: .seconds(0.01)).serializingData().response.error
    } while error?.shedReason != nil
    #expect(error?.urlErrorCode == .timedOut)
    #expect(recorder.denials.entries == [.overload])
    #expect(recorder.hedges.entries == [.denied])
    #expect(server.connectionCount == 1)
  }

  @Test("Hedges are denied while a destination is overloaded")
  func hedgeOfAnOverloaded() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("x"))))
    let (table, recorder) = (DestinationTable(), OverloadRecorder())
    let session = try Self.session(table, recorder)
    let state = try table.state(of: server.url)
    state.becomeOverloaded()
    let request = session.request(server.url).hedge(after: .seconds(0.01))
    let value = request.serializingString()
    await recorder.hedges.wait { !$0.isEmpty }
    gate.open()
    #expect(await value.response.value == "x")
    #expect(recorder.hedges.entries == [.denied])
    #expect(server.connectionCount == 1)
  }

  @Test("The retry after a refresh of a credential goes though the destination is overloaded")
  func refresh() async throws {
    let server = try TokenServer()
    let table = DestinationTable()
    let recorder = OverloadRecorder()
    let interceptor = TokenInterceptor(
      authenticator: AuthenticationRetryTests.renewing(server), credential: Token(text: "a"))
    let session = try Self.session(table, recorder, .default, interceptor)
    let state = try table.state(of: server.url)
    state.becomeOverloaded()
    #expect(await session.answer(server.url).value == "fine")
    #expect(server.received == ["Bearer a", "Bearer b"])
    #expect(recorder.denials.entries.isEmpty && recorder.shed.entries.isEmpty)
  }

  @Test("A hedge counts as load, and leaves none when it loses")
  func hedgeCounts() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .awaitClose), Script(.request, .wait(gate), .send(okResponse("second"))))
    let (table, recorder) = (DestinationTable(), OverloadRecorder())
    let session = try Self.session(table, recorder)
    let state = try table.state(of: server.url)
    let value = session.request(server.url).hedge(after: .seconds(0.01)).serializingString()
    await recorder.hedges.wait(for: .started)
    #expect(state.onWire == 2 && state.used == 2)
    gate.open()
    #expect(await value.response.value == "second")
    await session.loopTurn()
    #expect(state.onWire == 0 && state.occupancy == [0, 0, 0])
    #expect(recorder.abandoned.entries.isEmpty)
  }

  // MARK: The waiting room

  @Test("The priority of requests counts where it is on", arguments: [true, false])
  func priority(isOn: Bool) async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .wait(gate), .send(okResponse("x")), .forever([.request, .send(okResponse("x"))])))
    let table = DestinationTable()
    let session = try Self.session(table, OverloadRecorder(), OverloadSettings(priority: isOn), slots: 1)
    var tasks = [session.request(server.url + "first").serializingString()]
    let state = try await Self.onceOnTheWire(server, table)
    for (number, urgency) in ["u=7", "i, u=5", "", "u=0"].enumerated() {
      tasks.append(session.request(server.url + urgency, headers: ["Priority": urgency]).serializingString())
      try await eventually("it waits") { state.waitingRoom == number + 1 }
    }
    gate.open()
    for task in tasks { #expect(await task.response.value == "x") }
    let targets = server.requests().map(\.target)
    #expect(
      targets
        == (isOn
          ? ["/first", "/u=0", "/", "/i,%20u=5", "/u=7"] : ["/first", "/u=7", "/i,%20u=5", "/", "/u=0"]))
  }

  @Test("A suspended request leaves the waiting room, and enters it again at its end")
  func suspended() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .wait(gate), .send(okResponse("x")), .forever([.request, .send(okResponse("x"))])))
    let table = DestinationTable()
    let session = try Self.session(table, slots: 1)
    let first = session.request(server.url).serializingString()
    let state = try await Self.onceOnTheWire(server, table)
    let (second, third) = (session.request(server.url + "2").resume(), session.request(server.url + "3").resume())
    try await eventually("both wait") { state.waitingRoom == 2 }
    second.suspend()
    try await eventually("one waits") { state.waitingRoom == 1 }
    second.resume()
    try await eventually("both wait") { state.waitingRoom == 2 }
    gate.open()
    #expect(await first.response.value == "x")
    for request in [second, third] { #expect(await request.serializingString().response.value == "x") }
    #expect(server.requests().map(\.target) == ["/", "/3", "/2"])
    await session.loopTurn()
    #expect(state.occupancy == [0, 0, 0] && state.waitingRoom == 0)
  }

  @Test("A wait ends with the time for it, the deadline or a cancel, and leaves no slot behind")
  func waits() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("x"))))
    let (table, recorder) = (DestinationTable(), OverloadRecorder())
    let session = try Self.session(table, recorder, slots: 1) { $0.admissionTimeout = 2 }
    let first = session.request(server.url).serializingString()
    let state = try await Self.onceOnTheWire(server, table)
    let timed = session.request(server.url)
    let late = session.request(server.url).deadline(0.05)
    let cancelled = session.request(server.url)
    let tasks = [timed, late, cancelled].map { $0.serializingData() }
    try await eventually("it waits") { cancelled.state == .resumed && state.waitingRoom > 0 }
    cancelled.cancel()
    for task in tasks { _ = await task.response }
    #expect(timed.outcome == .rejected)
    if case .requestRejected(reason: .admissionTimeout)? = timed.error {} else { Issue.record("\(timed.error as Any)") }
    #expect(late.outcome == .timeout)
    #expect(cancelled.outcome == .cancelled)
    #expect(state.waitingRoom == 0)
    gate.open()
    #expect(await first.response.value == "x")
    await session.loopTurn()
    #expect(state.occupancy == [0, 0, 0] && state.onWire == 0)
    #expect(server.allRequests.count == 1 && recorder.shed.entries.isEmpty)
  }

  // MARK: Bodies

  @Test("A request counts as load once its body is sent, and not before")
  func uploads() async throws {
    let (gate, body) = (Gate(), Gate())
    let server = try ScriptedServer(Script(.head, .chunkedBody, .wait(gate), .send(okResponse("taken"))))
    let table = DestinationTable()
    let session = try Self.session(table)
    let state = try table.state(of: server.url)
    let value = session.upload(GatedStream(body), to: server.url).serializingString()
    try await eventually("its head has come") { !server.received().isEmpty }
    await session.loopTurn()
    #expect(state.onWire == 1 && state.used == 0)
    body.open()
    try await eventually("its body is sent") { state.used == 1 }
    gate.open()
    #expect(await value.response.value == "taken")
    await session.loopTurn()
    #expect(state.onWire == 0 && state.used == 0 && state.occupancy == [0, 0, 0])
  }

  @Test("An upload that is redirected to a request without a body counts as load from then on")
  func redirectedUpload() async throws {
    let (gate, body) = (Gate(), Gate())
    let server = try ScriptedServer(
      Script(.head, .send(response("303 See Other", ["Location: /next", "Connection: close"]))),
      Script(.request, .wait(gate), .send(okResponse("x"))))
    let table = DestinationTable()
    let session = try Self.session(table)
    let state = try table.state(of: server.url)
    let value = session.upload(GatedStream(body), to: server.url).serializingString()
    try await eventually("the second hop has come") { server.receivedText(on: 1).contains("GET /next") }
    #expect(state.onWire == 1 && state.used == 1)
    gate.open()
    #expect(await value.response.value == "x")
    body.open()
  }

  @Test("The body of a response does not count as load")
  func bodies() async throws {
    let gate = Gate()
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    let server = try ScriptedServer(Script(.request, .send(head + "o"), .wait(gate), .send("k")))
    let table = DestinationTable()
    let session = try Self.session(table)
    let state = try table.state(of: server.url)
    let request = session.request(server.url)
    let value = request.serializingString()
    try await eventually("its head has come") { request.response != nil }
    #expect(state.onWire == 0 && state.occupancy == [1, 0, 0])
    gate.open()
    #expect(await value.response.value == "ok")
  }

  // MARK: Reports

  @Test("Monitors get the values of load control from the first request on")
  func reports() async throws {
    let server = try answering(okResponse("x"))
    let (table, recorder) = (DestinationTable(), OverloadRecorder())
    let session = try Self.session(table, recorder, slots: 64)
    #expect(try await session.request(server.url).serializingString().value == "x")
    await recorder.reports.wait { !$0.isEmpty }
    let reports = recorder.reports.entries
    #expect(reports.first?.state == .normal && reports.first?.limit == 64)
    await recorder.reports.wait { $0.reduce(0) { $0 + $1.served } == 1 }
    #expect(recorder.states.entries.isEmpty)
    let plain = OverloadRecorder()
    let other = try Session.sharing(table, .default, eventMonitors: [plain])
    let second = try answering(okResponse("x"))
    #expect(try await other.request(second.url).serializingString().value == "x")
    #expect(plain.reports.entries.isEmpty, "there is no load control")
  }
}
