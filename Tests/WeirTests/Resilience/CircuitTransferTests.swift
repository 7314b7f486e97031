import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

/// What a circuit breaker does to requests on the wire.
@Suite("Circuits on the wire", .slow, .timeLimit(.minutes(5)))
struct CircuitTransferTests {
  private let busy = response("503 Busy", body: "busy")

  private final class Transitions: InlineEventMonitor {
    let interests: EventInterests = .resilience
    let heard = Journal<CircuitState>()

    func session(_ session: Session, circuit destination: Destination, entered state: CircuitState) {
      heard.append(state)
    }
  }

  fileprivate static func configuration(
    minimum: Int = 3, _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> SessionConfiguration {
    var configuration = SessionConfiguration.default
    configuration.circuitBreaker = CircuitBreaker(minimumRequests: minimum)
    change(&configuration)
    return configuration
  }

  fileprivate func isRejected(_ error: WeirError?) -> Bool {
    if case .requestRejected(reason: .circuitOpen)? = error { true } else { false }
  }

  /// Whether one of the next requests is rejected. One goes through each half second: on a slow machine even the first.
  fileprivate func rejects(_ session: Session, _ url: String) async -> Bool {
    for _ in 0..<5 where isRejected(await session.request(url).serializingData().response.error) { return true }
    return false
  }

  @Test("The head of a response makes the circuit let more through, however long its body takes")
  func headOfAnAnswer() async throws {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .reset), Script(.request, .send(head + "o"), .wait(gate), .send("k")),
      Script(.forever([.request, .send(okResponse("fine"))])))
    let transitions = Transitions()
    let session = Session(
      configuration: Self.configuration(minimum: 1), eventMonitors: [transitions])
    _ = await session.request(server.url).serializingData().response
    await transitions.heard.wait { $0.count == 2 }
    // The share of requests that are let through rises at most once in a quarter of a second.
    try await letPass(0.3)
    var slow: DataRequest
    repeat { slow = session.request(server.url) } while isRejected(await slow.head())
    await transitions.heard.wait { $0.count > 2 }
    while transitions.heard.entries.last != .closed, !Task.isCancelled {
      let value = await session.request(server.url).serializingString().response
      #expect(value.value == "fine" || isRejected(value.error))
    }
    gate.open()
    #expect(await slow.serializingString().response.value == "ok")
    #expect(transitions.heard.entries == [.closed, .open, .halfOpen, .closed])
  }

  @Test("An open circuit rejects before anything is sent, and asks no retrier")
  func opening() async throws {
    let server = try answering(busy)
    let transitions = Transitions()
    let asked = Journal<String>()
    let session = Session(
      configuration: Self.configuration(),
      interceptor: Retrier {
        asked.append("\($2.asWeirError?.responseCode ?? 0)")
        $3(.doNotRetry)
      }, eventMonitors: [transitions])
    var (sent, rejected) = (0, 0)
    while rejected < 3, !Task.isCancelled {
      let request = session.request(server.url).validate()
      if isRejected(await request.serializingData().response.error) {
        #expect(request.outcome == .rejected)
        #expect(request.attemptCount == 0)
        rejected += 1
      } else {
        sent += 1
      }
    }
    #expect(sent >= 3 && server.allRequests.count == sent)
    // About each attempt, and about the serializer's failure after it.
    #expect(asked.entries == Array(repeating: "503", count: 2 * sent))
    #expect(transitions.heard.entries == [.closed, .open])
    let other = try answering(okResponse("fine"))
    #expect(try await session.request(other.url).serializingString().value == "fine")
  }

  @Test("A retry that the circuit does not let through is denied")
  func denial() async throws {
    let server = try answering(busy)
    let recorder = RetryRecorder()
    let session = Session(
      configuration: Self.configuration(), interceptor: Retrier { $3(.retry) }, eventMonitors: [recorder])
    let request = session.request(server.url).validate()
    #expect(await request.serializingData().response.error?.responseCode == 503, "the error that was asked about")
    #expect(server.allRequests.count >= 3 && server.allRequests.count == request.attemptCount)
    #expect(recorder.denials.entries == [.breaker])
  }

  @Test("Requests that succeed close the circuit")
  func recovery() async throws {
    let server = try ScriptedServer(
      Script(
        .request, .send(busy), .request, .send(busy), .request, .send(busy),
        .forever([.request, .send(okResponse("fine"))])))
    let transitions = Transitions()
    let session = Session(configuration: Self.configuration(), eventMonitors: [transitions])
    while transitions.heard.entries.last != .closed || transitions.heard.entries.count < 2, !Task.isCancelled {
      _ = await session.request(server.url).serializingString().response
    }
    #expect(try await session.request(server.url).serializingString().value == "fine")
    #expect(transitions.heard.entries == [.closed, .open, .halfOpen, .closed])
  }

  @Test("Requests that wait for a slot when the circuit opens are rejected too")
  func waiting() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.forever([.request, .call { gate.wait() }, .send(busy)])))
    let table = DestinationTable()
    let session = try Session.sharing(
      table, Self.configuration(minimum: 1) { $0.httpMaximumConnectionsPerHost = 1 })
    let tasks = (0..<50).map { _ in session.request(server.url).validate().serializingData() }
    // The session must be first: a look at a destination makes it.
    while server.allRequests.isEmpty, !Task.isCancelled { await session.loopTurn() }
    while try table.occupancy(of: server) != [1, 0, 49], !Task.isCancelled { await session.loopTurn() }
    gate.open()
    var errors: [WeirError?] = []
    for task in tasks { errors.append(await task.response.error) }
    let failed = errors.count { $0?.responseCode == 503 }
    #expect(failed >= 1 && failed < 10 && server.allRequests.count == failed)
    #expect(errors.count { isRejected($0) } == 50 - failed)
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
  }

  @Test("Timeouts and lost connections are failures; a quick cancel is not", arguments: [true, false])
  func whatCounts(isCancelled: Bool) async throws {
    let server = try ScriptedServer(
      Script(.request, .awaitClose), Script(.request, .awaitClose), Script(.request, .close))
    let session = Session(configuration: Self.configuration())
    for number in 0..<3 {
      let request = session.request(server.url)
      if number < 2, !isCancelled { request.deadline(1) }
      let task = request.serializingData()
      if number < 2, isCancelled {
        while server.allRequests.count <= number, !Task.isCancelled { await session.loopTurn() }
        request.cancel()
      }
      #expect(await task.response.error != nil)
    }
    if isCancelled {
      #expect(!isRejected(await session.request(server.url).serializingData().response.error))
    } else {
      #expect(await rejects(session, server.url))
    }
  }

  @Test("A caller that gives up after more than a second on the wire is a failure")
  func giveUps() async throws {
    let server = try BlackHole()
    let transitions = Transitions()
    let session = Session(configuration: Self.configuration(minimum: 1), eventMonitors: [transitions])
    let request = session.request(server.url).resume()
    try await eventually("it is sent") { !server.received().isEmpty }
    try await letPass(1.05)
    request.cancel()
    await request.settled()
    #expect(transitions.heard.entries == [.closed, .open])
  }
}

