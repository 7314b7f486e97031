extension ConfigurationReference {
  /// Keys of a route about failures and load.
  static let failures: [Key] = [
    Key(
      "retry", "mapping", "none",
      "without it nothing is retried"),
    Key(
      "retry.limit", "integer", "`0`",
      "0 to 10 attempts after the first"),
    Key(
      "retry.statusCodes", "list", "408, 500, 502, 503, 504",
      "400 to 599; responses that are retried, besides failed connections"),
    Key(
      "retry.finalResponseFields", "list of names", "X-No-Retry, x-envoy-ratelimited",
      "a response with one of these fields, whatever its value, is not retried"),
    Key(
      "retry.unlessRetried", "boolean", "`true`",
      "requests that are retries of their sender are not retried; `false`: they are retried like others"),
    Key(
      "retry.methods", "list", "DELETE, GET, HEAD, OPTIONS, PUT, QUERY, TRACE",
      "case-sensitive; methods that are retried: `methods: [GET]`"),
    Key(
      "retry.budget", "mapping or `off`", "as below",
      "bounds the retries to the upstream; `off`: only the other keys do"),
    Key(
      "retry.budget.ratio", "number", "`0.2`",
      "0 to 1; retries per request"),
    Key(
      "retry.budget.minimumPerSecond", "number", "`1`",
      "0 to 1000000; retries per second that need no requests"),
    Key(
      "retry.budget.burst", "number", "`10`",
      "0 to 1000000; further retries while the upstream is new, for one window"),
    Key(
      "retry.budget.window", "duration", "`10s`",
      "1s to 60s; the period over which both are counted"),
    Key(
      "overload", "mapping or `off`", "on",
      "load control of the upstream, the same in all routes to it (below); `off`: the slots are the only limit"),
    Key(
      "overload.wait", "duration", "`1.5s`",
      "0.01s to 60s; how long a request waits at most for the limit"),
    Key(
      "overload.waitOverloaded", "duration", "`100ms`, or `wait` if that is less",
      """
      0s to `wait`; the longest wait while the upstream is overloaded, unless half the time of an answer \
      without a queue is longer
      """),
    Key(
      "overload.initial", "integer", "`8`, or `minimum` if that is more",
      "`minimum` to 512; the first limit if the upstream's rate of answers is unknown"),
    Key(
      "overload.minimum", "integer", "`2`",
      "1 to 512; the limit is not lower, except for the moments of a probe"),
    Key(
      "overload.tolerance", "number", "`2`",
      "1.1 to 100; how many times the baseline answers may take before the limit shrinks"),
    Key(
      "overload.silence", "duration or `off`", "`2s`",
      "0.5s to 60s; after so long without any answer the upstream may be taken to be silent; `off`: it never is"),
    Key(
      "overload.priority", "boolean", "`false`",
      """
      whether the client's `Priority: u=N` decides which waiting request goes first (below); only for clients \
      that are all your own
      """),
    Key(
      "circuitBreaker", "mapping or `off`", "`off`",
      "when only a share of the requests goes to a failing upstream; `{}` for all defaults"),
    Key(
      "circuitBreaker.failureRatio", "number", "`0.5`",
      "0.01 to 1; failed ÷ ended attempts from which on requests are refused"),
    Key(
      "circuitBreaker.minimumRequests", "integer", "`20`",
      "1 to 1000000; attempts that must have ended in the window"),
    Key(
      "circuitBreaker.window", "duration", "`10s`",
      "1s to 60s; the period over which attempts are counted"),
    Key(
      "circuitBreaker.openFor", "duration", "none",
      "ignored, with a warning"),
    Key(
      "circuitBreaker.halfOpenProbes", "integer", "none",
      "ignored, with a warning"),
    Key(
      "hedge", "mapping or `off`", "`off`",
      "when a second attempt starts beside one that has no answer yet: `hedge: { after: 200ms }`"),
    Key(
      "hedge.after", "duration", "none",
      "0.001s to 60s, and less than `timeout`; this or `quantile`"),
    Key(
      "hedge.quantile", "number", "none",
      """
      0.5 to 0.999; the delay is the time within which that share of the last minute's answers came. With \
      fewer than 100 answers there is no hedge
      """),
    Key(
      "hedge.limit", "integer", "`1`",
      "1 to 4; second attempts per request"),
  ]
}
