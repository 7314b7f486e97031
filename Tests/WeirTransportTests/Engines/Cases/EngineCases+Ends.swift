import WeirCurl
import WeirTestSupport

extension EngineCase {
  /// Ends of bodies, bodies where none may be, and bytes behind responses.
  static var ends: [EngineCase] {
    [
      EngineCase("a body that ends with the connection", answer: "HTTP/1.1 200 OK||hello", ending: .close),
      EngineCase("a body that ends with our half of it", answer: "HTTP/1.1 200 OK||hello", ending: .halfClose),
      EngineCase("a body without bytes that ends with the connection", answer: "HTTP/1.1 200 OK||", ending: .close),
      EngineCase(
        "a large body that ends with the connection",
        answer: "HTTP/1.1 200 OK||" + String(decoding: EngineText.letters(300_000), as: UTF8.self), ending: .close),
      EngineCase(
        "a large body of known length",
        answer: "HTTP/1.1 200 OK|Content-Length: 300000||"
          + String(decoding: EngineText.letters(300_000), as: UTF8.self)),
      EngineCase("a body cut short", answer: "HTTP/1.1 200 OK|Content-Length: 10||hello", ending: .close),
      EngineCase(
        "a body cut off before its first byte", answer: "HTTP/1.1 200 OK|Content-Length: 10||", ending: .close),
      resetAfterBody("a reset within a body", "HTTP/1.1 200 OK|Content-Length: 10||hello"),
      resetAfterBody("a reset within a chunked body", "HTTP/1.1 200 OK|Transfer-Encoding: chunked||5|hello|"),
      resetAfterBody("a reset within a body that ends with the connection", "HTTP/1.1 200 OK||hello"),
      EngineCase("204", answer: "HTTP/1.1 204 None||"),
      EngineCase("204 with a length", answer: "HTTP/1.1 204 None|Content-Length: 5||"),
      EngineCase("204 with a body", answer: "HTTP/1.1 204 None|Content-Length: 5||hello"),
      EngineCase("204 with a chunked body", answer: "HTTP/1.1 204 None|Transfer-Encoding: chunked||5|hello|0||"),
      EngineCase("205 with a length of 0", answer: "HTTP/1.1 205 Reset|Content-Length: 0||"),
      EngineCase("205 with a body", answer: "HTTP/1.1 205 Reset|Content-Length: 5||hello"),
      EngineCase("205 without a length", answer: "HTTP/1.1 205 Reset||", ending: .close),
      EngineCase("304 with a length", answer: "HTTP/1.1 304 Same|Content-Length: 5||"),
      EngineCase("304 with a body", answer: "HTTP/1.1 304 Same|Content-Length: 5||hello"),
      EngineCase("304 with Transfer-Encoding", answer: "HTTP/1.1 304 Same|Transfer-Encoding: chunked||"),
      EngineCase("301 with a body", answer: "HTTP/1.1 301 Moved|Location: /x|Content-Length: 5||hello"),
      behind("bytes behind a body", "HTTP/1.1 200 OK|Content-Length: 3||onemore"),
      behind(
        "a response behind a body", "HTTP/1.1 200 OK|Content-Length: 3||oneHTTP/1.1 200 OK|Content-Length: 5||stray"),
      behind(
        "a response behind a chunked body",
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked||3|one|0||HTTP/1.1 200 OK|Content-Length: 5||stray"),
      behind("a response behind 204", "HTTP/1.1 204 None||HTTP/1.1 200 OK|Content-Length: 5||stray"),
      behind("an empty line behind a body", "HTTP/1.1 200 OK|Content-Length: 3||one|"),
    ]
  }

  private static func resetAfterBody(_ name: String, _ answer: String) -> EngineCase {
    let gate = Gate()
    return EngineCase(
      name, EngineExchange { $0.atBody = gate }, peer: [.head, .wire(answer), .wait(gate), .reset])
  }

  /// A response with unasked bytes behind it, and a further request.
  private static func behind(_ name: String, _ answer: String) -> EngineCase {
    EngineCase(
      name, EngineExchange(), EngineExchange(), peer: [.head, .wire(answer), .answer("two")], [.answer("two")])
  }
}
