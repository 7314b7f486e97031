import Testing

@testable import WeirCurl

/// Who may send a request again, as a table.
struct RepeatRuleTests {
  /// A request that was begun once.
  private func begun() -> RepeatRule {
    var rule = RepeatRule()
    rule.begin(sent: 0, received: 0)
    return rule
  }

  @Test(arguments: [
    ("GET", 80, 0, true), ("HEAD", 80, 0, true), ("PUT", 80, 0, true), ("DELETE", 80, 0, true),
    ("OPTIONS", 80, 0, true),
    ("POST", 80, 0, false), ("PATCH", 80, 0, false), ("get", 80, 0, false), ("BREW", 80, 0, false),
    // Nothing was sent, or an answer came: a 417, which asks for the request without Expect.
    ("POST", 0, 0, true), ("POST", 80, 40, true),
  ])
  func repeats(method: String, sent: Int, received: Int64, isAllowed: Bool) {
    #expect(begun().allowsAnother(method: method, sent: sent, received: received) == isAllowed)
  }

  @Test func theFirstIsAlwaysAllowed() {
    #expect(RepeatRule().allowsAnother(method: "POST", sent: 0, received: 0))
  }

  @Test func onlyUnansweredOnesAreStale() {
    var rule = begun()
    rule.begin(sent: 80, received: 0)
    #expect(rule.staleRetries == 1)
    rule.begin(sent: 160, received: 40)
    #expect(rule.staleRetries == 1)
  }

  /// libcurl counts from nothing then, and so has the rule to: what came before was judged already.
  @Test func aNewStartForgetsWhatWasSent() {
    var rule = begun()
    rule.begin(sent: 80, received: 40)
    rule.startAnew(isStale: true)
    #expect(rule.requests == 0 && rule.staleRetries == 1)
    rule.begin(sent: 0, received: 40)
    #expect(!rule.allowsAnother(method: "POST", sent: 80, received: 40))
    #expect(rule.allowsAnother(method: "POST", sent: 0, received: 40))
  }
}
