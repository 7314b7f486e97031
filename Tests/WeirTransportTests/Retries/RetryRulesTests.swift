import Testing

@testable import WeirTransport

@Suite struct RetryRulesTests {
  /// 6 November 1994, 08:49:37 UTC.
  private static let now = 784_111_777.0

  private static func rules(
    limit: UInt = 2, scale: Double = 1, respectsRetryAfter: Bool = true, finalFields: [String] = []
  ) -> RetryRules {
    RetryRules(
      limit: limit, methods: ["GET"], statusCodes: [503], codes: [.timedOut],
      backoff: RetryBackoff(base: 2, scale: scale, maximumDelay: 100), respectsRetryAfter: respectsRetryAfter,
      finalResponseFields: finalFields)
  }

  private func decision(
    _ rules: RetryRules, method: String? = "GET", status: Int? = 503, code: FailureCode = .badURL,
    retryCount: Int = 0, isRetryable: Bool? = nil, retryAfter: String? = nil,
    fields: [String] = []
  ) -> RetryDecision {
    let failure = RetryRules.Failure(method: method, status: status, code: code)
    return rules.decision(
      about: failure, isRetryable: isRetryable ?? rules.isRetryable(failure), retryCount: retryCount,
      values: { name in name == "Retry-After" ? retryAfter.map { [$0] } ?? [] : fields.contains(name) ? [""] : [] },
      random: 0.5, now: Self.now)
  }

  @Test func aDecisionSaysWhy() {
    #expect(decision(Self.rules()) == .retry(after: 1, source: .backoff))
    #expect(decision(Self.rules(), retryCount: 1) == .retry(after: 2, source: .backoff))
    #expect(decision(Self.rules(), retryCount: 2) == .deny(.limit))
    #expect(decision(Self.rules(), method: "POST") == .deny(.method))
    #expect(decision(Self.rules(), method: "POST", retryCount: 2) == .deny(.method))
    #expect(decision(Self.rules(), status: 404) == .deny(.policy))
    #expect(decision(Self.rules(), method: "POST", status: 404) == .deny(.policy))
    #expect(decision(Self.rules(), status: nil, code: .timedOut) == .retry(after: 1, source: .backoff))
    #expect(decision(Self.rules(), method: nil, status: nil, code: .timedOut) == .deny(.policy))
  }

  @Test func whoOverridesTheRulesIsFollowed() {
    #expect(decision(Self.rules(), method: "POST", isRetryable: true) == .retry(after: 1, source: .backoff))
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

  @Test(
    arguments: [
      (["5", "7"], 7, nil), (["7", "5"], 7, nil), (["7", "soon"], 7, nil), (["soon", "7"], 7, nil),
      (["5, 7"], nil, nil), (["5", "5, 7"], 5, nil), (["0", "5"], 5, nil),
      (["5", "Sun, 06 Nov 1994 08:49:47 GMT"], 10, nil), (["Sun, 06 Nov 1994 08:49:47 GMT", "15"], 15, nil),
      (["Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:50 GMT"], 13, nil), (["600", "5"], 60, 600),
    ] as [([String], Double?, Double?)])
  func theLongestOfSeveralWishesCounts(values: [String], delay: Double?, wish: Double?) {
    let failure = RetryRules.Failure(method: "GET", status: 503)
    let decision = Self.rules().decision(
      about: failure, isRetryable: true, retryCount: 0, values: { $0 == "Retry-After" ? values : [] }, random: 0.5,
      now: Self.now)
    #expect(
      decision == delay.map { .retry(after: $0, source: .retryAfter, wish: wish) } ?? .retry(after: 1, source: .backoff)
    )
  }

  @Test func aFinalResponseIsNotRetried() {
    let rules = Self.rules(finalFields: ["X-No-Retry", "x-envoy-ratelimited"])
    #expect(decision(rules, fields: ["X-Other"]) == .retry(after: 1, source: .backoff))
    #expect(decision(rules, fields: ["X-No-Retry"]) == .deny(.policy))
    #expect(decision(rules, retryAfter: "5", fields: ["x-envoy-ratelimited"]) == .deny(.policy))
    #expect(decision(rules, isRetryable: true, fields: ["X-No-Retry"]) == .deny(.policy))
    #expect(decision(rules, retryCount: 2, fields: ["X-No-Retry"]) == .deny(.policy))
    #expect(decision(rules, method: "POST", fields: ["X-No-Retry"]) == .deny(.method))
    #expect(decision(Self.rules(), fields: ["X-No-Retry"]) == .retry(after: 1, source: .backoff))
  }

  @Test func theServersWishCountsWhereItIsAskedFor() {
    #expect(
      decision(Self.rules(respectsRetryAfter: false), retryAfter: "5") == .retry(after: 1, source: .backoff))
    #expect(
      decision(Self.rules(), status: 200, code: .timedOut, retryAfter: "5")
        == .retry(after: 1, source: .backoff))
  }
}
