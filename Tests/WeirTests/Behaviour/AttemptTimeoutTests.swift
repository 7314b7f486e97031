import Foundation
import FoundationNetworking
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

/// The limit of an attempt's time, up to the final head of its response.
@Suite("Time limit of attempts", .slow, .timeLimit(.minutes(5)))
struct AttemptTimeoutTests {
  private static func session(
    _ seconds: TimeInterval?, _ table: DestinationTable = DestinationTable(), _ recorder: AttemptRecorder? = nil,
    _ interceptor: (any RequestInterceptor)? = nil, _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) throws -> Session {
    var configuration = SessionConfiguration.default
    configuration.attemptTimeout = seconds
    change(&configuration)
    return try .sharing(
      table, configuration, interceptor: interceptor, eventMonitors: recorder.map { [$0] } ?? [])
  }

  private static func text(_ error: WeirError?) -> String { error.map { "\($0)" } ?? "none" }

  /// Expects the error of an attempt that had no final head in time.
  private static func check(
    _ error: WeirError?, _ seconds: TimeInterval, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(error?.urlErrorCode == .timedOut, sourceLocation: sourceLocation)
    #expect(
      text(error).contains("the head of the response did not come within \(seconds) s (attemptTimeout)"),
      "\(text(error))", sourceLocation: sourceLocation)
  }

  // MARK: What counts

  /// Servers that give no final head.
  enum Silence: CaseIterable {
    case nothing, halfAHead, aHeadInDrops, interimHeads, anUnreadFile, anUnreadStream

    /// Whether the server notices that the client has closed the connection.
    fileprivate var seesTheEnd: Bool { [.nothing, .halfAHead, .interimHeads].contains(self) }

    /// - Parameter gate: Ends a server that reads nothing.
    fileprivate func script(_ gate: Gate) -> Script {
      switch self {
      case .nothing: Script(.request, .awaitClose)
      case .halfAHead: Script(.request, .send("HTTP/1.1 200 OK\r\nContent-Le"), .awaitClose)
      case .aHeadInDrops:
        Script(.request, .drip("HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 3_000))", every: 0.01))
      case .interimHeads:
        Script(.request, .send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), .awaitClose)
      case .anUnreadFile, .anUnreadStream: Script(.head, .wait(gate))
      }
    }

    fileprivate func request(to url: String, in session: Session, _ scratch: Scratch) throws -> DataRequest {
      switch self {
      case .nothing, .halfAHead, .aHeadInDrops, .interimHeads: return session.request(url)
      case .anUnreadFile: return session.upload(try scratch.sparseFile(256 << 20), to: url)
      case .anUnreadStream:
        let file = try scratch.sparseFile(256 << 20)
        return session.upload(try #require(InputStream(url: file)), to: url)
      }
    }
  }

  @Test(
    "It ends an attempt without a final head in time, whatever else comes or is not read", arguments: Silence.allCases)
  func noHead(_ silence: Silence) async throws {
    let (table, gate, scratch) = (DestinationTable(), Gate(), try Scratch())
    let server = try ScriptedServer(silence.script(gate))
    defer { gate.open() }
    let session = try Self.session(0.3, table)
    let request = try silence.request(to: server.url, in: session, scratch)
    Self.check(await request.serializingData().response.error, 0.3)
    #expect(request.outcome == .timeout)
    #expect(request.attemptCount == 1 && request.tasks.allSatisfy { $0.state == .completed })
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
    if silence.seesTheEnd { #expect(await soon { server.closedByClientCount == 1 }) }
  }

  @Test("It ends an attempt whose connection does not come about")
  func noConnection() async throws {
    let full = try FullListener()
    let session = try Self.session(0.3)
    Self.check(await session.request(full.url).plainResponse().error, 0.3)
  }

  @Test("Redirects are part of an attempt, within an origin and beyond it", arguments: [true, false])
  func redirects(leavesOrigin: Bool) async throws {
    let hole = try BlackHole()
    let target = leavesOrigin ? hole.url : "/again"
    let server = try ScriptedServer(
      Script(.forever([.request, .sleep(0.02), .send(response("302 Found", ["Location: \(target)"]))])))
    let session = try Self.session(0.5) { $0.maximumRedirects = 100_000 }
    let request = session.request(server.url)
    let response = await request.serializingData().response
    Self.check(response.error, 0.5)
    #expect(request.attemptCount == 1 && response.metrics?.redirectCount ?? 0 > 0)
    #expect(hole.connectionCount == (leavesOrigin ? 1 : 0))
  }

  @Test("The answer to a challenge is part of an attempt")
  func challenge() async throws {
    let refusal = response("401 Unauthorized", ["WWW-Authenticate: Basic realm=\"r\""])
    let server = try ScriptedServer(Script(.request, .send(refusal), .request, .awaitClose))
    let session = try Self.session(1)
    let request = session.request(server.url).authenticate(username: "u", password: "p")
    Self.check(await request.serializingData().response.error, 1)
    #expect(server.allRequests.count == 2 && request.attemptCount == 1)
  }

  // MARK: What does not count

  @Test("A body may take longer than it")
  func slowBody() async throws {
    let gate = Gate()
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    let server = try ScriptedServer(Script(.request, .send(head + "o"), .wait(gate), .send("k")))
    let session = try Self.session(1)
    let request = session.request(server.url)
    let value = request.serializingString()
    try await eventually("its head has come") { request.response != nil || request.isFinished }
    // Longer than the limit.
    try await letPass(1.2)
    gate.open()
    #expect(await value.response.value == "ok")
  }

  @Test("The time of the caller's own upload does not count; the server's does", arguments: [true, false])
  func slowUpload(isAnswered: Bool) async throws {
    let body = Gate()
    let rest: Script.Step = isAnswered ? .send(okResponse("taken")) : .awaitClose
    let server = try ScriptedServer(Script(.head, .chunkedBody, rest))
    let session = try Self.session(1)
    let request = session.upload(GatedStream(body), to: server.url)
    let value = request.serializingString()
    try await eventually("its head has come") { !server.received().isEmpty }
    // Longer than the limit.
    try await letPass(1.2)
    #expect(!request.isFinished)
    body.open()
    let response = await value.response
    if isAnswered { #expect(response.value == "taken") } else { Self.check(response.error, 1) }
  }

  @Test("An upload that a redirect has made needless does not hold it up")
  func redirectedUpload() async throws {
    let body = Gate()
    let server = try ScriptedServer(
      Script(.head, .send(response("303 See Other", ["Location: /next", "Connection: close"]))),
      Script(.request, .awaitClose))
    let session = try Self.session(1)
    Self.check(await session.upload(GatedStream(body), to: server.url).plainResponse().error, 1)
    #expect(server.connectionCount == 2)
    body.open()
  }

  @Test("Nor does the time of a suspension")
  func suspended() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("x"))))
    let session = try Self.session(1)
    let request = session.request(server.url)
    let value = request.serializingString()
    try await eventually("it has come") { !server.received().isEmpty }
    request.suspend()
    // Longer than the limit.
    try await letPass(1.2)
    #expect(!request.isFinished)
    request.resume()
    gate.open()
    #expect(await value.response.value == "x")
  }

  @Test("Nor that of a redirect handler")
  func redirectHandler() async throws {
    let server = try ScriptedServer(
      Script(.request, .send(response("302 Found", ["Location: /next"])), .request, .send(okResponse("next"))))
    let held = Held<URLRequest?>()
    let session = try Self.session(1)
    let request = session.request(server.url).redirect(using: HoldingRedirector(held: held))
    let value = request.serializingString()
    await held.wait()
    // Longer than the limit.
    try await letPass(1.2)
    #expect(!request.isFinished)
    held.answer(try URLRequest(url: server.url + "next", method: .get))
    #expect(await value.response.value == "next")
  }

  @Test("Nor that in the destination's queue")
  func queue() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .wait(gate), .send(okResponse("x")), .request, .send(okResponse("y"))))
    let session = try Self.session(1) { $0.httpMaximumConnectionsPerHost = 1 }
    let first = session.request(server.url).attemptTimeout(0).serializingString()
    try await eventually("it has come") { !server.received().isEmpty }
    let second = session.request(server.url)
    let value = second.serializingString()
    // Longer than the limit.
    try await letPass(1.2)
    #expect(!second.isFinished)
    gate.open()
    #expect(await first.response.value == "x")
    #expect(await value.response.value == "y")
  }

  // MARK: Which limit counts

  @Test("A request's own goes before the session's; one that is no number leaves that")
  func precedence() async throws {
    let hole = try BlackHole()
    let (patient, strict, free) = (try Self.session(600), try Self.session(0.1), try Self.session(nil))
    Self.check(await patient.request(hole.url).attemptTimeout(0.2).plainResponse().error, 0.2)
    Self.check(await strict.request(hole.url).attemptTimeout(.nan).plainResponse().error, 0.1)
    Self.check(await free.request(hole.url).attemptTimeout(0.1).plainResponse().error, 0.1)
  }

  @Test("One that is not more than 0 is none", arguments: [0, -1, -Double.infinity])
  func none(seconds: TimeInterval) async throws {
    let server = try ScriptedServer(Script(.request, .sleep(0.5), .send(okResponse("x"))))
    let (strict, free) = (try Self.session(0.1), try Self.session(seconds))
    let own = strict.request(server.url).attemptTimeout(seconds)
    #expect(await own.serializingString().response.value == "x")
    let other = try ScriptedServer(Script(.request, .sleep(0.1), .send(okResponse("x"))))
    #expect(await free.request(other.url).serializingString().response.value == "x")
  }

  @Test("One beyond the deadline is harmless", arguments: [5, Double.greatestFiniteMagnitude, .infinity])
  func deadline(seconds: TimeInterval) async throws {
    let hole = try BlackHole()
    let session = try Self.session(seconds)
    let error = await session.request(hole.url).deadline(0.2).plainResponse().error
    #expect(error?.urlErrorCode == .timedOut)
    #expect(Self.text(error).contains("its deadline, 0.2 s"))
  }

  @Test("Beside the limit on silence the shorter counts", arguments: [true, false])
  func besideSilence(isShorter: Bool) async throws {
    let hole = try BlackHole()
    let session = try Self.session(isShorter ? 0.2 : 30) { $0.timeoutIntervalForRequest = isShorter ? 30 : 0.2 }
    let error = await session.request(hole.url).plainResponse().error
    if isShorter { return Self.check(error, 0.2) }
    #expect(error?.urlErrorCode == .timedOut)
    #expect(Self.text(error).contains("0.2 s (timeoutIntervalForRequest)"))
  }

  // MARK: What follows

  @Test("A retry has the limit for itself, and may succeed; the last attempt's failure is the request's")
  func retries() async throws {
    let policy = RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0.001)
    let never = Script(.request, .awaitClose)
    let server = try ScriptedServer(never, .once(okResponse("second")))
    let recorder = AttemptRecorder()
    let session = try Self.session(1, DestinationTable(), recorder, policy)
    let request = session.request(server.url)
    #expect(await request.serializingString().response.value == "second")
    #expect(request.retryCount == 1 && request.attemptCount == 2)
    #expect(recorder.events.entries == ["start 1", "end 1 timed_out", "retry timed_out", "start 2", "end 2 200"])
    let (hole, strict) = (try BlackHole(), try Self.session(0.1, DestinationTable(), nil, policy))
    let (failing, posted) = (strict.request(hole.url), strict.request(hole.url, method: .post))
    Self.check(await failing.plainResponse().error, 0.1)
    Self.check(await posted.plainResponse().error, 0.1)
    #expect(failing.attemptCount == 2 && posted.attemptCount == 1)
  }

  @Test("Beside a second attempt it drops out, and that one answers")
  func hedge() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .awaitClose), Script(.request, .wait(gate), .send(okResponse("second"))))
    let recorder = AttemptRecorder()
    let (table, answers) = (DestinationTable(), Journal<String>())
    let session = try Self.session(2, table, recorder)
    // The second attempt has the time of the delay left when the first ends.
    let request = session.request(server.url).hedge(after: .seconds(1))
    request.responseString { answers.append($0.value ?? $0.error?.label ?? "-") }
    await recorder.events.wait(for: "end 1 timed_out")
    #expect(answers.entries.isEmpty)
    gate.open()
    await answers.wait { !$0.isEmpty }
    #expect(answers.entries == ["second"])
    #expect(request.retryCount == 0 && request.attemptCount == 2)
    #expect(recorder.events.entries == ["start 1", "start 2", "end 1 timed_out", "end 2 200"])
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }

  @Test("It is a failure for the circuit")
  func circuit() async throws {
    let hole = try BlackHole()
    let session = try Self.session(0.1) { $0.circuitBreaker = CircuitBreaker(minimumRequests: 1) }
    Self.check(await session.request(hole.url).plainResponse().error, 0.1)
    let rejected = session.request(hole.url)
    #expect(await rejected.plainResponse().error?.label == "circuit_open")
    #expect(rejected.outcome == .rejected)
  }
}

/// Attempts and retries in their order.
private final class AttemptRecorder: InlineEventMonitor {
  let events = Journal<String>()

  func request(_ request: Request, didStartAttempt number: Int) { events.append("start \(number)") }
  func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {
    events.append("end \(number) \(error?.label ?? metrics.statusCode.map(String.init) ?? "-")")
  }
  func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {
    events.append("retry \(reason.rawValue)")
  }
}
