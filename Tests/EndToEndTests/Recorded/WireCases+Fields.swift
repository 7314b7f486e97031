import WeirTestSupport

extension WireGroup {
  /// Which header fields cross the gateway, in both directions, and which it adds.
  static var fields: WireGroup {
    WireGroup(routes: fieldRoutes, cases: requestFields + routeRules + responseFields)
  }

  private static let fieldRoutes = [
    WireRoute("fields", .answers("HTTP/1.1 200 OK|Content-Length: 2||ok")),
    WireRoute(
      "rules", rules: "headers: {set: {X-Caller: shop, X-Forwarded-Proto: https}, remove: [X-Debug, X-Retry-Attempt]}",
      .answers("HTTP/1.1 200 OK|Content-Length: 2||ok")),
    WireRoute(
      "hosted", rules: "headers: {set: {Host: other.example}, remove: [X-Forwarded-For]}",
      .answers("HTTP/1.1 200 OK|Content-Length: 2||ok")),
    WireRoute(
      "answers",
      .answers { head in
        let name = String(head.split(separator: " ")[1])
        return [.send(WireCase.bytes(responses[name] ?? "HTTP/1.1 500 No|Content-Length: 0||"))]
      }),
  ]

  // MARK: Requests

  private static let requestFields = [
    WireCase("a plain request", "fields", fields: ""),
    WireCase("end-to-end fields", "fields", fields: "Accept: text/html|X-Own: a, b|User-Agent: me/1|Cookie: a=b; c=d|"),
    WireCase(
      "hop-by-hop fields", "fields",
      fields: "Keep-Alive: timeout=5|TE: trailers|Trailer: X-T|Upgrade: h2c|Proxy-Connection: keep-alive"
        + "|Proxy-Authorization: Basic eA==|"),
    WireCase(
      "fields that Connection names", "fields",
      "GET /x HTTP/1.1|Host: fields.test|Connection: close, X-Hop ,x-second|X-Hop: 1|X-Second: 2|X-Third: 3||"),
    WireCase("repeated fields", "fields", fields: "X-Many: one|X-Other: between|X-Many: two|x-many: three|"),
    WireCase("empty values", "fields", fields: "X-Empty:|X-Blank:   |X-Tab: \ta\t|"),
    WireCase("values of other bytes", "fields", fields: "X-Text: caf\u{E9} \u{FF}\u{80}|X-UTF: \u{C3}\u{A9}|"),
    WireCase("names in other cases", "fields", fields: "x-lower: 1|X-UPPER: 2|aCCePT: */*|"),
    WireCase("X-Forwarded fields", "fields", fields: forwarded),
    WireCase(
      "two X-Forwarded-For fields", "fields", fields: "X-Forwarded-For: 1.1.1.1, 2.2.2.2|X-Forwarded-For: 3.3.3.3|"),
    WireCase("Forwarded", "fields", fields: "Forwarded: for=10.0.0.1;proto=https|"),
    WireCase("Forwarded with an open quotation", "fields", fields: "Forwarded: for=\"10.0.0.1|"),
    WireCase("Via of others", "fields", fields: "Via: 1.1 first|Via: 1.0 second (comment), 1.1 third|"),
    WireCase("a loop", "fields", fields: "Via: 1.1 first, 1.1 {via}|"),
    WireCase(
      "disguised fields", "fields",
      fields: "X_Forwarded_For: 6.6.6.6|Content_Length: 3|X_Own: kept|Transfer_Encoding: a|"),
    WireCase("a retry by X-Retry-Attempt", "fields", fields: "X-Retry-Attempt: 2|"),
    WireCase("a retry by Envoy's field", "fields", fields: "x-envoy-attempt-count: 3|"),
    WireCase(
      "retries by both fields", "fields",
      fields: "X-Retry-Attempt: 1, 4|x-envoy-attempt-count: 9|X-Retry-Attempt: 1000|"),
    WireCase("values that are no attempts", "fields", fields: "X-Retry-Attempt: -1|x-envoy-attempt-count: 1|"),
    WireCase("Max-Forwards of a GET", "fields", fields: "Max-Forwards: 0|"),
    WireCase("TRACE that goes on", "fields", "TRACE /x HTTP/1.1|Host: fields.test|Connection: close|Max-Forwards: 3||"),
    WireCase(
      "TRACE that ends here", "fields", "TRACE /x HTTP/1.1|Host: fields.test|Connection: close|Max-Forwards: 0||"),
    WireCase(
      "OPTIONS that goes on", "fields", "OPTIONS /x HTTP/1.1|Host: fields.test|Connection: close|Max-Forwards: 1||"),
    WireCase(
      "OPTIONS that ends here", "fields", "OPTIONS /x HTTP/1.1|Host: fields.test|Connection: close|Max-Forwards: 0||"),
    WireCase("NTLM credentials", "fields", fields: "Authorization: NTLM TlRMTVNTUAAB|"),
  ]

