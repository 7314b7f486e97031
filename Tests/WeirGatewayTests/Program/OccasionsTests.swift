import Synchronization
import Testing
import WeirExporter

@testable import WeirGateway

@Suite struct OccasionsTests {
  /// Who has heard what status.
  private final class Heard: Sendable {
    private let statuses = Mutex<[String: Int]>([:])

    var all: [String: Int] { statuses.withLock { $0 } }

    func answer(_ name: String) -> Occasions.Answer {
      { result in self.statuses.withLock { $0[name] = result.status } }
    }
  }

  @Test func thoseWhoAskBeforeAReloadBeginsShareIt() async throws {
    let occasions = Occasions()
    let heard = Heard()
    occasions.note(.hangUp, answer: heard.answer("a"))
    occasions.note(.hangUp)
    occasions.note(.hangUp, answer: heard.answer("b"))
    occasions.note(.terminate)
    var stream = occasions.stream.makeAsyncIterator()
    let first = try #require(await stream.next())
    #expect(first.event == .hangUp)
    let answer = occasions.begin(first)
    // This one asks for what the reload under way may have missed.
    occasions.note(.hangUp, answer: heard.answer("c"))
    answer?(AdminAction.Result(reloadedWith: []))
    #expect(heard.all == ["a": 200, "b": 200])
    #expect(await stream.next()?.event == .terminate)
    let last = try #require(await stream.next())
    #expect(last.event == .hangUp)
    occasions.begin(last)?(.ending)
    #expect(heard.all == ["a": 200, "b": 200, "c": 503])
  }
}
