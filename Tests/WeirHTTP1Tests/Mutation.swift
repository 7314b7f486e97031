import WeirTestSupport

/// Responses with a few random changes, which are the same in each run.
struct Mutation {
  private var random: SeededRandom

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
  }

  /// One of the base responses with one to four changes.
  mutating func next() -> [UInt8] {
    var bytes = Array(pick(Self.responses).utf8)
    for _ in 0..<Int.random(in: 1...4, using: &random) { change(&bytes) }
    return bytes
  }

  private mutating func change(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else { return }
    let place = Int.random(in: 0..<bytes.count, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
    case 1: bytes.remove(at: place)
    case 2: bytes.insert(contentsOf: Array(pick(Self.pieces).utf8), at: place)
    case 3:
      let end = min(bytes.count, place + Int.random(in: 1...20, using: &random))
      bytes.insert(contentsOf: bytes[place..<end], at: place)
    case 4: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...10, using: &random)))
    default: insertLine(&bytes, near: place)
    }
  }

  /// Inserts a field behind the next line end, where it has a meaning.
  private mutating func insertLine(_ bytes: inout [UInt8], near place: Int) {
    guard let lineFeed = bytes[place...].firstIndex(of: 10) else { return }
    bytes.insert(contentsOf: Array((pick(Self.lines) + "\r\n").utf8), at: lineFeed + 1)
  }

  private mutating func pick(_ texts: [String]) -> String { texts[Int.random(in: 0..<texts.count, using: &random)] }

  private static let responses = [
    ok("Server: nginx/1.22.1", "Content-Type: text/plain", "Content-Length: 3", "X-A: b", then: "abc"),
    ok("Content-Type: text/plain", "Transfer-Encoding: chunked", then: "3\r\nabc\r\n5;a=b\r\nhello\r\n0\r\n\r\n"),
    ok("Transfer-Encoding: chunked", "Connection: close", then: "a\r\n0123456789\r\n0\r\nX-Sum: y\r\n\r\n"),
    "HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n" + ok("Content-Length: 5", "Connection: keep-alive", then: "hello"),
    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\none",
    "HTTP/1.0 404 Not Found\r\nA: b\r\n c\r\n\r\nuntil the end",
    "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n",
  ]

  private static let pieces = [
    "\r\n", "\n", "\r", "\0", " ", "\t", ":", ",", ";", "0", "f", "ffffffff", "-", "+", "_", "\u{7f}", "\u{e9}", "\"",
    "HTTP/1.1 200 OK\r\n", "\r\n\r\n", "0\r\n\r\n", " \r\n ",
  ]

  private static let lines = [
    "Content-Length: 3", "Content-Length: 4", "Content-Length : 3", "Content-Length: 3, 3",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip", "Transfer-Encoding: gzip, chunked", "Connection: close", "Connection: x", " folded",
    "No colon", ": no name", "X: \u{1}", "X : y", "X-Long: abcdefghijklmnopqrstuvwxyz", "Upgrade: h2c",
  ]
}
