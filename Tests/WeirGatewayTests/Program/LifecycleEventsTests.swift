import Synchronization
import Testing
import WeirExporter

@testable import WeirGateway

@Suite struct LifecycleEventsTests {
  /// The status that each has heard.
  private final class Heard: Sendable {
    private let statuses = Mutex<[String: Int]>([:])

    var all: [String: Int] { statuses.withLock { $0 } }

    func answer(_ name: String) -> LifecycleEvents.Answer {
      { result in self.statuses.withLock { $0[name] = result.status } }
    }
  }

  @Test func thoseWhoAskBeforeAReloadBeginsShareIt() async throws {
    let events = LifecycleEvents()
    let heard = Heard()
    events.note(.hangUp, answer: heard.answer("a"))
    events.note(.hangUp)
    events.note(.hangUp, answer: heard.answer("b"))
    events.note(.terminate)
    var stream = events.stream.makeAsyncIterator()
    let first = try #require(await stream.next())
    #expect(first.event == .hangUp)
    let answer = events.begin(first)
    // This one asks for what the reload under way may have missed.
    events.note(.hangUp, answer: heard.answer("c"))
    answer?(AdminAction.Result(reloadedWith: []))
    #expect(heard.all == ["a": 200, "b": 200])
    #expect(await stream.next()?.event == .terminate)
    let last = try #require(await stream.next())
    #expect(last.event == .hangUp)
    events.begin(last)?(.ending)
    #expect(heard.all == ["a": 200, "b": 200, "c": 503])
  }
}
