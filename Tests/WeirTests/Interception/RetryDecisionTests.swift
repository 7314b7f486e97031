import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO

@testable import Weir

@Suite struct RetryDecisionTests {
  private static let now = Date(timeIntervalSince1970: 784_111_777)

  private static func rules(
    limit: UInt = 2, scale: Double = 1, respectsRetryAfter: Bool = true, finalFields: [String] = []
  ) -> RetryRules {
    RetryRules(
      limit: limit, methods: [.get], statusCodes: [503], errorCodes: [.timedOut],
      backoff: RetryBackoff(base: 2, scale: scale, maximumDelay: 100), respectsRetryAfter: respectsRetryAfter,
      finalResponseFields: finalFields)
  }

  private func decision(
    _ rules: RetryRules, method: HTTPMethod? = .get, status: Int? = 503, error: any Error = URLError(.badURL),
    retryCount: Int = 0, isRetryable: Bool? = nil, retryAfter: String? = nil,
    fields: [String] = []
  ) -> RetryDecision {
    let own = method.map { rules.isRetryable(method: $0, status: status, error: error) } ?? false
    return rules.decision(
      about: RetryRules.Failure(method: method, status: status, error: error, retryCount: retryCount),
      isRetryable: isRetryable ?? own,
      field: { name in name == "Retry-After" ? retryAfter : fields.contains(name) ? "" : nil }, random: 0.5,
      now: Self.now)
  }

  // MARK: The rules

  @Test func aDecisionSaysWhy() {
    #expect(decision(Self.rules()) == .retry(after: 1, source: .backoff))
    #expect(decision(Self.rules(), retryCount: 1) == .retry(after: 2, source: .backoff))
    #expect(decision(Self.rules(), retryCount: 2) == .deny(.limit))
    #expect(decision(Self.rules(), method: .post) == .deny(.method))
    #expect(decision(Self.rules(), method: .post, retryCount: 2) == .deny(.method))
    #expect(decision(Self.rules(), status: 404) == .deny(.policy))
    #expect(decision(Self.rules(), method: .post, status: 404) == .deny(.policy))
    #expect(decision(Self.rules(), status: nil, error: URLError(.timedOut)) == .retry(after: 1, source: .backoff))
    #expect(decision(Self.rules(), method: nil, status: nil, error: URLError(.timedOut)) == .deny(.policy))
  }

  @Test func whoOverridesTheRulesIsFollowed() {
    #expect(decision(Self.rules(), method: .post, isRetryable: true) == .retry(after: 1, source: .backoff))
    #expect(decision(Self.rules(), retryCount: 2, isRetryable: true) == .deny(.limit))
    #expect(decision(Self.rules(), isRetryable: false) == .deny(.policy))
  }

  @Test(
    arguments: [
      (1, "5", 5, true), (10, "5", 10, false), (5, "5", 5, true), (1, nil, 1, false), (1, "soon", 1, false),
      (1, "60", 60, true), (70, "65", 70, false), (0, "0", 0, false), (1, "Sun, 06 Nov 1994 08:49:47 GMT", 10, true),
    ] as [(Double, String?, Double, Bool)])
  func theServersWishIsNeverBelowTheBackoff(backoff: Double, value: String?, delay: Double, isTheServers: Bool) {
    #expect(
      decision(Self.rules(scale: backoff), retryAfter: value)
        == .retry(after: delay, source: isTheServers ? .retryAfter : .backoff))
  }

  @Test(
    arguments: [
      (1, "600", 60, true, 600), (90, "600", 90, false, 600), (1, "61", 60, true, 61),
      (1, "Mon, 06 Nov 1995 08:49:37 GMT", 60, true, 31_536_000),
    ] as [(Double, String, Double, Bool, Double)])
  func whatTheServerIsNotGrantedIsRemembered(
    backoff: Double, value: String, delay: Double, isTheServers: Bool, wish: Double
  ) {
    #expect(
      decision(Self.rules(scale: backoff), retryAfter: value)
        == .retry(after: delay, source: isTheServers ? .retryAfter : .backoff, wish: wish))
  }

  @Test func aFinalResponseIsNotRetried() {
    let rules = Self.rules(finalFields: ["X-No-Retry", "x-envoy-ratelimited"])
    #expect(decision(rules, fields: ["X-Other"]) == .retry(after: 1, source: .backoff))
    #expect(decision(rules, fields: ["X-No-Retry"]) == .deny(.policy))
    #expect(decision(rules, retryAfter: "5", fields: ["x-envoy-ratelimited"]) == .deny(.policy))
    #expect(decision(rules, isRetryable: true, fields: ["X-No-Retry"]) == .deny(.policy))
    #expect(decision(rules, retryCount: 2, fields: ["X-No-Retry"]) == .deny(.policy))
    #expect(decision(rules, method: .post, fields: ["X-No-Retry"]) == .deny(.method))
    #expect(decision(Self.rules(), fields: ["X-No-Retry"]) == .retry(after: 1, source: .backoff))
  }

  @Test func theServersWishCountsWhereItIsAskedFor() {
    #expect(
      decision(Self.rules(respectsRetryAfter: false), retryAfter: "5") == .retry(after: 1, source: .backoff))
    #expect(
      decision(Self.rules(), status: 200, error: URLError(.timedOut), retryAfter: "5")
        == .retry(after: 1, source: .backoff))
  }

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
