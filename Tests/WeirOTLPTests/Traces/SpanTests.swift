import Testing
import WeirOTLP

@Suite struct SpanTests {
  @Test func aSpanIsUnsetByDefault() {
    let span = Span("GET", .client, at: Span.Place(high: 1, low: 2, id: 3), from: 4, to: 5)
    #expect(!span.isError && span.parent == 0 && span.flags == 1)
  }
}
