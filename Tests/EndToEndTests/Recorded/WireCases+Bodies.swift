import WeirTestSupport

extension WireGroup {
  /// Framing of bodies in both directions.
  static var bodies: WireGroup {
    WireGroup(routes: bodyRoutes, cases: requestBodies + responseBodies)
  }

  private static let bodyRoutes = [
    WireRoute("bodies", .answers("HTTP/1.1 200 OK|Content-Length: 2||ok")),
    WireRoute("uploads", .answers("HTTP/1.1 200 OK|Content-Length: 2||ok")),
    WireRoute(
      "framed",
      .answers { head in
        let name = String(head.split(separator: " ")[1])
        let body = name == "/length" && head.hasPrefix("GET") ? "hello" : ""
        return [.send(WireCase.bytes((responses[name] ?? "HTTP/1.1 500 No|Content-Length: 0||") + body))]
      }),
    WireRoute("until-close", closes: true, Script(.head, .send(WireCase.bytes("HTTP/1.1 200 OK|X-A: b||all of it")))),
    WireRoute("drops", rules: "timeout: 10s", Script(.head, .bytes(60_000), .call { dropsBody.open() }, .awaitClose)),
  ]

  private static let dropsBody = Gate()
  private static let large = String(repeating: "x", count: 70_000)

  // MARK: Requests

  private static let requestBodies = [
    WireCase(
      "a body with a length", "bodies",
      "POST /x HTTP/1.1|Host: bodies.test|Connection: close|Content-Type: text/plain|Content-Length: 5||hello"),
    WireCase(
      "a chunked body with an extension and a trailer", "bodies",
      "POST /x HTTP/1.1|Host: bodies.test|Connection: close|Transfer-Encoding: chunked|Trailer: X-T||"
        + "5;a=b|hello|6| world|0|X-T: 1||"),
    WireCase(
      "an empty chunked body", "bodies",
      "POST /x HTTP/1.1|Host: bodies.test|Connection: close|Transfer-Encoding: chunked||0||"),
    WireCase(
      "a large body with a length", "uploads",
      "PUT /x HTTP/1.1|Host: uploads.test|Connection: close|Content-Length: 70000||\(large)"),
    WireCase(
      "a large chunked body", "uploads", joinsChunks: true,
      "PUT /x HTTP/1.1|Host: uploads.test|Connection: close|Transfer-Encoding: chunked||11170|\(large)|0||"),
    WireCase("a body of a GET", "bodies", "GET /x HTTP/1.1|Host: bodies.test|Connection: close|Content-Length: 3||abc"),
    WireCase(
      "an expectation of 100", "uploads",
      .send("POST /x HTTP/1.1|Host: uploads.test|Connection: close|Expect: 100-continue|Content-Length: 5||"),
      .read("||"), .send("hello"), .readToEnd),
    WireCase(
      "an expectation of 100 with a large body", "uploads",
      .send("PUT /x HTTP/1.1|Host: uploads.test|Connection: close|Expect: 100-continue|Content-Length: 70000||"),
      .read("||"), .send(large), .readToEnd),
    WireCase("a body in HTTP/1.0", "bodies", "POST /x HTTP/1.0|Host: bodies.test|Content-Length: 5||hello"),
    WireCase(
      "a chunk whose size is none", "bodies", lines: 2,
      .send("POST /x HTTP/1.1|Host: bodies.test|Transfer-Encoding: chunked||zz|"), .readToEnd),
    WireCase(
      "a client that leaves in its body", "bodies",
      .send("POST /x HTTP/1.1|Host: bodies.test|Content-Length: 5||he"), .leave),
    WireCase(
      "a client that leaves in its large body", "drops", joinsChunks: true,
      .send("PUT /x HTTP/1.1|Host: drops.test|Content-Length: 80000||\(large)"), .wait(dropsBody), .leave),
  ]

  // MARK: Responses

  private static func get(_ name: String, _ target: String, method: String = "GET", version: String = "1.1") -> WireCase
  {
    WireCase(name, "framed", "\(method) \(target) HTTP/\(version)|Host: framed.test|Connection: close||")
  }

  private static let responseBodies = [
    get("a chunked response", "/chunked"),
    get("a chunked response with a trailer", "/trailer"),
    get("a chunked response to HTTP/1.0", "/chunked", version: "1.0"),
    get("a response to HTTP/1.0", "/length", version: "1.0"),
    get("a HEAD", "/length", method: "HEAD"),
    get("a HEAD that would be chunked", "/chunked-head", method: "HEAD"),
    get("a 204", "/204"),
    get("a 304 with a length", "/304"),
    get("a 205", "/205"),
    get("a length twice", "/twice"),
    get("an empty response", "/nothing"),
    WireCase("a response until the close", "until-close", "GET /x HTTP/1.1|Host: until-close.test|Connection: close||"),
    WireCase("a response until the close to HTTP/1.0", "until-close", "GET /x HTTP/1.0|Host: until-close.test||"),
  ]

  private static let responses = [
    "/chunked": "HTTP/1.1 200 OK|Transfer-Encoding: chunked||5|hello|6;x=y| world|0||",
    "/chunked-head": "HTTP/1.1 200 OK|Transfer-Encoding: chunked||",
    "/trailer": "HTTP/1.1 200 OK|Transfer-Encoding: chunked|Trailer: X-T||5|hello|0|X-T: 1||",
    "/length": "HTTP/1.1 200 OK|Content-Length: 5||",
    "/204": "HTTP/1.1 204 No Content|X-A: b||",
    "/304": "HTTP/1.1 304 Not Modified|ETag: \"a\"|Content-Length: 5||",
    "/205": "HTTP/1.1 205 Reset Content|Content-Length: 0||",
    "/twice": "HTTP/1.1 200 OK|Content-Length: 2|Content-Length: 2||ok",
    "/nothing": "HTTP/1.1 200 OK|Content-Length: 0||",
  ]
}
