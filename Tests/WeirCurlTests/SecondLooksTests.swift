import Testing

@testable import WeirCurl

@Suite struct SecondLooksTests {
  @Test func looksGrowRare() {
    var looks = SecondLooks()
    #expect(looks.isEmpty)
    looks.note(7)
    for tick in 1...20 { #expect(looks.tick() == ([1, 2, 4, 8, 16].contains(tick) ? [7] : []), "tick \(tick)") }
    #expect(looks.isEmpty)
  }

  @Test func whatIsReadMeanwhileBeginsAnew() {
    var looks = SecondLooks()
    looks.note(7)
    #expect(looks.tick() == [7])
    #expect(looks.tick() == [7])
    #expect(looks.tick() == [])
    looks.note(7)
    looks.note(8)
    #expect(Set(looks.tick()) == [7, 8])
  }
}
