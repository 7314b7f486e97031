import Testing

@testable import WeirCurl

/// Who may send a request again, as a table.
struct RepeatRuleTests {
  /// A request that was begun once.
  private func begun() -> RepeatRule {
    var rule = RepeatRule()
    rule.begin(sent: 0, received: 0, isHTTP1: true)
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

  @Test("What HTTP/2 may have refused goes again once, what a dead connection of HTTP/1 took as often as libcurl likes")
  func refusals() {
    for isHTTP1 in [true, false] {
      var rule = RepeatRule()
      rule.begin(sent: 0, received: 0, isHTTP1: isHTTP1)
      #expect(rule.allowsAnother(method: "GET", sent: 80, isAskedFor: false))
      rule.begin(sent: 80, received: 0, isHTTP1: isHTTP1)
      #expect(rule.allowsAnother(method: "GET", sent: 160, isAskedFor: false) == isHTTP1)
      #expect(rule.allowsAnother(method: "GET", sent: 160, isAskedFor: true), "what a challenge asks for is none")
      #expect(rule.allowsAnother(method: "GET", sent: 80, isAskedFor: false), "nor what was not sent")
    }
  }

  @Test func onlyUnansweredOnesAreStale() {
    var rule = begun()
    rule.begin(sent: 80, received: 0, isHTTP1: true)
    #expect(rule.staleRetries == 1)
    rule.begin(sent: 160, received: 40, isHTTP1: true)
    #expect(rule.staleRetries == 1)
  }

  /// libcurl counts from nothing then, and so has the rule to: what came before was judged already.
  @Test func aNewStartForgetsWhatWasSent() {
    var rule = begun()
    rule.begin(sent: 80, received: 40, isHTTP1: true)
    rule.startAnew(isStale: true)
    #expect(rule.requests == 0 && rule.staleRetries == 1)
    rule.begin(sent: 0, received: 40, isHTTP1: true)
    #expect(!rule.allowsAnother(method: "POST", sent: 80, isAskedFor: false))
    #expect(rule.allowsAnother(method: "POST", sent: 0, isAskedFor: false))
  }
}
