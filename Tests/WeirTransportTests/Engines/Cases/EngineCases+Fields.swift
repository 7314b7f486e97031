import WeirCurl
import WeirTestSupport

extension EngineCase {
  /// Header lines of the request, and methods.
  static let fields: [EngineCase] = [
    lines("no field", []),
    lines(
      "fields in the caller's order and case", ["b: 2", "A:1", "b:  3  ", "Accept: text/plain", "User-Agent: weir"]),
    lines("fields without a value", ["Empty:", "Blank: "]),
    lines("a Host field of the caller's own", ["Host: elsewhere.test:1"]),
    lines("octets outside of ASCII in a field", ["A: \u{e4}"]),
    lines("framing fields of the caller's own", ["Content-Length: 5", "Transfer-Encoding: chunked"]),
    lines("a line end in a field", ["A: b\r\nC: d"]),
    lines("a field without a colon", ["no colon"]),
    lines("a blank in a field's name", ["A b: c"]),
    EngineCase("a method of its own", EngineExchange("M-SEARCH"), peer: [.answer("ok")]),
    EngineCase("a method in lower case", EngineExchange("get"), peer: [.answer("ok")]),
    EngineCase("a method with a blank", EngineExchange("GE T"), peer: [.answer("ok")]),
    EngineCase("the method CONNECT", EngineExchange("CONNECT"), peer: [.answer("ok")]),
    EngineCase("DELETE without a body", EngineExchange("DELETE"), peer: [.answer("ok")]),
  ]

  private static func lines(_ name: String, _ lines: [String]) -> EngineCase {
    EngineCase(name, EngineExchange(fields: lines), peer: [.answer("ok")])
  }
}
