import WeirTestSupport

extension WireGroup {
  /// Which connections go on, on both sides.
  static var connections: WireGroup {
    WireGroup(
      routes: [
        WireRoute("kept", .answers("HTTP/1.1 200 OK|Content-Length: 2||ok")),
        WireRoute(
          "closing", closes: true, .once("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")),
        WireRoute("stale", closes: true, .once("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")),
        WireRoute("old", closes: true, .once("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")),
        WireRoute("pipeline", .answers("HTTP/1.1 200 OK|Content-Length: 2||ok")),
      ],
      cases: [
        WireCase(
          "two requests on one connection", "kept", lines: 2, .send("GET /1 HTTP/1.1|Host: kept.test||"), .read("ok"),
          .send("GET /2 HTTP/1.1|Host: kept.test||"), .read("ok")),
        WireCase(
          "a request on another connection", "kept", .send("GET /3 HTTP/1.1|Host: kept.test||"), .read("ok"), .leave),
        WireCase(
          "HTTP/1.0 that is kept", "kept", lines: 2,
          .send("GET /4 HTTP/1.0|Host: kept.test|Connection: keep-alive||"), .read("ok"),
          .send("GET /5 HTTP/1.0|Host: kept.test||"), .readToEnd),
        WireCase("HTTP/1.0 without a Host", "kept", "GET /6 HTTP/1.0||"),
        WireCase(
          "an upstream that closes", "closing", lines: 2, .send("GET /1 HTTP/1.1|Host: closing.test||"), .read("ok"),
          .send("GET /2 HTTP/1.1|Host: closing.test|Connection: close||"), .readToEnd),
        WireCase("an upstream that closes without a word", "stale", fields: ""),
        WireCase("the request after that", "stale", fields: ""),
        WireCase("an upstream of HTTP/1.0", "old", fields: ""),
        WireCase("the request after that of HTTP/1.0", "old", fields: ""),
        WireCase(
          "three pipelined requests", "pipeline", lines: 3,
          .send(
            "GET /1 HTTP/1.1|Host: pipeline.test||POST /2 HTTP/1.1|Host: pipeline.test|Content-Length: 3||abc"
              + "GET /3 HTTP/1.1|Host: pipeline.test|Connection: close||"), .readToEnd),
        WireCase(
          "a pipelined request behind the last", "pipeline",
          .send(
            "GET /4 HTTP/1.1|Host: pipeline.test|Connection: close||"
              + "GET /5 HTTP/1.1|Host: pipeline.test||"), .readToEnd),
        WireCase(
          "a pipelined request that is refused", "pipeline", lines: 2,
          .send("GET /6 HTTP/1.1|Host: pipeline.test||GET /7 HTTP/1.1|Host: a|Host: b||"), .readToEnd),
        WireCase(
          "line ends before a request", "pipeline",
          .send("||GET /8 HTTP/1.1|Host: pipeline.test|Connection: close||"), .readToEnd),
        WireCase(
          "an own answer on a connection that is kept", "pipeline", lines: 2,
          .send("GET /9 HTTP/1.1|Host: nowhere.test||"), .read("\n"),
          .send("GET /10 HTTP/1.1|Host: pipeline.test|Connection: close||"), .readToEnd),
      ])
  }
}
