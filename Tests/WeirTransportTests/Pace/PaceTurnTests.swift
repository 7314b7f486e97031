import Testing

@testable import WeirTransport

/// Turns that are taken aside, given back and foreseen, and settings and clocks that change.
@Suite("Turns by the pace of a destination", .timeLimit(.minutes(5))) struct PaceTurnTests {
  // MARK: Turns beside another attempt

  @Test func aSecondAttemptTakesAFreeTurnOrNone() {
    PaceLine(PaceSettings(exactRate: 10)).run(
      """
      0 a beside → goes
      0 b beside → no
      0.05 c comes → waits
      0.1 → c goes
      0.3 d beside → goes
      0.3 d answers pause=1 → pauses
      0.4 e beside → no
      1.3 f beside → goes
      1.5 g beside → no
      1.5 f answers
      1.5 g beside → goes
      """)
  }

  @Test func aTurnThatIsNotUsedGoesBack() {
    PaceLine(PaceSettings(exactRate: 1)).run(
      """
      0 a comes → goes
      0 b comes → waits
      0.5 a unsent → b goes
      0.6 c comes → waits
      0.7 c unsent
      1.5 d comes → goes
      """)
  }

  /// With its token, two attempts would begin at once.
  @Test func aTurnThatIsGivenBackLateIsLost() {
    PaceLine(PaceSettings(exactRate: 1)).run(
      """
      0 a comes → goes
      1 b comes → goes
      1.5 a unsent
      1.5 c comes → waits
      2 → c goes
      """)
  }

  @Test func anAttemptThatWaitsMayLeave() {
    let line = PaceLine(PaceSettings(exactRate: 1))
    line.run(
      """
      0 a comes → goes
      0 b comes → waits
      0 c comes → waits
      0.5 b ends
      1 → c goes
      1 c ends
      1 a answers
      """)
    #expect(line.machine.attempts.onWire == 0 && line.machine.attempts.waiting == 0)
  }

  // MARK: Retries

  @Test func aRetryIsAllowedThatGetsItsTurnInTime() {
    PaceLine(PaceSettings(wait: 2)).run(
      """
      0 retry after=100 → yes
      0 a comes → goes
      0 a answers pause=5 → pauses
      0 retry after=2.9 → no
      0 retry after=3 → yes
      0 retry after=5 → yes
      0 retry after=5 by=5 → no
      0 retry after=3 by=5.1 → yes
      0 retry after=5 repair → no
      5 retry repair → yes
      """)
    PaceLine(PaceSettings(exactRate: 1, wait: 2)).run(
      """
      0 retry → yes
      0 a comes → goes
      0 b comes → waits
      0 c comes → waits
      0 retry by=1.1 → yes
      0 retry by=1 → no
      0 q comes retry → waits
      0 retry → yes
      0 r comes retry → waits
      0 retry → no
      0 retry after=1 → yes
      1 → q goes
      2 → r goes, b pace 2, c pace 1
      """)
  }

  // MARK: Settings that change

  @Test func otherSettingsKeepWhatWasGivenAndWhoWaits() {
    PaceLine(PaceSettings(exactRate: 10, wait: 5)).run(
      """
      0 a comes → goes
      0 b comes → waits
      0 settings rate=1 wait=1
      0 c comes → pace 2
      1 → b goes
      1.5 settings rate=10 wait=1
      1.5 c comes → waits
      1.55 → c goes
      """)
  }

  @Test func withoutARateAllGo() {
    PaceLine(PaceSettings(exactRate: 1, wait: 5)).run(
      """
      0 a comes → goes
      0 b comes → waits
      0 c comes → waits
      0.5 settings → b goes, c goes
      """)
  }

  /// Tokens of one rate are no measure for another.
  @Test func aRateThatIsGivenAgainBeginsAnew() {
    PaceLine(PaceSettings(exactRate: 1000)).run(
      """
      0 a comes → goes
      0 settings
      0 b comes → goes
      0.1 settings rate=1
      0.1 c comes → goes
      0.1 d comes → waits
      0.2 a unsent
      1.1 → d goes
      """)
  }

  @Test func aPauseStaysWithOtherSettings() {
    PaceLine().run(
      """
      0 a comes → goes
      0 a answers pause=1 → pauses
      0.1 settings rate=5 wait=3
      0.2 b comes → waits
      0.2 c comes → waits
      1 → b goes
      1.1 b answers
      1.2 → c goes
      """)
  }

  // MARK: Slots

  /// With a turn from before a pause nothing is sent in it, and nothing after it but by a turn of its own.
  @Test func aTurnThatWaitsForASlotEndsWithAPause() {
    PaceLine().run(
      """
      0 a comes → goes
      0 b comes → goes
      0 b slot
      0.1 b begins → yes
      0.1 c comes → goes
      0.1 c slot
      0.2 a answers pause=1 → pauses
      0.5 c begins → no
      1.5 c begins → no
      1.5 d comes → goes
      1.5 d slot
      1.6 d begins → yes
      """)
  }

  /// Attempts that wait for slots by a rate must not go all at once when slots are there.
  @Test func aTurnOfARateDoesNotLast() {
    PaceLine(PaceSettings(exactRate: 10)).run(
      """
      0 a comes → goes
      0 a slot
      0.009 a begins → yes
      0.1 b comes → goes
      0.1 b slot
      0.12 b begins → no
      """)
  }

  /// Only those that are on the wire count as under way before a pause.
  @Test func attemptsThatWaitForSlotsAreNotUnderWay() {
    PaceLine().run(
      """
      0 a comes → goes
      0 b comes → goes
      0 b slot
      0.1 a answers pause=1 → pauses
      1.1 c comes → goes
      1.2 c answers
      1.2 d comes → goes
      1.2 e comes → goes
      1.2 f comes → goes
      """)
  }

  // MARK: Promises

  /// Retries that were granted count as ahead until they ask, in rounds of answers after a pause.
  @Test func retriesAreGrantedAsFarAsTurnsReach() {
    PaceLine(PaceSettings(wait: 1)).run(
      """
      0 a comes → goes
      0 z comes → goes
      0.5 z answers
      0.5 a answers pause=1 → pauses
      0.5 retry after=1 → yes
      0.5 promise
      0.5 retry after=1 → yes
      0.5 promise
      0.5 promise
      0.5 promise
      0.5 promise
      0.5 promise
      0.5 retry after=1 → yes
      0.5 promise
      0.5 retry after=1 → no
      """)
  }

  // MARK: Clocks

  /// Threads read their clocks before they get the lock.
  @Test func anEarlierTimeCountsAsThatOfTheLastCall() {
    PaceLine(PaceSettings(exactRate: 10, wait: 1)).run(
      """
      1 a comes → goes
      0.9 b comes → waits
      0.5 c comes timeout=0.2 → waits
      1.1 → b goes
      1.05 a answers pause=1 → pauses
      1.2 → c paused 0.9
      2 d comes → waits
      2.1 → d goes
      """)
  }
}
