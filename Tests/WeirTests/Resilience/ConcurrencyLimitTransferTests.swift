import Synchronization
import Testing
import WeirTestSupport

@testable import Weir
@testable import WeirTransport

/// What an adaptive limit does to requests on the wire.
@Suite("Adaptive concurrency on the wire", .timeLimit(.minutes(2))) struct ConcurrencyLimitTransferTests {
  private final class Limits: InlineEventMonitor {
    let interests: EventInterests = .resilience
    let heard = Journal<Int>()

    func session(_ session: Session, concurrencyLimit destination: Destination, limit: Int) { heard.append(limit) }
  }

  @Test("Attempts that a server breaks off at once do not make it a fast one")
  func resets() async throws {
    let server = try ScriptedServer(
      Script(
        .forever([
          .dispatch { $0.contains("/bad") ? [.reset] : [.sleep(0.3), .send(okResponse("x"))] }
        ])))
    var configuration = SessionConfiguration.default
    // A reset takes less than a tenth of an answer.
    configuration.adaptiveConcurrency = AdaptiveConcurrency(tolerance: 10, smoothing: 1, window: 0.02)
    let table = DestinationTable()
    let session = try Session.sharing(table, configuration)
    let tasks = (0..<200).map { number in
      session.request(server.url + (number.isMultiple(of: 5) ? "bad" : "good")).serializingString()
    }
    for task in tasks { _ = await task.response }
    #expect(try table.state(of: server.url).fields.withLock { $0.limit?.slots ?? 0 } >= 20)
  }

  @Test("No more attempts than the limit are on the wire, and all requests get through")
  func onTheWire() async throws {
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
          }, .sleep(0.002), .call { under.withLock { $0.now -= 1 } }, .send(okResponse("x")),
        ])))
    var configuration = SessionConfiguration.default
    configuration.adaptiveConcurrency = AdaptiveConcurrency(minimum: 1, initial: 3, window: 60)
    let limits = Limits()
    let table = DestinationTable()
    let session = try Session.sharing(table, configuration, eventMonitors: [limits])
    let tasks = (0..<60).map { _ in session.request(server.url).serializingString() }
    for task in tasks { #expect(await task.response.value == "x") }
    #expect((1...3).contains(under.withLock { $0.most }))
    #expect(limits.heard.entries == [3])
    await session.loopTurn()
    #expect(try table.occupancy(of: server) == [0, 0, 0])
    table.forgetLimits()
    #expect(try await session.request(server.url).serializingString().value == "x")
  }
}
