import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// What becomes of requests when their session ends, and what sessions leave behind.
@Suite("Lifetime of a session", .slow, .timeLimit(.minutes(5)))
struct SessionLifetimeTests {
  /// A session that the caller lets go of.
  private final class Owner: Sendable {
    private let slot: Mutex<Session?>

    init(_ session: Session) { slot = Mutex(session) }

    var session: Session? { slot.withLock { $0 } }

    func letGo() {
      let session = slot.withLock { slot in
        defer { slot = nil }
        return slot
      }
      withExtendedLifetime(session) {}
    }
  }

  enum Stage: String, CaseIterable, Sendable {
    case adapting, waiting, onWire, inTheBody, redirecting, asking, delaying, suspended, unstarted
  }

  /// A request in some stage of its life, with what keeps it there.
  private struct Rig {
    let owner: Owner
    let request: DataRequest
    let calls = Journal<String>()
    let server: ScriptedServer
    let recorder = EventRecorder(notingAttempts: true)

    init(_ stage: Stage) async throws {
      let urls = Held<URLRequest?>()
      let adapted = Held<Result<URLRequest, any Error>>()
      let asked = Held<RetryResult>()
      let partial = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
      server =
        switch stage {
        case .redirecting: try answering(response("302 Found", ["Location: /next"]))
        case .asking, .delaying: try answering(response("503 Busy"))
        case .inTheBody, .suspended: try ScriptedServer(Script(.request, .send(partial), .awaitClose))
        default: try ScriptedServer(Script(.request, .awaitClose))
        }
      var configuration = SessionConfiguration.default
      configuration.httpMaximumConnectionsPerHost = stage == .waiting ? 1 : 8
      let interceptor: any RequestInterceptor =
        switch stage {
        case .adapting: Adapter { _, _, completion in adapted.keep(completion) }
        case .asking: Retrier { _, _, _, completion in asked.keep(completion) }
        case .delaying: Retrier { $3(.retryWithDelay(60)) }
        default: Interceptor()
        }
      let session = Session(
        configuration: configuration, startRequestsImmediately: false, interceptor: interceptor,
        redirectHandler: stage == .redirecting ? HoldingRedirector(held: urls) : nil, eventMonitors: [recorder])
      owner = Owner(session)
      if stage == .waiting {
        session.request(server.url).resume()
        await recorder.events.wait(for: "startAttempt(1)")
      }
      request = session.request(server.url).validate()
      request.response { [calls] in calls.append($0.error?.label ?? "success") }
      if stage != .unstarted { request.resume() }
      switch stage {
      case .adapting: await adapted.wait()
      case .waiting: await recorder.events.wait { $0.count { $0 == "resumeTask" } == 2 }
      case .onWire: try await eventually("it has arrived") { [server] in !server.received().isEmpty }
      case .inTheBody: await recorder.events.wait(for: "·data")
      case .redirecting: await urls.wait()
      case .asking: await asked.wait()
      case .delaying: await recorder.events.wait(for: "willRetry(backoff, 503)")
      case .suspended:
        await recorder.events.wait(for: "·data")
        request.suspend()
        await recorder.events.wait(for: "suspendTask")
      case .unstarted: break
      }
    }
  }

  @Test("Letting a session go ends its unfinished requests, in whatever stage", arguments: Stage.allCases)
  func deinitialized(_ stage: Stage) async throws {
    let rig = try await Rig(stage)
    rig.owner.letGo()
    if stage == .unstarted { rig.request.resume() }
    await rig.calls.wait { !$0.isEmpty }
    #expect(rig.calls.entries == ["session_deinitialized"])
    #expect(rig.request.outcome == .sessionEnded)
    #expect(rig.request.isFinished)
    #expect(rig.request.tasks.count == rig.request.allMetrics.count)
    #expect(rig.request.tasks.allSatisfy { $0.state == .completed })
    // Of one that never started nobody on the loop has spoken yet.
    await rig.recorder.events.wait(for: "·invalid")
    #expect(rig.recorder.events.count(of: "·invalid") == 1)
    let late = await rig.request.serializingString().response
    #expect(late.error?.isSessionDeinitializedError == true)
    try await eventually("connections are closed") {
      rig.server.connectionCount == rig.server.finishedCount
    }
  }

