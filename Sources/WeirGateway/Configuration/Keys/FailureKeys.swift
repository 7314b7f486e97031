import Weir
import WeirHTTP
import WeirTransport

// The limits on the attempts at an upstream. Each has its defaults; a key changes one of them.

extension RouteRetryRules {
  static let form: ConfigurationForm<RouteRetryRules> = ConfigurationMapping(
    RouteRetryRules(),
    misplaced: [
      "attemptTimeout": "it belongs into the route, beside timeout",
      "perTryTimeout": "it is attemptTimeout, beside timeout",
    ]
  ) {
    Key("limit", .integer(0...10), \.limit, "attempts after the first")
    Key("statusCodes", .set(of: statusCode), \.statusCodes, "responses that are retried, besides failed connections")
    Key(
      "causes", .words("causes", empty: "holds no cause, so nothing is retried; leave the key out for all"), \.causes,
      """
      failures that are retried. `connect`: no connection (lookup, TCP, tunnel, TLS); `lost`: it broke before the head, or \
      the head was bad; `timeout`: `attemptTimeout` or `silenceTimeout`; `status`: one of `statusCodes`
      """, missing: .words("all"))
    Key(
      "finalResponseFields",
      .list(of: .text { FieldSyntax.isToken($0) ? nil : "\(quoted($0)) is not a field name" }).called("list of names"),
      \.finalResponseFields,
      "a response with one of these fields, whatever its value, is not retried")
    Key(
      "unlessRetried", .boolean, \.unlessRetried,
      "requests that are retries of their sender are not retried; `false`: they are retried like others")
    Key("methods", .set(of: .method), \.methods, "case-sensitive; methods that are retried: `methods: [GET]`")
    Key(
      "idempotencyKey", .boolean, \.idempotencyKey,
      """
      `true`: a request with exactly one `Idempotency-Key` may be retried, or go to a `fallback`, whatever its method, for \
      upstreams that know such keys. Hedges go by the method alone
      """)
    Key(
      "keptBytes", .integer(0...16 << 20), \.keptBytes,
      """
      a body of at most so many bytes is kept, to be sent again by a retry, to a `fallback`, or with a new token; others \
      are sent once. Beyond 64 KiB each, all bodies together have 256 MiB
      """)
    Key(
      "backoff", RouteBackoff.form, \.backoff, "the delays before retries; a longer `Retry-After` comes before them",
      missing: .words("as below"))
    Key(
      "budget", RetryBudget.form, \.budget,
      "bounds the retries to the upstream; `off`: only the other keys do", missing: .words("as below"))
  }.form { rules, given in
    if !rules.causes.contains(.status) {
      for key in ["statusCodes", "finalResponseFields"] {
        given[key]?.warn("has no effect: causes has no status, so no response is retried")
      }
    }
    return rules
  }

  private static let statusCode = ConfigurationForm<Int>(.integer(400...599), text: { "\($0)" }) { reader in
    reader.read(as: .integer) {
      (400...599).contains($0) ? nil : "\($0) is not a failure; give a status code from 400 to 599"
    }
  }

  /// Warns of what is hardly intended: that nothing is ever retried, or that a key has no effect.
  ///
  /// - Parameter entries: The entry of each upstream of the route; nil for a URL.
  func warn(in route: Route, to entries: [NamedUpstream?], _ given: ConfigurationGiven) {
    guard let reader = given.fitting("retry") else { return }
    let silences = entries.map { route.silenceTimeout ?? $0?.connection.silenceTimeout ?? 0 }
    let canTimeOut = route.attemptTimeout != nil || silences.contains { $0 > 0 }
    if let text = idleness(canTimeOut: canTimeOut) {
      let hasCredential = route.credential != nil || entries.contains { $0?.credential != nil }
      let keys = Set(reader.entries()?.map(\.key) ?? []).subtracting(["limit"])
      let uses = limit == 0 ? Self.otherUses(in: route, hasCredential: hasCredential) : []
      if keys.isEmpty || !keys.isSubset(of: uses) { return reader.warn("retries nothing: \(text)") }
    } else if causes.contains(.timeout),
      let both = route.attemptTimeout.flatMap({ ConfigurationDuration.duration(seconds: 2 * $0) }), both > route.timeout
    {
      let timeout = ConfigurationDuration.text(seconds: route.timeout / .seconds(1))
      given["attemptTimeout"]?.warn("the route's timeout, \(timeout), leaves no room for a second attempt")
    }
    if let most = route.bodyBytes, keptBytes > most {
      reader.child("keptBytes")?.warn("is more than the route's bodyBytes, \(most); larger bodies get 413")
    }
  }

