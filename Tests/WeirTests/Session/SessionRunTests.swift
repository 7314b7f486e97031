import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

@Suite("A session that runs until its task is cancelled", .timeLimit(.minutes(5)))
struct SessionRunTests {
  /// A session with a request under way, and the task in which it runs.
  private static func running(
    _ server: ScriptedServer, gracePeriod: Duration
  ) async throws -> (session: Session, task: DataTask<String>, run: Task<Void, Never>) {
    let session = Session()
    let task = session.request(server.url).serializingString()
    try await eventually("it has arrived") { !server.received().isEmpty }
    return (session, task, Task { await session.run(gracePeriod: gracePeriod) })
  }

  @Test("Active requests end first; later ones are refused")
  func drains() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("fine")), .awaitClose))
    let (session, task, run) = try await Self.running(server, gracePeriod: .seconds(600))
    run.cancel()
    // Until then they are refused by a port that nobody listens at.
    try await eventually("it takes no more requests") {
      await session.request("http://127.0.0.1:1/").serializingData().response.error?.isSessionInvalidatedError == true
    }
    gate.open()
    #expect(await task.response.value == "fine")
    await run.value
    #expect(await session.activeRequests.isEmpty)
  }

  @Test("Requests that take longer than the grace period are ended", arguments: [0.05, 0, -1])
  func graceIsOver(seconds: Double) async throws {
    let server = try ScriptedServer(Script(.request, .awaitClose))
    let (session, task, run) = try await Self.running(server, gracePeriod: .seconds(seconds))
    run.cancel()
    #expect(await task.response.error?.isSessionInvalidatedError == true)
    await run.value
    #expect(await session.activeRequests.isEmpty)
    try await eventually("the connection is closed") { server.closedByClientCount == 1 }
  }

  @Test("Of two grace periods the shorter one counts, whichever begins first", arguments: [true, false])
  func twoCalls(shorterFirst: Bool) async throws {
    let server = try ScriptedServer(Script(.request, .awaitClose))
    let (session, task, first) = try await Self.running(server, gracePeriod: .seconds(shorterFirst ? 0.05 : 600))
    let second = Task { await session.run(gracePeriod: .seconds(shorterFirst ? 600 : 0.05)) }
    first.cancel()
    second.cancel()
    #expect(await task.response.error?.isSessionInvalidatedError == true)
    await first.value
    await second.value
  }

  @Test("It returns at once in a cancelled task, and when the session is invalidated by other means")
  func otherEnds() async throws {
    let idle = Session()
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await idle.run()
    }
    await cancelled.value
    let session = Session()
    let run = Task { await session.run() }
    await session.loopTurn()
    session.invalidateAndCancel()
    await run.value
    await session.run()
  }
}
