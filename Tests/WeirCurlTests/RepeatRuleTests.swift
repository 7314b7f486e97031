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
    ("GET", 80, false, true), ("HEAD", 80, false, true), ("PUT", 80, false, true), ("DELETE", 80, false, true),
    ("OPTIONS", 80, false, true),
    ("POST", 80, false, false), ("PATCH", 80, false, false), ("get", 80, false, false), ("BREW", 80, false, false),
    // Nothing was sent, or an answer came: a 417, which asks for the request without Expect.
    ("POST", 0, false, true), ("POST", 80, true, true),
  ])
  func repeats(method: String, sent: Int, isAskedFor: Bool, isAllowed: Bool) {
    #expect(begun().allowsAnother(method: method, sent: sent, isAskedFor: isAskedFor) == isAllowed)
  }

  @Test func theFirstIsAlwaysAllowed() {
    #expect(RepeatRule().allowsAnother(method: "POST", sent: 0, isAskedFor: false))
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
    #expect(!rule.allowsAnother(method: "POST", sent: 80, isAskedFor: false))
    #expect(rule.allowsAnother(method: "POST", sent: 0, isAskedFor: false))
  }
}
