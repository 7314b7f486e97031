import WeirCurl
import WeirTestSupport

extension EngineCase {
  static let interimHeads: [EngineCase] = [
    EngineCase("interim 100", answer: "HTTP/1.1 100 Continue||" + ok),
    EngineCase("interim 102", answer: "HTTP/1.1 102 Processing|A: b||" + ok),
    EngineCase("interim 103", answer: "HTTP/1.1 103 Early Hints|Link: </a>||" + ok),
    EngineCase("interim 199", answer: "HTTP/1.1 199 Unknown||" + ok),
    EngineCase("several interim heads", answer: "HTTP/1.1 100 A||HTTP/1.1 102 B||HTTP/1.1 103 C||" + ok),
    EngineCase("16 interim heads", answer: String(repeating: "HTTP/1.1 103 Early Hints||", count: 16) + ok),
    EngineCase("17 interim heads", answer: String(repeating: "HTTP/1.1 103 Early Hints||", count: 17) + ok),
    EngineCase("an interim head with a length", answer: "HTTP/1.1 103 Early Hints|Content-Length: 5||" + ok),
    EngineCase("an interim head of HTTP/1.0", answer: "HTTP/1.0 100 Continue||" + ok),
    EngineCase("an interim head and the end", answer: "HTTP/1.1 103 Early Hints||", ending: .close),
    EngineCase("a part of an interim head and the end", answer: "HTTP/1.1 103 Early Hints|Li", ending: .close),
  ]

  static let statusLines: [EngineCase] = [
    status("HTTP/2 200", "HTTP/2 200"),
    status("HTTP/2.0 200 OK", "HTTP/2.0 200 OK"),
    status("HTTP/3 200", "HTTP/3 200"),
    status("HTTP/1.2 200 OK", "HTTP/1.2 200 OK"),
    status("HTTP/1.9 200 OK", "HTTP/1.9 200 OK"),
    status("HTTP/0.9 200 OK", "HTTP/0.9 200 OK"),
    status("HTTP/11.1 200 OK", "HTTP/11.1 200 OK"),
    status("HTTP/1 200 OK", "HTTP/1 200 OK"),
    status("http/1.1 200 OK", "http/1.1 200 OK"),
    status("status 999", "HTTP/1.1 999 Odd"),
    status("status 600", "HTTP/1.1 600 Odd"),
    status("status 099", "HTTP/1.1 099 Odd"),
    status("status 000", "HTTP/1.1 000 Odd"),
    status("status 20", "HTTP/1.1 20 Odd"),
    status("status 2000", "HTTP/1.1 2000 Odd"),
    status("status -20", "HTTP/1.1 -20 Odd"),
    status("no reason", "HTTP/1.1 200"),
    status("a blank in place of a reason", "HTTP/1.1 200 "),
    status("a reason with a tab and octets outside of ASCII", "HTTP/1.1 200 \t\u{e4}\u{ff}"),
    status("two blanks before the status", "HTTP/1.1  200 OK"),
    status("a tab before the status", "HTTP/1.1\t200 OK"),
    status("a blank before the status line", " HTTP/1.1 200 OK"),
    status("an empty line before the status line", "|HTTP/1.1 200 OK"),
    status("ICY 200 OK", "ICY 200 OK"),
    EngineCase("a response of HTTP/0.9", answer: "<html>hello</html>", ending: .close),
    EngineCase("the greeting of another protocol", answer: "220 smtp.test ESMTP||", ending: .close),
  ]