  /// The keys that have an effect without a limit.
  private static func otherUses(in route: Route, hasCredential: Bool) -> Set<String> {
    var keys: Set<String> = hasCredential ? ["keptBytes"] : []
    if case .upstream? = route.fallback?.action { keys.formUnion(["idempotencyKey", "keptBytes", "methods"]) }
    if route.hedge != nil { keys.formUnion(["budget", "unlessRetried"]) }
    return keys
  }

  /// Why nothing is ever retried; nil if something may be.
  ///
  /// - Parameter canTimeOut: Whether attempts have a time that may be over before that of the request.
  private func idleness(canTimeOut: Bool) -> String? {
    if limit == 0 { return "limit is 0, its default; give a limit such as 2" }
    if methods.isEmpty, !idempotencyKey { return "methods is empty; without the key, idempotent methods are retried" }
    if causes == [.status], statusCodes.isEmpty { return "causes has status alone, and statusCodes is empty" }
    let possible = causes.subtracting(canTimeOut ? [] : [.timeout]).subtracting(statusCodes.isEmpty ? [.status] : [])
    if possible.isEmpty { return "nothing can time out; give attemptTimeout or silenceTimeout, or other causes" }
    guard let budget, budget.ratio == 0, budget.minimumPerSecond * budget.window + budget.burst < 1 else { return nil }
    return "its budget never comes to one retry; give it a ratio or more per second"
  }
}

extension RouteBackoff {
  static let form: ConfigurationForm<RouteBackoff> = ConfigurationMapping(RouteBackoff()) {
    Key(
      "base", .seconds(times), \.base,
      "the longest delay before the first retry. It doubles with each; the delay is drawn between 0 and it")
    Key(
      "maximum", .seconds(times), \.maximum, "at least `base`; no delay of these is longer",
      missing: .ownOr("`base` if that is more"))
  }.form { backoff, given in
    let base = ConfigurationDuration.text(seconds: backoff.base)
    given.require("maximum", &backoff.maximum, atLeast: backoff.base, "base, \(base)")
    return backoff
  }

  private static let times = 0.001...60.0
}

extension RetryBudget {
  static let form = ConfigurationMapping(RetryBudget()) {
    Key("ratio", .number(0...1), \.ratio, "retries per request")
    Key("minimumPerSecond", .number(0...1_000_000), \.minimumPerSecond, "retries per second that need no requests")
    Key("burst", .number(0...1_000_000), \.burst, "further retries while the upstream is new, for one window")
    Key("window", .seconds(windows), \.window, "the period over which both are counted")
  }.formOrOff()
}

extension CircuitBreaker {
  private static let isGone =
    "leave it out: a circuit lets a share of the requests through, which follows their failures"

  /// An empty mapping is a breaker with all defaults.
  static let form = ConfigurationMapping(
    CircuitBreaker(), misplaced: ["openFor": isGone, "halfOpenProbes": isGone]
  ) {
    Key("failureRatio", .number(0.01...1), \.failureRatio, "failed ÷ ended attempts from which on requests are refused")
    Key("minimumRequests", .integer(1...1_000_000), \.minimumRequests, "attempts that must have ended in the window")
    Key("window", .seconds(windows), \.window, "the period over which attempts are counted")
  }.formOrOff()
}

