import Testing

@testable import WeirGateway

@Suite struct SuggestionTests {
  @Test(
    arguments: [
      ("upstrem", "upstream"), ("UPSTREAM", "upstream"), ("nmae", "name"), ("stripprefix", "stripPrefix"),
      ("host", nil), ("x", nil), ("", nil), ("completelyDifferent", nil), ("tiemout", "timeout"),
    ] as [(String, String?)])
  func guesses(typed: String, expected: String?) {
    #expect(suggestion(for: typed, among: ["upstream", "name", "stripPrefix", "timeout"]) == expected)
  }
}
