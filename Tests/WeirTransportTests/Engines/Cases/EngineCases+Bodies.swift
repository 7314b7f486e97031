import WeirCurl
import WeirTestSupport

extension EngineCase {
  /// Every kind of body of a request, sent to its end before the response comes.
  static let bodies: [EngineCase] = [
    sent("POST without a body", .none),
    sent("PUT without a body", method: "PUT", .none),
    sent("an empty body", .bytes(0)),
    sent("a GET with an empty body", method: "GET", .bytes(0)),
    sent("a body of few bytes", .bytes(11)),
    sent("a GET with a body", method: "GET", .bytes(11)),
    sent("a PUT with a body", method: "PUT", .bytes(11)),
    sent("a body of 64 KiB", .bytes(65_536)),
    sent("a body of one byte more than 64 KiB", .bytes(65_537)),
    sent("a body of more than 1 MiB", .bytes(1_200_000)),
    sent("an empty file", .file(0)),
    sent("a small file", .file(11)),
    sent("a large file", .file(300_000)),
    sent("a small pulled body of known length", .pulled(11, isAnnounced: true)),
    sent("a large pulled body of known length", .pulled(300_000, isAnnounced: true)),
    sent("an empty pulled body of known length", .pulled(0, isAnnounced: true)),
    sent("a small pulled body of unknown length", .pulled(11, isAnnounced: false)),
    sent("a large pulled body of unknown length", .pulled(300_000, isAnnounced: false)) { $0.joinsChunks = true },
    sent("an empty pulled body of unknown length", .pulled(0, isAnnounced: false)),
    EngineCase(
      "HEAD", EngineExchange("HEAD"), EngineExchange(),
      peer: [.head, .wire("HTTP/1.1 200 OK|Content-Length: 5||"), .answer("next")]),
    EngineCase(
      "HEAD with a chunked response", EngineExchange("HEAD"), EngineExchange(),
      peer: [.head, .wire("HTTP/1.1 200 OK|Transfer-Encoding: chunked||"), .answer("next")]),
    EngineCase(
      "HEAD with a response that has no length", EngineExchange("HEAD"), EngineExchange(),
      peer: [.head, .wire("HTTP/1.1 200 OK||"), .answer("next")]),
    EngineCase(
      "HEAD with a body in the response", EngineExchange("HEAD"),
      peer: [.head, .wire("HTTP/1.1 200 OK|Content-Length: 5||hello")]),
    EngineCase(
      "HEAD with a body", EngineExchange("HEAD", body: .bytes(11)), peer: [.head, .wire("HTTP/1.1 200 OK||")]),
    EngineCase(
      "a body, then a request without one on the same connection", EngineExchange("POST", body: .bytes(11)),
      EngineExchange(), peer: [.request, .wire("HTTP/1.1 200 OK|Content-Length: 2||ok"), .answer("next")]),
    EngineCase(
      "a chunked body, then another on the same connection",
      EngineExchange("POST", body: .pulled(11, isAnnounced: false)),
      EngineExchange("POST", body: .pulled(11, isAnnounced: false)),
      peer: [.forever([.head, .chunkedBody, .wire("HTTP/1.1 200 OK|Content-Length: 2||ok")])]),
    EngineCase(
      "a file that is shorter than announced", EngineExchange("PUT", body: .file(11)) { $0.fileIsCut = true },
      peer: [.request]),
  ]

  private static func sent(
    _ name: String, method: String = "POST", _ body: EngineBody, change: (inout EngineCase) -> Void = { _ in }
  ) -> EngineCase {
    let rest: Script.Step = if case .pulled(_, false, _) = body { .chunkedBody } else { .bytes(body.count) }
    return EngineCase(
      name, EngineExchange(method, body: body),
      peer: [.head, rest, .wire("HTTP/1.1 200 OK|Content-Length: 2||ok")], change: change)
  }
}
