import Testing

@testable import WeirGateway

@Suite struct UserTextTests {
  @Test(arguments: [
    ("a", "\"a\""), ("", "\"\""), ("a\"b\\", "\"a\\\"b\\\\\""), ("\r\n\t", "\"\\r\\n\\t\""), ("\u{1b}", "\"\\u{1b}\""),
    (String(repeating: "x", count: 65), "\"" + String(repeating: "x", count: 64) + "\u{2026}\""),
  ])
  func quotes(text: String, expected: String) {
    #expect(quoted(text) == expected)
  }

  @Test(
    arguments: [
      ("upstrem", "upstream"), ("UPSTREAM", "upstream"), ("nmae", "name"), ("stripprefix", "stripPrefix"),
      ("host", nil), ("x", nil), ("", nil), ("completelyDifferent", nil), ("tiemout", "timeout"),
    ] as [(String, String?)])
  func guesses(typed: String, expected: String?) {
    #expect(suggestion(for: typed, among: ["upstream", "name", "stripPrefix", "timeout"]) == expected)
  }
}
