import Testing
import WeirOTLP

@testable import WeirExporter

/// Which span gets a request's events, and when spans are finished.
@Suite struct PendingSpansTests {
  private static func span(_ name: String, _ id: UInt64) -> Span {
    Span(name, .client, at: Span.Place(high: 1, low: 1, id: id), from: 10, to: 20)
  }

  private static func event(_ name: String) -> Span.Event { Span.Event(name, at: 15) }

  private static func text(_ spans: [Span]) -> [String] {
    spans.map { ([$0.name] + $0.events.map(\.name) + $0.attributes.map { "\($0)" }).joined(separator: " ") }
  }

  @Test func eventsOfARequestWithASpanOfItsOwn() {
    var pending = PendingSpans(hasRoot: true)
    pending.add(Self.event("paced"))
    #expect(pending.attemptEnded(Self.span("first", 1)) == nil)
    pending.add(Self.event("retry"))
    #expect(pending.attemptEnded(Self.span("second", 2))?.name == "first")
    pending.deny("budget")
    pending.add(Self.event("denied"))
    #expect(
      Self.text(pending.settled(Self.span("root", 3))) == [
        "second weir.retry.denied=budget", "root paced retry denied",
      ])
  }

  @Test func eventsOfAnAttemptBelowTheCallersSpan() {
    var pending = PendingSpans(hasRoot: false)
    pending.add(Self.event("paced"))
    var first = Self.span("first", 1)
    first.events = [Self.event("head")]
    #expect(pending.attemptEnded(first) == nil)
    pending.add(Self.event("retry"))
    let finished = pending.attemptEnded(Self.span("second", 2))
    #expect(Self.text([finished].compactMap { $0 }) == ["first paced head"])
    pending.deny("overload")
    pending.add(Self.event("denied"))
    #expect(Self.text(pending.settled(nil)) == ["second retry denied weir.retry.denied=overload"])
  }

  @Test func aRequestWithoutAttempts() {
    var pending = PendingSpans(hasRoot: true)
    pending.add(Self.event("shed"))
    #expect(Self.text(pending.settled(Self.span("root", 1))) == ["root shed"])
    #expect(PendingSpans(hasRoot: false).settled(nil).isEmpty)
  }

  @Test func eventsHaveAnEnd() {
    var pending = PendingSpans(hasRoot: true)
    for _ in 0..<200 { pending.add(Self.event("retry")) }
    #expect(pending.settled(Self.span("root", 1)).first?.events.count == PendingSpans.mostEvents)
  }
}
