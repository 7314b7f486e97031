import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir
@testable import WeirTransport

/// What the pace of a destination does to requests on the wire.
@Suite("Pace on the wire", .slow, .timeLimit(.minutes(5)))
struct PaceTransferTests {
  private static func session(
    _ pace: PaceSettings, _ table: DestinationTable = DestinationTable(), _ recorder: PaceRecorder = PaceRecorder(),
    _ interceptor: (any RequestInterceptor)? = nil, _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) throws -> Session {
    var configuration = SessionConfiguration.default
    configuration.pace = pace
    change(&configuration)
    return try .sharing(table, configuration, interceptor: interceptor, eventMonitors: [recorder])
  }

  private static func asking(_ seconds: Int, status: String = "429 Slow") -> String {
    response(status, ["Retry-After: \(seconds)"], body: "slow")
  }

  // MARK: Pauses

  @Test(
    "A pause that a server asks for holds all requests to it back, and none to others",
    arguments: ["429 Slow", "503 Busy"])
  func pause(status: String) async throws {
    let server = try PacedServer([Self.asking(2, status: status)])
    let other = try answering(okResponse("other"))
    let recorder = PaceRecorder()
    let session = try Self.session(PaceSettings(wait: 30), DestinationTable(), recorder)
    let began = ContinuousClock.now
    let first = await session.request(server.url).plainResponse()
    #expect(first.data == Data("slow".utf8), "the caller has the server's answer")
    let tasks = (0..<5).map { _ in session.request(server.url).serializingString() }
    let free = PaceRecorder()
    #expect(await session.request(other.url).eventMonitor(free).serializingString().response.value == "other")
    #expect(free.waits.entries.isEmpty)
    for task in tasks { #expect(await task.response.value == "x") }
    #expect(!recorder.waits.entries.isEmpty && recorder.shed.entries.isEmpty)
    let arrivals = server.arrivals.entries
    #expect(arrivals.count == 6 && arrivals.dropFirst().allSatisfy { $0 - began >= .seconds(2) }, "none is early")
  }

  @Test("What is not to be obeyed holds nothing back")
  func disobedience() async throws {
    let server = try PacedServer([Self.asking(60)])
    let recorder = PaceRecorder()
    let session = try Self.session(PaceSettings(obey: [], wait: 0), DestinationTable(), recorder)
    #expect(await session.request(server.url).plainResponse().response?.statusCode == 429)
    #expect(await session.request(server.url).serializingString().response.value == "x")
    #expect(recorder.waits.entries.isEmpty && recorder.reports.entries.isEmpty)
  }

  @Test("The pause that another server asks for, to which a redirect has led, is not the first one's")
  func redirect() async throws {
    let other = try answering(Self.asking(60))
    let server = try PacedServer([response("302 Found", ["Location: \(other.url)"])])
    let recorder = PaceRecorder()
    let session = try Self.session(PaceSettings(wait: 0), DestinationTable(), recorder)
    #expect(await session.request(server.url).plainResponse().response?.statusCode == 429)
    #expect(await session.request(server.url).serializingString().response.value == "x")
    #expect(recorder.waits.entries.isEmpty && recorder.reports.entries.isEmpty)
  }

  @Test("After a pause one request goes first, and the others follow its answer")
  func oneFirst() async throws {
    let seen = Mutex(0)
    let server = try PacedServer([Self.asking(1)]) { arrivals in
      // Less than the time after which another one goes.
      letPass(0.2)
      seen.withLock { $0 = arrivals() }
    }
    let session = try Self.session(PaceSettings(wait: 30))
    _ = await session.request(server.url).plainResponse()
    let tasks = (0..<8).map { _ in session.request(server.url).serializingString() }
    for task in tasks { #expect(await task.response.value == "x") }
    #expect(seen.withLock { $0 } == 2, "the one that was refused, and the first after the pause")
  }

  @Test(
    "A request that can't wait for the end of a pause is rejected at once, and no retrier is asked",
    arguments: [(wait: 30.0, deadline: 600.0), (60, 20)])
  func rejected(wait: Double, deadline: Double) async throws {
    let server = try PacedServer([Self.asking(40)])
    let asked = Journal<String>()
    let retrier = Retrier {
      asked.append($2.asWeirError?.label ?? "-")
      $3(.doNotRetry)
    }
    let (table, recorder) = (DestinationTable(), PaceRecorder())
    let session = try Self.session(PaceSettings(wait: wait), table, recorder, retrier)
    _ = await session.request(server.url).plainResponse()
    let began = ContinuousClock.now
    let request = session.request(server.url).deadline(deadline)
    let error = await request.plainResponse().error
    #expect(ContinuousClock.now - began < .seconds(15))
    guard case .requestRejected(reason: .overloaded(.paused, let seconds))? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect((25...40).contains(seconds))
    #expect(error?.label == "paused" && request.outcome == .rejected && request.attemptCount == 0)
    let text = request.failureDescription(of: try #require(error))
    #expect(text.contains(" pace.wait: \(wait) s, pace.obey: retryAfter. (GET "), "\(text)")
    await request.settled()
    #expect(recorder.shed.entries == [.paused] && recorder.waits.entries.isEmpty)
    #expect(asked.entries.isEmpty && server.arrivals.entries.count == 1)
    await session.loopTurn()
    #expect(try table.state(of: server.url).occupancy == [0, 0, 0])
  }

  @Test("An answer that asks for a pause is no failure for the circuit")
  func circuit() async throws {
    let breaker = CircuitBreaker(failureRatio: 0.4, minimumRequests: 1)
    let server = try PacedServer([Self.asking(1, status: "503 Busy"), response("503 Busy")])
    let session = try Self.session(PaceSettings(wait: 30)) { $0.circuitBreaker = breaker }
    _ = await session.request(server.url).plainResponse()
    #expect(await session.request(server.url).plainResponse().response?.statusCode == 503)
    #expect(await session.request(server.url).plainResponse().error?.label == "circuit_open")
  }

  @Test("Monitors hear of a pause, and of its end")
  func reports() async throws {
    let server = try PacedServer([Self.asking(1)])
    let recorder = PaceRecorder()
    let session = try Self.session(PaceSettings(wait: 30), DestinationTable(), recorder)
    _ = await session.request(server.url).plainResponse()
    await recorder.reports.wait { $0.last?.left == 0 }
    let reports = recorder.reports.entries
    #expect(reports.first.map { $0.begun == 1 && $0.left > 0 && $0.left <= 1 } == true, "\(reports)")
    #expect(reports.reduce(0) { $0 + $1.begun } == 1)
  }

  // MARK: Retries and hedges

  @Test("Retry-After is waited for once: the retry comes after the pause")
  func retryWaitsOnce() async throws {
    let server = try PacedServer([Self.asking(1)])
    let recorder = PaceRecorder()
    let session = try Self.session(PaceSettings(wait: 30), DestinationTable(), recorder, RetryPolicy.recommended())
    let began = ContinuousClock.now
    #expect(await session.request(server.url).validate().serializingString().response.value == "x")
    #expect(ContinuousClock.now - began >= .seconds(1))
    #expect(recorder.retries.entries == [.retryAfter])
    #expect(recorder.waits.entries.isEmpty && recorder.denials.entries.isEmpty)
  }

  @Test("A retry that would wait too long for its turn is denied, and the answer stands")
  func retryDenied() async throws {
    let server = try PacedServer([Self.asking(60)])
    let recorder = PaceRecorder()
    let policy = RetryPolicy(
      exponentialBackoffScale: 0.001, retryableHTTPStatusCodes: [429], respectsRetryAfter: false)
    let session = try Self.session(PaceSettings(wait: 1), DestinationTable(), recorder, policy)
    let request = session.request(server.url).validate()
    #expect(await request.serializingData().response.error?.responseCode == 429)
    #expect(recorder.denials.entries == [.pace] && recorder.shed.entries.isEmpty)
    #expect(request.attemptCount == 1)
  }

  @Test("A hedge takes a turn, or does not start", arguments: [true, false])
  func hedge(isPaused: Bool) async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("x"))))
    let (table, recorder) = (DestinationTable(), PaceRecorder())
    let pace = PaceSettings(rate: isPaused ? nil : 0.001, wait: 30)
    let session = try Self.session(pace, table, recorder)
    let value = session.request(server.url).hedge(after: .seconds(1)).serializingString()
    try await eventually("it has come") { !server.received().isEmpty }
    if isPaused { _ = try table.state(of: server.url).answeredPace(pace, nil, pause: 60, at: .now) }
    await recorder.hedges.wait { !$0.isEmpty }
    gate.open()
    #expect(await value.response.value == "x")
    #expect(recorder.hedges.entries == [.denied])
    #expect(server.connectionCount == 1)
  }

  // MARK: The rate

  @Test("A rate spaces the attempts of requests that come at once")
  func rate() async throws {
    let server = try PacedServer([])
    let recorder = PaceRecorder()
    let session = try Self.session(PaceSettings(rate: 20, wait: 30), DestinationTable(), recorder)
    let began = ContinuousClock.now
    let tasks = (0..<6).map { _ in session.request(server.url).serializingString() }
    for task in tasks { #expect(await task.response.value == "x") }
    for (index, arrival) in server.arrivals.entries.enumerated() {
      #expect(arrival - began >= .seconds(0.049 * Double(index)), "arrival \(index) is early")
    }
    #expect(!recorder.waits.entries.isEmpty && recorder.shed.entries.isEmpty)
  }

  @Test("A request that would wait too long for its turn is rejected")
  func rateIsUsedUp() async throws {
    let server = try PacedServer([])
    let session = try Self.session(PaceSettings(rate: 0.01, burst: 2, wait: 30))
    for _ in 0..<2 { #expect(await session.request(server.url).serializingString().response.value == "x") }
    let request = session.request(server.url)
    let error = await request.plainResponse().error
    guard case .requestRejected(reason: .overloaded(.pace, let seconds))? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect((40...102).contains(seconds))
    let text = request.failureDescription(of: try #require(error))
    #expect(text.contains(" pace.wait: 30.0 s, pace.rate: 0.01. (GET "), "\(text)")
  }

  // MARK: Waiting

  @Test("Requests that are cancelled, suspended or late while they wait leave their turns to others")
  func leaving() async throws {
    let server = try PacedServer([])
    let (table, recorder) = (DestinationTable(), PaceRecorder())
    let pace = PaceSettings(wait: 30)
    let session = try Self.session(pace, table, recorder)
    let state = try table.state(of: server.url)
    _ = state.answeredPace(pace, nil, pause: 2, at: .now)
    let requests = (0..<4).map { _ in session.request(server.url) }
    let tasks = requests.map { $0.serializingString() }
    try await eventually("all wait") { state.waitingForPace == 4 }
    requests[0].cancel()
    requests[1].suspend()
    try await eventually("two wait") { state.waitingForPace == 2 }
    #expect(await tasks[0].response.error?.isExplicitlyCancelledError == true)
    for task in tasks[2...] { #expect(await task.response.value == "x") }
    requests[1].resume()
    #expect(await tasks[1].response.value == "x")
    await session.loopTurn()
    #expect(state.waitingForPace == 0 && state.isPaceIdle && state.occupancy == [0, 0, 0])
    #expect(server.arrivals.entries.count == 3)
  }

  @Test("A turn goes back if its attempt leaves the queue for a slot")
  func turnGoesBack() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .wait(gate), .send(okResponse("x")), .forever([.request, .send(okResponse("x"))])))
    let table = DestinationTable()
    let session = try Self.session(PaceSettings(rate: 0.001, burst: 2, wait: 1), table) {
      $0.httpMaximumConnectionsPerHost = 1
    }
    let first = session.request(server.url).serializingString()
    try await eventually("it has come") { !server.received().isEmpty }
    let state = try table.state(of: server.url)
    let second = session.request(server.url)
    let value = second.serializingData()
    try await eventually("it waits for a slot") { state.occupancy == [1, 0, 1] }
    #expect(await session.request(server.url).plainResponse().error?.label == "pace", "both turns are taken")
    second.cancel()
    #expect(await value.response.error?.isExplicitlyCancelledError == true)
    let third = session.request(server.url).serializingString()
    gate.open()
    #expect(await first.response.value == "x")
    #expect(await third.response.value == "x")
    await session.loopTurn()
    #expect(state.isPaceIdle && state.occupancy == [0, 0, 0])
  }

  @Test("The priority of requests counts where load control says so", arguments: [true, false])
  func priority(isOn: Bool) async throws {
    let server = try answering(okResponse("x"))
    let table = DestinationTable()
    let pace = PaceSettings(wait: 30)
    let session = try Self.session(pace, table) {
      $0.httpMaximumConnectionsPerHost = 1
      if isOn { $0.overload = OverloadSettings(priority: true) }
    }
    let url = try #require(URL(string: server.url))
    let state = table.state(
      for: try #require(Destination(url: url)),
      limits: TransportLimits(slots: 1, waiting: 10_000, admissionTimeout: 30))
    _ = state.answeredPace(pace, nil, pause: 2, at: .now)
    var tasks: [DataTask<String>] = []
    for (number, urgency) in ["u=7", "i,u=5", "", "u=0"].enumerated() {
      tasks.append(session.request(server.url + urgency, headers: ["Priority": urgency]).serializingString())
      try await eventually("it waits") { state.waitingForPace == number + 1 }
    }
    for task in tasks { #expect(await task.response.value == "x") }
    #expect(
      server.requests().map(\.target) == (isOn ? ["/u=0", "/", "/i,u=5", "/u=7"] : ["/u=7", "/i,u=5", "/", "/u=0"]))
  }
}

