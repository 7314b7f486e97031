import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO

@testable import Weir
@testable import WeirTransport

@Suite struct RetryDecisionTests {
  // MARK: Answers

  @Test func anAnswerIsTakenForTheRulesWhereItIsTheirs() {
    let asked = RetryDecision.retry(after: 5, source: .retryAfter)
    #expect(RetryDecision(.retryWithDelay(5), noted: asked) == asked)
    let wish = RetryDecision.retry(after: 60, source: .retryAfter, wish: 600)
    #expect(RetryDecision(.retryWithDelay(60), noted: wish) == wish)
    #expect(RetryDecision(.retryWithDelay(59), noted: wish) == .retry(after: 59, source: .backoff))
    #expect(RetryDecision(.retryWithDelay(6), noted: asked) == .retry(after: 6, source: .backoff))
    #expect(RetryDecision(.retryWithDelay(-1), noted: nil) == .retry(after: 0, source: .backoff))
    #expect(RetryDecision(.retry, noted: asked) == .retry(after: 0, source: .backoff))
    #expect(RetryDecision(.doNotRetry, noted: .deny(.limit)) == .deny(.limit))
    #expect(RetryDecision(.doNotRetry, noted: asked) == .deny(.policy))
    #expect(RetryDecision(.doNotRetry, noted: nil) == .deny(.policy))
    #expect(RetryDecision(.retryWithDelay(3), noted: .deny(.limit)) == .retry(after: 3, source: .backoff))
    #expect(RetryDecision(.doNotRetryWithError(URLError(.badURL)), noted: .deny(.limit)) == .deny(.policy))
  }

  @Test func aNewCredentialIsPartOfTheDecisionAsFarAsTheAnswerIsIts() {
    let credential = RefreshedCredential(interceptor: ObjectIdentifier(RefreshScope.Owner.self), version: 1)
    let noted = RetryDecision.retry(after: 0, source: .backoff, credential: credential)
    #expect(RetryDecision(.retry, noted: noted) == noted)
    #expect(RetryDecision(.retryWithDelay(0), noted: noted) == noted)
    #expect(RetryDecision(.retryWithDelay(1), noted: noted) == .retry(after: 1, source: .backoff))
    #expect(
      RetryDecision(.retry, noted: .retry(after: 2, source: .backoff, credential: credential))
        == .retry(after: 0, source: .backoff))
    #expect(RetryDecision(.doNotRetry, noted: noted) == .deny(.policy))
    #expect(noted.permitted(canReplayBody: true, deadline: .distantFuture, now: .now) == noted)
    #expect(noted.permitted(canReplayBody: false, deadline: .distantFuture, now: .now) == .deny(.body))
  }

  // MARK: Through the chain

  /// Who says no for a reason counts, whoever is asked after; a policy is asked once about each failure.
  @Test func theFirstReasonIsTheChains() throws {
    final class Counting: RetryPolicy, @unchecked Sendable {
      let asked = Mutex(0)
      override func shouldRetry(request: Request, dueTo error: any Error) -> Bool {
        asked.withLock { $0 += 1 }
        return super.shouldRetry(request: request, dueTo: error)
      }
    }
    let session = Session()
    let counting = Counting(retryLimit: 1)
    let request = try Interception.request(in: session, retryCount: 1)
    let error = WeirError.sessionTaskFailed(error: URLError(.networkConnectionLost))
    func decision(_ retriers: [any RequestRetrier]) -> RetryDecision? {
      let decided = Mutex<RetryDecision?>(nil)
      RetryChain(retriers: retriers, request: request, session: session, error: error) { _, decision in
        decided.withLock { $0 = decision }
      }.run()
      return decided.withLock { $0 }
    }
    let no = Retrier { _, _, _, completion in completion(.doNotRetry) }
    #expect(decision([]) == .deny(.policy))
    #expect(decision([no]) == .deny(.policy))
    #expect(decision([no, counting, no]) == .deny(.limit))
    #expect(counting.asked.withLock { $0 } == 1)
    #expect(decision([counting, RetryPolicy(retryLimit: 5, retryableHTTPMethods: [])]) == .deny(.limit))
    #expect(decision([Interceptor(retriers: [no, counting]), no]) == .deny(.limit))
    #expect(decision([counting, RetryPolicy(retryLimit: 5)]) == .retry(after: 1, source: .backoff))
    #expect(decision([Interceptor(retriers: [RetryPolicy(retryLimit: 5)])]) == .retry(after: 1, source: .backoff))
  }
}
