import WeirTestSupport

extension WireGroup {
  /// Retries: the requests of later attempts, and failures after which there are none.
  static var retries: WireGroup {
    WireGroup(routes: retryRoutes, cases: retried + denied)
  }

  private static let busy = "HTTP/1.1 503 Busy|Retry-After: 0|Content-Length: 4||busy"
  private static let good = "HTTP/1.1 200 OK|Content-Length: 4||good"

  private static let retryRoutes = [
    WireRoute("again", rules: twice, .inTurn(busy, busy, good)),
    WireRoute("counted", rules: "retry: {limit: 1, unlessRetried: false}", .inTurn(busy, good)),
    WireRoute("silent", rules: "retry: {limit: 1}, headers: {remove: [X-Retry-Attempt]}", .inTurn(busy, good)),
    WireRoute("sent", rules: "retry: {limit: 1, methods: [PUT]}", .inTurn(busy, good, busy, good)),
    WireRoute("used-up", rules: twice, .inTurn(busy, busy, busy)),
    WireRoute("left-alone", rules: twice, .inTurn(busy)),
    WireRoute("large", rules: "retry: {limit: 2, methods: [PUT]}", .inTurn(busy)),
    WireRoute("posted", rules: twice, .inTurn(busy)),
    WireRoute("final", rules: twice, .inTurn("HTTP/1.1 503 Busy|X-No-Retry: 1|Content-Length: 0||")),
    WireRoute(
      "later", rules: "timeout: 5s, retry: {limit: 2}", .inTurn("HTTP/1.1 503 Busy|Retry-After: 30|Content-Length: 0||")
    ),
    WireRoute(
      "budget", rules: "retry: {limit: 3, budget: {ratio: 0, minimumPerSecond: 0, burst: 1, window: 60s}}",
      .inTurn(busy, busy, busy)),
    WireRoute("broken", rules: twice, Script(.head, .close), Script(.head, .reset), .inTurn(good)),
    WireRoute(
      "taken-back", rules: twice,
      Script(.head, .send(WireCase.bytes("HTTP/1.1 200 OK|X-First: 1|Transfer-Encoding: chunked||zz|")), .awaitClose),
      .inTurn(good)),
  ]

  private static let twice = "retry: {limit: 2}"

  private static func get(_ name: String, _ route: String, fields: String = "") -> WireCase {
    WireCase(name, route, fields: fields)
  }

  private static func put(_ name: String, _ route: String, method: String = "PUT", length: Int) -> WireCase {
    WireCase(
      name, route,
      "\(method) /x HTTP/1.1|Host: \(route).test|Connection: close|Content-Length: \(length)||"
        + String(repeating: "b", count: length))
  }

  private static let retried = [
    get("two retries of a status", "again", fields: "X-Own: 1|"),
    get("a retry of a retry", "counted", fields: "X-Retry-Attempt: 2|"),
    get("a retry that is not announced", "silent"),
    put("a retry with a body", "sent", length: 5),
    WireCase(
      "a retry with a chunked body", "sent",
      "PUT /x HTTP/1.1|Host: sent.test|Connection: close|Transfer-Encoding: chunked||5|hello|0||"),
    get("retries of lost connections", "broken"),
    get("a response that is taken back", "taken-back"),
  ]

  private static let denied = [
    get("retries that are used up", "used-up"),
    get("a retry of its sender's is not retried", "left-alone", fields: "X-Retry-Attempt: 1|"),
    put("a large body is not sent again", "large", length: 70_000),
    put("a method that is not retried", "posted", method: "POST", length: 3),
    get("a response that is final", "final"),
    get("a response that asks to come too late", "later"),
    get("a budget's only retry", "budget"),
    get("a budget without a retry", "budget"),
  ]
}
