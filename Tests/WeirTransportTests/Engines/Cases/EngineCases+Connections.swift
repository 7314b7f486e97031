import WeirCurl
import WeirTestSupport

extension EngineCase {
  /// The connection after a response: kept, or closed by one of the sides.
  static let connections: [EngineCase] = [
    two("two requests on one connection", peer: [.answer("one"), .answer("two")]),
    EngineCase(
      "Connection: close in the request, which is dropped", EngineExchange(fields: ["Connection: close"]),
      EngineExchange(), peer: [.answer("one"), .answer("two")], [.answer("two")]),
    EngineCase(
      "Connection: x, close in the request, which is dropped",
      EngineExchange(fields: ["Connection: x, close", "X: 1"]), EngineExchange(),
      peer: [.answer("one"), .answer("two")], [.answer("two")]),
    EngineCase(
      "Connection: keep-alive in the request", EngineExchange(fields: ["Connection: keep-alive"]), EngineExchange(),
      peer: [.answer("one"), .answer("two")]),
    after("Connection: close in the response", "HTTP/1.1 200 OK|Connection: close|Content-Length: 3||one"),
    after("Connection: CLOSE in the response", "HTTP/1.1 200 OK|Connection: CLOSE|Content-Length: 3||one"),
    after("Connection: x, close in the response", "HTTP/1.1 200 OK|Connection: x, close|Content-Length: 3||one"),
    after(
      "two Connection fields in the response", "HTTP/1.1 200 OK|Connection: x|Connection: close|Content-Length: 3||one"),
    after("Proxy-Connection: close in the response", "HTTP/1.1 200 OK|Proxy-Connection: close|Content-Length: 3||one"),
    after("Keep-Alive: timeout=0 in the response", "HTTP/1.1 200 OK|Keep-Alive: timeout=0|Content-Length: 3||one"),
    after("HTTP/1.0 with a length", "HTTP/1.0 200 OK|Content-Length: 3||one"),
    after("HTTP/1.0 with keep-alive", "HTTP/1.0 200 OK|Connection: keep-alive|Content-Length: 3||one"),
    after(
      "HTTP/1.0 with keep-alive, chunked",
      "HTTP/1.0 200 OK|Connection: keep-alive|Transfer-Encoding: chunked||3|one|0||"),
    after("HTTP/1.0 with close", "HTTP/1.0 200 OK|Connection: close|Content-Length: 3||one"),
    EngineCase(
      "HTTP/1.0 without a length", EngineExchange(), EngineExchange(),
      peer: [.head, .wire("HTTP/1.0 200 OK||one"), .close], [.answer("two")]),
    EngineCase(
      "HTTP/1.0, then a chunked body", EngineExchange(),
      EngineExchange("POST", body: .pulled(11, isAnnounced: false)),
      peer: [.head, .wire("HTTP/1.0 200 OK|Connection: keep-alive|Content-Length: 3||one")],
      [.head, .chunkedBody, .wire("HTTP/1.1 200 OK|Content-Length: 3||two")]),
    EngineCase("101", answer: "HTTP/1.1 101 Switching Protocols|Upgrade: x|Connection: upgrade||", ending: .close),
  ]

  /// Connections that end while they are idle, or as the next request comes.
  static var idleConnections: [EngineCase] {
    let (bytes, end, reset) = (Gate(), Gate(), Gate())
    return [
      EngineCase(
        "bytes on the idle connection", .closing(atEnd: bytes), EngineExchange(),
        peer: [.answer("one"), .wait(bytes), .wire("HTTP/1.1 408 Timeout|Content-Length: 0||")], [.answer("two")]),
      EngineCase(
        "the end of the idle connection", .closing(atEnd: end), EngineExchange(),
        peer: [.answer("one"), .wait(end), .close], [.answer("two")]),
      EngineCase(
        "a reset of the idle connection", .closing(atEnd: reset), EngineExchange(),
        peer: [.answer("one"), .wait(reset), .reset], [.answer("two")]),
      EngineCase(
        "a close that was not announced", .closing(), EngineExchange(), peer: [.answer("one"), .close], [.answer("two")]
      ),
      EngineCase("no response to GET on a fresh connection", EngineExchange(), peer: [.head, .close]),
      EngineCase(
        "no response to POST on a fresh connection", EngineExchange("POST", body: .bytes(11)), peer: [.request, .close]),
      EngineCase("a reset in place of a response", EngineExchange(), peer: [.head, .reset]),
      stale("GET", EngineExchange()),
      stale("HEAD", EngineExchange("HEAD")),
      stale("PUT with a body", EngineExchange("PUT", body: .bytes(11))),
      stale("PUT with a pulled body", EngineExchange("PUT", body: .pulled(11, isAnnounced: true))),
      stale(
        "PUT with a body that can't be rewound",
        EngineExchange("PUT", body: .pulled(11, isAnnounced: true)) { $0.canRewind = false }),
      stale("POST without a body", EngineExchange("POST")),
      stale("POST with a body", EngineExchange("POST", body: .bytes(11))),
      stale("GET, twice", EngineExchange(), again: [.request, .close]),
      EngineCase(
        "a reset in place of a response to GET on a used connection", EngineExchange(), EngineExchange(),
        peer: [.answer("one"), .head, .reset], [.answer("two")]),
      EngineCase(
        "an interim response and the end on a used connection", EngineExchange(), EngineExchange(),
        peer: [.answer("one"), .head, .wire("HTTP/1.1 103 Early Hints||"), .close], [.answer("two")]),
      EngineCase(
        "a part of the status line and the end on a used connection to POST", EngineExchange(),
        EngineExchange("POST", body: .bytes(11)),
        peer: [.answer("one"), .request, .wire("HTTP/1.1 2"), .close], [.answer("two")]),
      EngineCase(
        "a part of the status line and the end on a used connection", EngineExchange(), EngineExchange(),
        peer: [.answer("one"), .head, .wire("HTTP/1.1 2"), .close], [.answer("two")]),
    ]
  }

  private static func two(_ name: String, peer: [Script.Step]...) -> EngineCase {
    EngineCase(name, exchanges: [EngineExchange(), EngineExchange()], peer: peer)
  }

  /// A response, and a further request on whatever connection the engine chooses. The peer leaves its side open.
  private static func after(_ name: String, _ response: String) -> EngineCase {
    two(name, peer: [.head, .wire(response), .answer("two")], [.answer("two")])
  }

  /// A request on a used connection that ends without a byte of the response.
  private static func stale(
    _ name: String, _ exchange: EngineExchange,
    again: [Script.Step] = [.request, .wire("HTTP/1.1 200 OK|Content-Length: 0||")]
  ) -> EngineCase {
    EngineCase(
      "no response on a used connection to \(name)", EngineExchange(), exchange,
      peer: [.answer("one"), .request, .close], again)
  }
}