  private static let forwarded =
    "X-Forwarded-For: 10.1.1.1|X-Forwarded-Host: spoofed|X-Forwarded-Proto: https|X-Forwarded-Port: 8443|"

  private static let routeRules = [
    WireCase("a route's rules", "rules", fields: "X-Caller: me|X-Debug: 1|X-Forwarded-Proto: http|X-Kept: 1|"),
    WireCase("disguises of what a route sets", "rules", fields: "X_Caller: me|x_debug: 1|X-Retry-Attempt: 3|"),
    WireCase("a route's own Host", "hosted", fields: "X-Forwarded-For: 10.0.0.1|"),
  ]

  // MARK: Responses

  private static let responseFields = responses.keys.sorted().map { path in
    WireCase(
      "a response \(path)", "answers", "GET \(path) HTTP/1.1|Host: answers.test|Connection: close||")
  }

  private static let responses = [
    "/connection": "HTTP/1.1 200 OK|Connection: keep-alive, X-Hop|X-Hop: 1|Keep-Alive: timeout=5|X-Kept: 1|"
      + "Proxy-Connection: keep-alive|Upgrade: h2c|Content-Length: 2||ok",
    "/coded": "HTTP/1.1 200 OK|Content-Encoding: gzip|Content-Length: 22|Vary: Accept-Encoding||"
      + "\u{1F}\u{8B}\u{08}\u{00}\u{00}\u{00}\u{00}\u{00}\u{00}\u{03}\u{CB}\u{CF}\u{06}\u{00}"
      + "\u{47}\u{DD}\u{DC}\u{79}\u{02}\u{00}\u{00}\u{00}",
    "/cookies": "HTTP/1.1 200 OK|Set-Cookie: a=1; Path=/|Content-Length: 2|Set-Cookie: b=2|set-cookie: c=3||ok",
    "/date": "HTTP/1.1 200 OK|Date: Sun, 06 Nov 1994 08:49:37 GMT|Server: up/1|Content-Length: 2||ok",
    "/empty": "HTTP/1.1 200 OK|X-Empty:|X-Text: caf\u{E9}|Content-Length: 2||ok",
    "/redirect": "HTTP/1.1 302 Found|Location: /elsewhere|Content-Length: 0||",
    "/text": "HTTP/1.1 299 A Reason \u{E9}|Content-Length: 2||ok",
    "/unauthorized": "HTTP/1.1 401 Unauthorized|WWW-Authenticate: Basic realm=\"a\"|Content-Length: 0||",
    "/via": "HTTP/1.1 200 OK|Via: 1.1 other|Via: 1.0 more|Content-Length: 2||ok",
    "/attempt": "HTTP/1.1 200 OK|X-Retry-Attempt: 4|X-Forwarded-For: 1.2.3.4|Host: x|Content-Length: 2||ok",
    "/early": "HTTP/1.1 100 Continue||HTTP/1.1 103 Early Hints|Link: </a>|"
      + "|HTTP/1.1 200 OK|Content-Length: 2||ok",
    "/switching": "HTTP/1.1 101 Switching Protocols|Upgrade: websocket|Connection: Upgrade||",
    "/http10": "HTTP/1.0 200 OK|Content-Length: 2|Connection: keep-alive||ok",
  ]
}
