import Testing

@testable import WeirCurl

@Suite struct ExtraPollsTests {
  @Test func pollsGrowRare() {
    var polls = ExtraPolls()
    #expect(polls.isEmpty)
    polls.note(7)
    for tick in 1...20 { #expect(polls.tick() == ([1, 2, 4, 8, 16].contains(tick) ? [7] : []), "tick \(tick)") }
    #expect(polls.isEmpty)
  }

  @Test func whatIsReadMeanwhileBeginsAnew() {
    var polls = ExtraPolls()
    polls.note(7)
    #expect(polls.tick() == [7])
    #expect(polls.tick() == [7])
    #expect(polls.tick() == [])
    polls.note(7)
    polls.note(8)
    #expect(Set(polls.tick()) == [7, 8])
  }
}
