import Testing
import WeirHTTP
import WeirTestSupport

@testable import WeirTransport

@Suite("Pauses that responses ask for") struct PaceSignalTests {
  private static let date = 1_800_000_000.0
  private static let all = Set(PaceSignal.allCases)

  private func pause(_ status: Int, _ fields: [String], _ obey: Set<PaceSignal> = all) -> Double? {
    let lines = ["HTTP/1.1 \(status) x"] + fields + ["", ""]
    let head = ResponseHead(status: status, bytes: Array(lines.joined(separator: "\r\n").utf8))
    return PaceSettings(obey: obey).pause(askedBy: head, at: Self.date).map { ($0 * 1000).rounded() / 1000 }
  }

  @Test(
    arguments: [
      (429, ["Retry-After: 2"], 2), (503, ["retry-after: 2.5"], 2.5), (429, ["Retry-After: 61"], 60),
      (429, ["Retry-After: 3", "Retry-After: 7"], 7), (429, ["Retry-After: 99999999999999999999999999"], 60),
      (429, ["Retry-After: Fri, 15 Jan 2027 08:00:10 GMT"], 10),
      (503, ["Retry-After: Fri, 15 Jan 2027 07:59:00 GMT"], nil),
      (429, ["Retry-After: 0"], nil), (429, ["Retry-After: -1"], nil), (429, ["Retry-After: soon"], nil),
      (429, [], nil), (200, ["Retry-After: 2"], nil), (500, ["Retry-After: 2"], nil), (301, ["Retry-After: 2"], nil),
      (429, ["RateLimit: \"a\";r=0;t=9"], nil),
    ] as [(Int, [String], Double?)])
  func retryAfter(status: Int, fields: [String], expected: Double?) {
    #expect(pause(status, fields, [.retryAfter]) == expected)
  }

