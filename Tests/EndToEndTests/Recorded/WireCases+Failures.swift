import WeirTestSupport

extension WireGroup {
  /// Upstreams that fail, and clients that leave.
  static var failures: WireGroup {
    WireGroup(routes: failureRoutes, cases: ownAnswers + cuts + departures)
  }

  private static let seen = (0..<5).map { _ in Gate() }
  private static let cutHead = "HTTP/1.1 200 OK|Content-Length: 10||"

  private static func malformed(_ name: String, _ response: String) -> WireRoute {
    WireRoute(name, Script(.head, .send(WireCase.bytes(response)), .awaitClose))
  }

  private static let failureRoutes = [
    WireRoute("down"),
    WireRoute("slow", rules: "timeout: 300ms", Script(.head, .awaitClose)),
    WireRoute("mute", Script(.head, .close)),
    WireRoute("resets", Script(.head, .reset)),
    WireRoute("half-head", Script(.head, .send("HTTP/1.1 200 OK\r\nConte"), .close)),
    malformed("no-http", "SSH-2.0-OpenSSH_9.2|"),
    malformed("two-framings", "HTTP/1.1 200 OK|Content-Length: 2|Transfer-Encoding: chunked||0||"),
    malformed("lengths-differ", "HTTP/1.1 200 OK|Content-Length: 2|Content-Length: 3||abc"),
    malformed("bad-length", "HTTP/1.1 200 OK|Content-Length: two||ok"),
    malformed("bad-chunk", "HTTP/1.1 200 OK|Transfer-Encoding: chunked||zz|ok|0||"),
    WireRoute(
      "cut", Script(.head, .send(WireCase.bytes(cutHead + "12345")), .wait(seen[0]), .close)),
    WireRoute(
      "cut-chunks",
      Script(
        .head, .send(WireCase.bytes("HTTP/1.1 200 OK|Transfer-Encoding: chunked||5|hello|")), .wait(seen[1]), .reset)),
    WireRoute(
      "cut-old",
      Script(
        .head, .send(WireCase.bytes("HTTP/1.1 200 OK|Transfer-Encoding: chunked||5|hello|")), .wait(seen[2]), .reset)),
    WireRoute(
      "cut-slow", rules: "timeout: 500ms",
      Script(.head, .send(WireCase.bytes(cutHead + "12345")), .awaitClose)),
    WireRoute("left-before", Script(.head, .call { seen[3].open() }, .awaitClose)),
    WireRoute("left-after", Script(.head, .send(WireCase.bytes(cutHead + "12345")), .awaitClose)),
  ]

  private static let ownAnswers = [
    WireCase("no connection", "down", fields: ""),
    WireCase(
      "no connection for a POST", "down", "POST /x HTTP/1.1|Host: down.test|Connection: close|Content-Length: 1||a"),
    WireCase("no answer in time", "slow", fields: ""),
    WireCase("a connection that ends without an answer", "mute", fields: ""),
    WireCase("a connection that is reset", "resets", fields: ""),
    WireCase("half a head", "half-head", fields: ""),
    WireCase("another protocol", "no-http", fields: ""),
    WireCase("a response of two framings", "two-framings", fields: ""),
    WireCase("lengths that differ", "lengths-differ", fields: ""),
    WireCase("a length that is none", "bad-length", fields: ""),
    WireCase("a chunk that is none", "bad-chunk", fields: ""),
  ]

  private static let cuts = [
    WireCase(
      "a body that is cut", "cut", .send("GET /x HTTP/1.1|Host: cut.test||"), .read("12345"), .open(seen[0]),
      .readToEnd),
    WireCase(
      "a chunked body that is cut", "cut-chunks", .send("GET /x HTTP/1.1|Host: cut-chunks.test||"), .read("hello|"),
      .open(seen[1]), .readToEnd),
    WireCase(
      "a body that is cut for HTTP/1.0", "cut-old", .send("GET /x HTTP/1.0|Host: cut-old.test||"), .read("hello"),
      .open(seen[2]), .readToEnd),
    WireCase(
      "a body that does not come in time", "cut-slow", .send("GET /x HTTP/1.1|Host: cut-slow.test||"), .readToEnd),
  ]

  private static let departures = [
    WireCase(
      "a client that leaves before the answer", "left-before", .send("GET /x HTTP/1.1|Host: left-before.test||"),
      .wait(seen[3]), .leave),
    WireCase(
      "a client that leaves in the answer", "left-after", .send("GET /x HTTP/1.1|Host: left-after.test||"),
      .read("12345"), .leave),
  ]
}