  static let heads: [EngineCase] = [
    EngineCase("a folded line in the first field", answer: "HTTP/1.1 200 OK| A: b|Content-Length: 2||ok"),
    EngineCase("a folded line", answer: "HTTP/1.1 200 OK|A: b  |  c|\td|Content-Length: 2||ok"),
    EngineCase("an empty folded line", answer: "HTTP/1.1 200 OK|A: b|  |Content-Length: 2||ok"),
    EngineCase("a folded Content-Length", answer: "HTTP/1.1 200 OK|Content-Length: 2| 3||ok"),
    EngineCase("a folded Content-Length without its value", answer: "HTTP/1.1 200 OK|Content-Length:| 2||ok"),
    EngineCase("a folded Transfer-Encoding", answer: "HTTP/1.1 200 OK|Transfer-Encoding:| chunked||2|ok|0||"),
    EngineCase("bare LF", answer: "HTTP/1.1 200 OK\nA: b\nContent-Length: 2\n\nok"),
    EngineCase("bare LF at the end of the head", answer: "HTTP/1.1 200 OK|Content-Length: 2|\nok"),
    EngineCase("bare CR in a field", answer: "HTTP/1.1 200 OK|A: b\rc|Content-Length: 2||ok"),
    EngineCase("CR twice before LF", answer: "HTTP/1.1 200 OK|A: b\r|Content-Length: 2||ok"),
    EngineCase("CR twice at the end of the head", answer: "HTTP/1.1 200 OK|Content-Length: 2|\r|ok"),
    EngineCase("NUL in a field", answer: "HTTP/1.1 200 OK|A: b\u{0}c|Content-Length: 2||ok"),
    EngineCase("a control character in a field", answer: "HTTP/1.1 200 OK|A: b\u{1}c|Content-Length: 2||ok"),
    EngineCase("a line without a colon", answer: "HTTP/1.1 200 OK|no colon|Content-Length: 2||ok"),
    EngineCase("a line without a name", answer: "HTTP/1.1 200 OK|: b|Content-Length: 2||ok"),
    EngineCase("a blank before a colon", answer: "HTTP/1.1 200 OK|A : b|Content-Length: 2||ok"),
    EngineCase("a blank before the colon of Content-Length", answer: "HTTP/1.1 200 OK|Content-Length : 2||ok"),
    EngineCase(
      "a blank before the colon of Transfer-Encoding", answer: "HTTP/1.1 200 OK|Transfer-Encoding : chunked||2|ok|0||"),
    EngineCase("fields in any case, twice", answer: "HTTP/1.1 200 OK|CONTENT-length: 2|b: 1|B: 2||ok"),
    EngineCase("a line of 99 KiB", answer: line(99 * 1024)),
    EngineCase("a line of 101 KiB", answer: line(101 * 1024)),
    EngineCase(
      "a status line of 101 KiB",
      answer: "HTTP/1.1 200 \(String(repeating: "r", count: 101 * 1024))|Content-Length: 2||ok"),
    EngineCase("a head at the limit", answer: head(4096)) { $0.options = { $0.maximumHeaderSize = 4096 } },
    EngineCase("a head over the limit", answer: head(4097)) { $0.options = { $0.maximumHeaderSize = 4096 } },
    EngineCase(
      "a head over the limit without an end", answer: "HTTP/1.1 200 OK|A: \(String(repeating: "a", count: 5000))",
      ending: .close
    ) {
      $0.options = { $0.maximumHeaderSize = 4096 }
    },
    EngineCase(
      "an interim head over the limit", answer: "HTTP/1.1 103 Early|A: \(String(repeating: "a", count: 5000))||" + ok
    ) {
      $0.options = { $0.maximumHeaderSize = 4096 }
    },
    EngineCase(
      "interim heads that exceed the limit together",
      answer: String(repeating: "HTTP/1.1 103 Early|A: \(String(repeating: "a", count: 1000))||", count: 5) + ok
    ) { $0.options = { $0.maximumHeaderSize = 4096 } },
    EngineCase(
      "interim heads that exceed eight times the limit",
      answer: String(repeating: "HTTP/1.1 103 Early|A: \(String(repeating: "a", count: 3000))||", count: 12) + ok
    ) { $0.options = { $0.maximumHeaderSize = 4096 } },
    EngineCase(
      "2000 fields", answer: "HTTP/1.1 200 OK|" + (0..<2000).map { "A\($0): \($0)|" }.joined() + "Content-Length: 2||ok"
    ),
    EngineCase(
      "a head that comes byte by byte", EngineExchange(), peer: [.head, .drip(EngineText.bytes(ok), every: 0.002)]),
    EngineCase("a part of the head and the end", answer: "HTTP/1.1 200 OK|Content-", ending: .close),
    EngineCase("a part of the status line and the end", answer: "HTTP/1.1 2", ending: .close),
    EngineCase(
      "a head without its empty line and the end", answer: "HTTP/1.1 200 OK|Content-Length: 2|", ending: .close),
  ]

  private static let ok = "HTTP/1.1 200 OK|Content-Length: 2||ok"

  private static func status(_ name: String, _ line: String) -> EngineCase {
    EngineCase("status line: \(name)", answer: "\(line)|Content-Length: 2||ok")
  }

  /// A response with a field line of this size, its end included.
  private static func line(_ size: Int) -> String {
    "HTTP/1.1 200 OK|A: \(String(repeating: "a", count: size - 5))|Content-Length: 2||ok"
  }

  /// A response with a head of this size.
  private static func head(_ size: Int) -> String {
    let frame = EngineText.bytes("HTTP/1.1 200 OK|Content-Length: 2|A: ||").count
    return "HTTP/1.1 200 OK|Content-Length: 2|A: \(String(repeating: "a", count: size - frame))||ok"
  }
}
