import Weir
import WeirHTTP

// The limits on the attempts at an upstream. Each has its defaults; a key changes one of them.

extension RouteRetryRules {
  static let form: ConfigurationForm<RouteRetryRules> = ConfigurationMapping(RouteRetryRules()) {
    Key("limit", .integer(0...10), \.limit, "attempts after the first")
    Key("statusCodes", .set(of: statusCode), \.statusCodes, "responses that are retried, besides failed connections")
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
      "budget", RetryBudget.form, \.budget,
      "bounds the retries to the upstream; `off`: only the other keys do", missing: .words("as below"))
  }.form { rules, given in
    if let text = rules.idleness { given.reader.warn("retries nothing: \(text)") }
    return rules
  }

  private static let statusCode = ConfigurationForm<Int>(.integer(400...599), text: { "\($0)" }) { reader in
    reader.read(as: .integer) {
      (400...599).contains($0) ? nil : "\($0) is not a failure; give a status code from 400 to 599"
    }
  }

  /// Why nothing is ever retried, which is hardly intended; nil if something may be.
  private var idleness: String? {
    if limit == 0 { return "limit is 0, its default; give a limit such as 2" }
    if methods.isEmpty { return "methods is empty; without the key, idempotent methods are retried" }
    guard let budget, budget.ratio == 0, budget.minimumPerSecond * budget.window + budget.burst < 1 else { return nil }
    return "its budget never comes to one retry; give it a ratio or more per second"
  }
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
    let wait = ConfigurationDuration.text(settings.wait)
    given.require("waitOverloaded", &settings.waitOverloaded, atMost: settings.wait, "wait, \(wait)s")
    given.require("initial", &settings.initial, atLeast: settings.minimum, "minimum, \(settings.minimum)")
    return settings
  }
}

extension HedgePlan {
  static let form: ConfigurationForm<HedgePlan?> = ConfigurationMapping(
    ReadHedge(),
    rules: [.one(["after", "quantile"], "needs one of after (such as 200ms) and quantile (such as 0.95)")]
  ) {
    Key("after", .seconds(0.001...60), \.after, "less than `timeout`; this or `quantile`")
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