  @Test(
    "Invalidating a session ends its unfinished requests after its event, and no retrier is asked",
    arguments: Stage.allCases)
  func invalidated(_ stage: Stage) async throws {
    let rig = try await Rig(stage)
    rig.owner.session?.invalidateAndCancel(error: SampleError())
    if stage == .unstarted { rig.request.resume() }
    await rig.calls.wait { !$0.isEmpty }
    #expect(rig.calls.entries == ["session_invalidated"])
    if stage != .unstarted {
      #expect(rig.request.error?.underlyingError is SampleError)
      let names = rig.recorder.events.entries
      let event = try #require(names.firstIndex(of: "·invalid"))
      let end = try #require(names.firstIndex(of: "finish"))
      #expect(event < end)
    }
    #expect(rig.request.outcome == .sessionEnded)
    let after = try #require(rig.owner.session).request(rig.server.url)
    #expect(await after.resume().plainResponse().error?.isSessionInvalidatedError == true)
    #expect(await rig.owner.session?.activeRequests.isEmpty == true)
  }

  @Test("A draining session lets active requests end and takes no others")
  func draining() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("fine")), .awaitClose))
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [recorder])
    let active = session.request(server.url).serializingString()
    try await eventually("it has arrived") { !server.received().isEmpty }
    session.finishRequestsAndInvalidate()
    let refused = await session.request(server.url).serializingString().response
    #expect(refused.error?.isSessionInvalidatedError == true)
    #expect(!recorder.names.contains("·invalid"))
    gate.open()
    #expect(await active.response.value == "fine")
    await recorder.events.wait(for: "·invalid")
    try await eventually("connections are closed") { server.finishedCount == 1 }
    session.finishRequestsAndInvalidate()
    session.invalidateAndCancel()
    await session.loopTurn()
    #expect(recorder.events.count(of: "·invalid") == 1)
  }

  enum LastEnd: CaseIterable, Sendable {
    case cancel, silence, deadline, cancelOfTheTask
  }

  @Test("A draining session ends with its last request, however that ends", arguments: LastEnd.allCases)
  func drainingToTheLast(_ end: LastEnd) async throws {
    let hole = try BlackHole()
    let recorder = EventRecorder()
    var configuration = SessionConfiguration.default
    if end == .silence { configuration.timeoutIntervalForRequest = 1 }
    if end == .deadline { configuration.timeoutIntervalForResource = 1 }
    let session = Session(configuration: configuration, eventMonitors: [recorder])
    let last = session.request(hole.url)
    let task = last.serializingData()
    try await eventually("it is on the wire") { !hole.received().isEmpty }
    session.finishRequestsAndInvalidate()
    switch end {
    case .cancel: last.cancel()
    case .cancelOfTheTask: last.task?.cancel()
    case .silence, .deadline: break
    }
    #expect(await task.response.error != nil)
    await recorder.events.wait(for: "·invalid")
    try await eventually("the connection is closed") { hole.closedByClientCount == 1 }
    #expect(await session.request(hole.url).serializingData().response.error?.isSessionInvalidatedError == true)
  }

  @Test("Finished requests keep their result, cancelled ones stay cancelled")
  func finishedAreLeftAlone() async throws {
    let server = try answering(okResponse("fine"))
    let hole = try BlackHole()
    let owner = Owner(Session())
    let session = try #require(owner.session)
    let finished = session.request(server.url)
    #expect(await finished.serializingString().response.value == "fine")
    let cancelled = session.request(hole.url)
    let task = cancelled.serializingString()
    try await eventually("it has arrived") { hole.connectionCount == 1 }
    cancelled.cancel()
    owner.letGo()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    #expect(await finished.serializingString().response.value == "fine")
    #expect(finished.isFinished)
  }

  @Test("Cancelling all requests reaches those in a retry's delay, and does not wait for them")
  func cancelAll() async throws {
    let busy = try answering(response("503 Busy"))
    let hole = try BlackHole()
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(interceptor: Retrier { $3(.retryWithDelay(60)) }, eventMonitors: [recorder])
    let delayed = session.request(busy.url).validate().serializingString()
    let sent = session.request(hole.url).serializingString()
    await recorder.events.wait(for: "willRetry(backoff, 503)")
    let done = Latch()
    session.cancelAllRequests { done.open() }
    await done.wait()
    #expect(await delayed.response.error?.isExplicitlyCancelledError == true)
    #expect(await sent.response.error?.isExplicitlyCancelledError == true)
    #expect(await session.activeRequests.isEmpty)
  }

  @Test("All active requests are asked for once, on the root queue; cancelling them completes where it is said")
  func whereAllRequestsCome() async throws {
    let hole = try BlackHole()
    let key = DispatchSpecificKey<String>()
    func queue(_ name: String) -> DispatchQueue {
      let queue = DispatchQueue(label: name)
      queue.setSpecific(key: key, value: name)
      return queue
    }
    let session = Session(rootQueue: queue("root"))
    let request = session.request(hole.url)
    let task = request.serializingData()
    let idle = session.request(hole.url)
    try await eventually("it is active") { await session.activeRequests == [request] }
    let calls = Journal<String>()
    session.withAllRequests { calls.append("\(DispatchQueue.getSpecific(key: key) ?? "-") \($0 == [request])") }
    session.cancelAllRequests(completingOnQueue: queue("mine")) {
      calls.append("\(DispatchQueue.getSpecific(key: key) ?? "-") \(request.isCancelled)")
    }
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    await calls.wait { $0.count == 2 }
    await session.loopTurn()
    #expect(calls.entries == ["root true", "mine true"])
    #expect(idle.isInitialized)
  }

  @Test("A request does not keep its session; a session keeps the requests that are active")
  func references() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("fine")), .awaitClose))
    let session = Session()
    let calls = Journal<String>()
    session.request(server.url).responseString { calls.append($0.value ?? "-") }
    gate.open()
    await calls.wait { !$0.isEmpty }
    #expect(calls.entries == ["fine"])
    weak var gone: Session?
    let request: DataRequest
    do {
      let other = Session(startRequestsImmediately: false)
      gone = other
      request = other.request(server.url)
    }
    #expect(gone == nil)
    #expect(request.isInitialized)
  }

  @Test("A request that never started and is let go is gone, its handlers uncalled")
  func neverStarted() async {
    let session = Session(startRequestsImmediately: false)
    let calls = Journal<String>()
    weak var gone: DataRequest?
    do {
      let request = session.request("http://127.0.0.1:1/")
      gone = request
      request.response { calls.append($0.error?.label ?? "success") }
    }
    await session.loopTurn()
    #expect(gone == nil)
    #expect(calls.entries == [])
  }

  private final class Connections: InlineEventMonitor {
    let interests: EventInterests = .connections
    let heard = Journal<ConnectionEvent.Kind>()

    func session(_ session: Session, connectionEvent event: ConnectionEvent) { heard.append(event.kind) }
  }

  @Test("The connections that a session's end closes are told of", arguments: [true, false])
  func lastConnections(isInvalidated: Bool) async throws {
    let server = try answering(okResponse("fine"))
    let connections = Connections()
    let session = Session(eventMonitors: [connections])
    #expect(await session.request(server.url).serializingString().response.value == "fine")
    if isInvalidated { session.invalidateAndCancel() } else { session.finishRequestsAndInvalidate() }
    try await eventually("the connection is closed") { connections.heard.entries == [.opened, .closed] }
    withExtendedLifetime(session) {}
  }

  // MARK: What is left behind

  @Test("Two hundred sessions, used and let go, leave no thread and no descriptor")
  func nothingIsLeft() async throws {
    let server = try answering(okResponse(String(repeating: "x", count: 100_000)))
    try await use(server, sessions: 3)
    let before = try await settledCounts()
    try await use(server, sessions: 200)
    try await eventually("threads and descriptors are as before", within: 60) {
      let now = try Self.counts()
      return now.threads <= before.threads + 4 && now.descriptors <= before.descriptors + 4
    }
  }

  /// Sessions that have done something: a request that ended, one that did not, a worker's job; some told all of it.
  private func use(_ server: ScriptedServer, sessions: Int) async throws {
    for index in 0..<sessions {
      let session = index % 2 == 0 ? Session() : Session(eventMonitors: [EventRecorder()])
      #expect(await session.request(server.url).serializingString().response.value?.count == 100_000)
      if index % 2 == 0 { session.request(server.url).response { _ in } }
      if index % 3 == 0 { session.invalidateAndCancel() }
    }
  }

  private struct Counts: Equatable {
    let threads: Int
    let descriptors: Int
  }

  private static func counts() throws -> Counts {
    Counts(
      threads: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count,
      descriptors: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count)
  }

  /// The counts once they have stopped falling: what ended before takes its time to go.
  private func settledCounts() async throws -> Counts {
    var last = try Self.counts()
    var calm = 0
    try await eventually("they stay as they are") {
      let now = try Self.counts()
      calm = now == last ? calm + 1 : 0
      last = now
      return calm >= 40
    }
    return last
  }

  @Test("A process may end as soon as it has let go of its last session")
  func processEnds() async {
    await #expect(processExitsWith: .success) {
      let server = try ScriptedServer(.answering(okResponse("ok")))
      do {
        let session = Session()
        _ = await session.request(server.url).plainResponse()
      }
      Foundation.exit(0)
    }
  }
}