  /// The value of `RateLimit`, and the pause.
  @Test(
    arguments: [
      (#""default";r=0;t=30"#, 30), (#""default";r=50;t=30"#, nil), (#""default";r=0"#, nil), (#""default";t=30"#, nil),
      (#""a";r=1;t=50, "b";r=0;t=20"#, 20), (#""a";r=0;t=5,"b";r=0;t=7"#, 7), (#""a";t=30;r=0"#, 30),
      (#""a" ;  r=0;  t=30"#, 30), (#""a";r=0;t=61"#, 60), (#""a";r=0;t=1.5"#, 1.5), (#""a";r=0;t=0"#, nil),
      (#"default;r=0;t=30"#, 30), (#""a";r=00;t=030"#, 30), (#""a";r=0;pk=:cGFydA==:;t=30"#, 30),
      (#""a";r=0;t=30;x"#, 30), (#""a";r=0;t=30;x="b, c; r=1""#, 30), (#""a, b; c=\"d";r=0;t=30"#, 30),
      // Of equal keys the last counts.
      (#""a";r=0;t=30;r=1"#, nil), (#""a";r=1;t=5;r=0;t=30"#, 30),
      // A malformed item makes the whole field malformed.
      ("", nil), (",", nil), (";", nil), ("=", nil), (#"""#, nil), (#""a"#, nil), (#""a";r=0;t=30,"#, nil),
      (#","a";r=0;t=30"#, nil), (#""a";r=0;t=30,,"b""#, nil), (#""a";r=0;t=30, "b"#, nil), (#""a";r=0;t=30;"#, nil),
      (#""a";;r=0;t=30"#, nil), (#""a"r=0;t=30"#, nil), (#""a" "b";r=0;t=30"#, nil), (#"("a" "b");r=0;t=30"#, nil),
      (#"(a);r=0;t=30"#, nil), ("r=0;t=30", nil), ("r=0", nil), (#";r=0;t=30"#, nil), (#""a";R=0;T=30"#, nil),
      (#""a";r= 0;t=30"#, nil), (#""a";r =0;t=30"#, nil), (#""a";r=;t=30"#, nil), (#""a";r;t=30"#, nil),
      (#""a";r="0";t=30"#, nil), (#""a";r=-0;t=30"#, nil), (#""a";r=0;t=-1"#, nil), (#""a";r=0;t=1e9"#, nil),
      (#""a";r=0;t=0x1"#, nil), (#""a";r=0;t=nan"#, nil), (#""a";r=0;t=inf"#, nil), (#""a";r=0;t=."#, nil),
      (#""a";r=0;t=1."#, nil), (#""a";r=0;t=.5"#, nil), (#""a";r=0;t=1.2.3"#, nil), (#""a";r=0.0;t=30"#, nil),
      (#""a";r=0;t=99999999999999999999999999999999"#, 60), (#""a";r=18446744073709551616;t=30"#, nil),
      ("\"a\";r=0;t=30\u{0}", nil), ("\"\u{7f}é\";r=0;t=30", 30), ("é;r=0;t=30", nil), ("\"a\";r=0;t=３０", nil),
      ("\"a\\\";r=0;t=30", nil), (String(repeating: "\"a\";r=0;t=1,", count: 5_000) + "\"a\";r=0;t=2", 2),
      (String(repeating: ";", count: 60_000), nil), (String(repeating: "\"", count: 60_001), nil),
      ("limit=100, remaining=0, reset=30", nil),
    ] as [(String, Double?)])
  func rateLimit(value: String, expected: Double?) {
    #expect(pause(200, ["RateLimit: \(value)"], [.rateLimit]) == expected)
  }

  @Test(
    arguments: [
      // Of several fields the longest counts, and a malformed one says nothing.
      (["RateLimit: \"a\";r=0;t=5", "ratelimit: \"b\";r=0;t=9"], 9),
      (["RateLimit: \"a", "RateLimit: \"b\";r=0;t=9"], 9),
      (["RateLimit: \"a\";r=0;t=5", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 8"], 8),
      (["RateLimit-Policy: \"a\";q=100;w=60"], nil),
      // The older forms.
      (["RateLimit-Remaining: 0", "RateLimit-Reset: 30"], 30), (["RateLimit-Reset: 30", "RateLimit-Remaining: 0"], 30),
      (["RateLimit-Remaining: 1", "RateLimit-Reset: 30"], nil), (["RateLimit-Remaining: 0"], nil),
      (["RateLimit-Reset: 30"], nil),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 0.25"], 0.25),
      (["x-ratelimit-remaining: 000", "x-ratelimit-reset: 7"], 7),
      (["X-RateLimit-Remaining: 0", "RateLimit-Reset: 30"], nil),
      (["RateLimit-Remaining: 0", "X-RateLimit-Reset: 30"], nil),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1800000012"], 12),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1800000012.5"], 12.5),
      (["RateLimit-Remaining: 0", "RateLimit-Reset: 1800000012"], 12),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1799999999"], nil),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1800000000000"], 60),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 31536000"], 60),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 31536001"], nil),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 4", "X-RateLimit-Reset: 6"], 6),
      (["X-RateLimit-Remaining: 5", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 6"], 6),
      (["X-RateLimit-Remaining: -0", "X-RateLimit-Reset: 6"], nil),
      (["X-RateLimit-Remaining:", "X-RateLimit-Reset: 6"], nil),
      (["X-RateLimit-Remaining: 0, 0", "X-RateLimit-Reset: 6"], nil),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 6, 7"], nil),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: -6"], nil),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset:"], nil),
      (["X-RateLimit-Remaining: zero", "X-RateLimit-Reset: 6"], nil),
      (["X-Rate-Limit-Remaining: 0", "X-Rate-Limit-Reset: 6"], nil),
      (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: Fri, 15 Jan 2027 08:00:10 GMT"], nil),
    ] as [([String], Double?)])
  func olderFields(fields: [String], expected: Double?) {
    #expect(pause(200, fields, [.rateLimit]) == expected)
    #expect(pause(404, fields, [.rateLimit]) == expected)
    #expect(pause(200, fields, [.retryAfter]) == nil)
  }

  @Test func theLongestOfAllThatIsObeyed() {
    let fields = ["Retry-After: 3", "RateLimit: \"a\";r=0;t=5"]
    #expect(pause(429, fields) == 5)
    #expect(pause(200, fields) == 5)
    #expect(pause(429, ["Retry-After: 8"] + fields) == 8)
    #expect(pause(429, fields, [.retryAfter]) == 3)
    #expect(pause(429, fields, []) == nil)
  }

  /// Octets of the grammar in any order.
  @Test(arguments: 0..<20 as Range<UInt64>) func noOctetsTrap(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let pieces = [
      "RateLimit:", "RateLimit-Remaining:", "X-RateLimit-Remaining:", "X-RateLimit-Reset:", "Retry-After:", "\"a\"",
      "\"", "\\",
      ";", ",", "=", "r=0", ";t=", "9", "0", ".", " ", "\t", "\r\n", "\n", ":", "-", "é", "\u{0}",
      "18446744073709551616",
    ].map { Array($0.utf8) }
    for _ in 0..<300 {
      var bytes = Array("HTTP/1.1 429 x\r\n".utf8)
      for _ in 0..<Int.random(in: 0..<24, using: &random) { bytes += pieces.randomElement(using: &random) ?? [] }
      if let octet = UInt8.allValues.randomElement(using: &random) { bytes.append(octet) }
      let seconds = PaceSettings(obey: Self.all).pause(askedBy: ResponseHead(status: 429, bytes: bytes), at: Self.date)
      #expect(seconds.map { $0 > 0 && $0 <= 60 } ?? true)
    }
  }
}

extension UInt8 {
  fileprivate static let allValues = Array(UInt8.min ... .max)
}
