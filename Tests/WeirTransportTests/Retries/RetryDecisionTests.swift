import Testing
import WeirIO

@testable import WeirTransport

@Suite struct RetryDecisionTests {
  @Test func bodyAndDeadlineHaveTheirSay() {
    let now = MonotonicTime.now
    let decision = RetryDecision.retry(after: 5, source: .backoff)
    func permitted(_ decision: RetryDecision, replay: Bool = true, seconds: Double) -> RetryDecision {
      decision.permitted(canReplayBody: replay, deadline: now.advanced(bySeconds: seconds), now: now)
    }
    #expect(permitted(decision, seconds: 6) == decision)
    #expect(permitted(decision, seconds: 5) == .deny(.deadline))
    #expect(permitted(decision, replay: false, seconds: 5) == .deny(.body))
    let wish = RetryDecision.retry(after: 60, source: .retryAfter, wish: 600)
    #expect(permitted(wish, seconds: 601) == wish)
    #expect(permitted(wish, seconds: 600) == .deny(.deadline))
    #expect(permitted(wish, seconds: 61) == .deny(.deadline))
    let endless = RetryDecision.retry(after: 60, source: .retryAfter, wish: .infinity)
    #expect(permitted(endless, seconds: 1e9) == .deny(.deadline))
    #expect(permitted(.deny(.limit), replay: false, seconds: 0) == .deny(.limit))
  }
}