/// A server that gives some answers first, in turn, and 200 after that; it keeps the times at which requests came.
private final class PacedServer: Sendable {
  let arrivals: Journal<ContinuousClock.Instant>
  private let server: ScriptedServer

  /// - Parameter before: Called before the first answer of 200, with the number of requests that have come by then.
  init(_ answers: [String], before: @escaping @Sendable (_ arrivals: () -> Int) -> Void = { _ in }) throws {
    let (arrivals, turn) = (Journal<ContinuousClock.Instant>(), Turn(answers))
    let first = Turn([true])
    self.arrivals = arrivals
    server = try ScriptedServer(
      .answering {
        arrivals.append(.now)
        if let answer = turn.next() { return answer }
        if first.next() != nil { before { arrivals.entries.count } }
        return okResponse("x")
      })
  }

  var url: String { server.url }
}

extension DestinationState {
  /// The attempts that wait for their turns.
  fileprivate var waitingForPace: Int { pace.withLock { $0?.machine.attempts.waiting ?? 0 } }

  /// Whether no attempt waits for its turn or is under way.
  fileprivate var isPaceIdle: Bool {
    pace.withLock { $0.map { $0.machine.attempts.waiting == 0 && $0.machine.attempts.onWire == 0 } ?? true }
  }
}

/// Records what monitors are told of the pace.
private final class PaceRecorder: InlineEventMonitor {
  let waits = Journal<TimeInterval>()
  let shed = Journal<ShedReason>()
  let reports = Journal<PauseReport>()
  let retries = Journal<RetryDelaySource>()
  let hedges = Journal<HedgeEvent>()
  let denials = Journal<RetryDenial.Reason>()

  func request(_ request: Request, waitedForPace seconds: TimeInterval) { waits.append(seconds) }
  func request(_ request: Request, wasShed reason: ShedReason) { shed.append(reason) }
  func request(_ request: Request, hedge event: HedgeEvent) { hedges.append(event) }
  func request(_ request: Request, didDenyRetry denial: RetryDenial) { denials.append(denial.reason) }
  func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {
    retries.append(source)
  }
  func session(_ session: Session, pace destination: Destination, report: PauseReport) { reports.append(report) }
}
