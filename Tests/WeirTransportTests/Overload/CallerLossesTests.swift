import Testing

@testable import WeirTransport

@Suite("Caller losses") struct CallerLossesTests {
  private func slot(inVain: UInt32, heads: UInt32) -> RecentSlots.Slot {
    var slot = RecentSlots.Slot()
    slot.inVain = inVain
    slot.heads = heads
    return slot
  }

  /// Losses after so many slots of these.
  private func losses(_ slots: Int, inVain: UInt32, heads: UInt32) -> CallerLosses {
    var losses = CallerLosses()
    for _ in 0..<slots { losses.note(slot(inVain: inVain, heads: heads)) }
    return losses
  }

  @Test func whatIsUsualIsNoReason() {
    let losses = losses(600, inVain: 40, heads: 60)
    #expect(!losses.isExceeded(by: slot(inVain: 490, heads: 510)))
    #expect(losses.isExceeded(by: slot(inVain: 510, heads: 490)))
  }

  @Test func amongFewCallersChanceIsNoReason() {
    let losses = losses(600, inVain: 40, heads: 60)
    #expect(!losses.isExceeded(by: slot(inVain: 25, heads: 20)))
    #expect(losses.isExceeded(by: slot(inVain: 29, heads: 16)))
  }

  @Test func whereNobodyLeavesATenthIsTooMuch() {
    let losses = losses(600, inVain: 0, heads: 60)
    #expect(!losses.isExceeded(by: slot(inVain: 9, heads: 91)))
    #expect(losses.isExceeded(by: slot(inVain: 11, heads: 89)))
  }

  @Test func atTheBeginningMoreIsNeeded() {
    #expect(!CallerLosses().isExceeded(by: slot(inVain: 31, heads: 69)))
    #expect(CallerLosses().isExceeded(by: slot(inVain: 33, heads: 67)))
  }

  @Test func anOverloadFromTheStartIsNotUsual() {
    var losses = CallerLosses()
    losses.note(slot(inVain: 0, heads: 50))
    for _ in 0..<3 { losses.note(slot(inVain: 75, heads: 50)) }
    #expect(losses.isExceeded(by: slot(inVain: 225, heads: 150)))
  }

  @Test func aFewSecondsShowThatNobodyLeaves() {
    let losses = losses(10, inVain: 0, heads: 10)
    #expect(losses.isExceeded(by: slot(inVain: 6, heads: 24)))
  }

  @Test func fewerThanFiveSayNothing() {
    #expect(!CallerLosses().isExceeded(by: slot(inVain: 4, heads: 0)))
    #expect(CallerLosses().isExceeded(by: slot(inVain: 5, heads: 0)))
    #expect(!CallerLosses().isExceeded(by: slot(inVain: 0, heads: 0)))
  }
}