extension OverloadSettings {
  static let form: ConfigurationForm<OverloadSettings?> = ConfigurationMapping(OverloadSettings()) {
    Key("wait", .seconds(waits), \.wait, "how long a request waits at most for the limit")
    Key(
      "waitOverloaded", .seconds(0...waits.upperBound), \.waitOverloaded,
      """
      at most `wait`; the longest wait while the upstream is overloaded, unless half the time of an answer without \
      a queue is longer
      """, missing: .ownOr("`wait` if that is less"))
    Key(
      "initial", .integer(limits), \.initial,
      "at least `minimum`; the first limit if the upstream's rate of answers is unknown",
      missing: .ownOr("`minimum` if that is more"))
    Key("minimum", .integer(limits), \.minimum, "the limit is not lower, except for the moments of a probe")
    Key(
      "tolerance", .number(tolerances), \.tolerance,
      "how many times the baseline answers may take before the limit shrinks")
    Key(
      "silence", .secondsOrOff(silences), \.silence,
      "after so long without any answer the upstream may be taken to be silent; `off`: it never is")
    Key(
      "priority", .boolean, \.priority,
      """
      whether the client's `Priority: u=N` decides which waiting request goes first ([bounds.md](bounds.md#load)); only for clients that \
      are all your own
      """)
  }.formOrOff(on: "it is on by default: leave the key out, or write {}") { settings, given in
    let wait = ConfigurationDuration.text(seconds: settings.wait)
    given.require("waitOverloaded", &settings.waitOverloaded, atMost: settings.wait, "wait, \(wait)")
    given.require("initial", &settings.initial, atLeast: settings.minimum, "minimum, \(settings.minimum)")
    return settings
  }
}

extension PaceSettings {
  /// An empty mapping obeys, and has no rate.
  static let form: ConfigurationForm<PaceSettings?> = ConfigurationMapping(PaceSettings()) {
    Key(
      "rate", perSecond, \.rate,
      """
      `50/s`, `1000/m` or `5/h`; up to \(RateLimit.mostPerSecond)/s: attempts that go to the upstream, with retries, hedges \
      and repeated dials
      """)
    Key(
      "burst", .integer(bursts), \.burst, "attempts that may begin at once after a time with few; needs `rate`")
    Key(
      "obey", .words("signals"), \.obey,
      """
      answers that pause the upstream, for 60 s at most. `retryAfter`: 429 or 503 with `Retry-After`; `rateLimit`: \
      `RateLimit` with `r=0`, or an older form such as `X-RateLimit-Remaining: 0`; `[]`: none
      """)
    Key(
      "wait", .seconds(waits), \.wait,
      "how long a request waits at most for its turn, or for the end of a pause. One that would wait longer gets 503 at once"
    )
  }.formOrOff { pace, given in
    if pace.rate == nil, !given.has("rate") {
      if pace.obey.isEmpty {
        given.reader.warn("does nothing: there is no rate, and obey is empty; write off, or leave it out")
      } else {
        given["burst"]?.warn("has no effect without rate")
      }
    }
    return pace
  }.refusing { value in
    guard case .string(let text) = value, RequestRate.kind.read(value) != nil else { return nil }
    return "is a rate alone; write { rate: \(text) }"
  }

  private static let perSecond = RequestRate.form.map { Double($0.count) / Double($0.period) }
}

extension HedgePlan {
  static let form: ConfigurationForm<HedgePlan?> = ConfigurationMapping(
    ReadHedge(),
    rules: [.one(["after", "quantile"], "needs one of after (such as 200ms) and quantile (such as 0.95)")]
  ) {
    Key("after", .seconds(0.001...60), \.after, "less than `timeout` and `attemptTimeout`; this or `quantile`")
    Key(
      "quantile", .number(0.5...0.999), \.quantile,
      """
      the delay is the time within which that share of the last minute's answers came. With fewer than 100 answers \
      there is no hedge
      """)
    Key("limit", .integer(1...4), \.limit, "second attempts per request")
  }.formOrOff { read, _ in
    let delay = read.after.map(HedgeDelay.seconds) ?? read.quantile.map(HedgeDelay.quantile)
    return delay.map { HedgePlan(delay: $0, limit: read.limit) }
  }
}

private struct ReadHedge {
  var after: Double?
  var quantile: Double?
  var limit = 1
}