extension CircuitTransferTests {
  @Test(
    "A server that does not read a body fails; a deadline that passes meanwhile says nothing", arguments: [true, false])
  func unreadBody(isSilence: Bool) async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.head, .wait(gate)))
    let session = Session(
      configuration: Self.configuration(minimum: 1) { $0.timeoutIntervalForRequest = isSilence ? 0.3 : 60 })
    // More than the system takes in for the two of them.
    let upload = session.upload(Data(count: 64 << 20), to: server.url, method: .put)
    if !isSilence { upload.deadline(3) }
    #expect(await upload.serializingData().response.error?.urlErrorCode == .timedOut)
    gate.open()
    if isSilence {
      #expect(await rejects(session, server.url))
    } else {
      #expect(!isRejected(await session.request(server.url).serializingData().response.error))
    }
  }

  @Test("What fails in this process is no failure of the destination")
  func ownDefect() async throws {
    let server = try answering(okResponse("x"))
    let session = Session(configuration: Self.configuration(minimum: 1) { $0.tls.trustRoots = .file("/nowhere/roots") })
    for _ in 0..<3 {
      let error = await session.request("https://127.0.0.1:\(server.port)/").serializingData().response.error
      #expect(error?.urlErrorCode == .serverCertificateHasUnknownRoot)
    }
  }
}

extension DataRequest {
  /// Resumes, and returns when there is a head, or the error of a request that ended without one.
  fileprivate func head() async -> WeirError? {
    resume()
    while response == nil, outcome == nil { await (delegate as? Session)?.loopTurn() }
    return error
  }
}
