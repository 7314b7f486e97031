import Testing
import WeirIO

@testable import WeirTransport

@Suite("Pace of a destination", .timeLimit(.minutes(5))) struct PaceMachineTests {
  // MARK: The rate

  @Test func attemptsBeginByRateAndBurst() {
    PaceLine(PaceSettings(exactRate: 50, burst: 2)).run(
      """
      0 a comes → goes
      0 b comes → goes
      0 c comes → waits
      0.01 d comes → waits
      0.02 → c goes
      0.03 c answers
      0.04 → d goes
      0.2 e comes → goes
      0.2 f comes → goes
      0.2 g comes → waits
      0.22 → g goes
      """)
  }

  @Test func aRateThatIsNoWholeNumberIsTakenPerHour() {
    PaceLine(PaceSettings(exactRate: 0.5)).run(
      """
      0 a comes → goes
      0 b comes → waits
      0 c comes → pace 4
      2 → b goes
      """)
    PaceLine(PaceSettings(exactRate: 3)).run(
      """
      0 a comes → goes
      0 b comes → waits
      0.333333334 → b goes
      """)
  }

  @Test func aTokenThatComesLateIsNotMadeUpFor() {
    PaceLine(PaceSettings(exactRate: 10)).run(
      """
      0 a comes → goes
      0.15 b comes → goes
      0.2 c comes → waits
      0.25 → c goes
      """)
  }

  // MARK: Waiting

  @Test func whatWouldWaitForTooLongIsRefusedAtOnce() {
    PaceLine(PaceSettings(exactRate: 1, wait: 2)).run(
      """
      0 a comes → goes
      0 b comes timeout=0.9 → pace 1
      0 b comes timeout=-1 → pace 1
      0 b comes timeout=1 → waits
      0 c comes timeout=60 → waits
      0 d comes → pace 3
      0.5 e comes → pace 2.5
      1 → b goes
      1 f comes → waits
      2 → c goes
      3 → f goes
      """)
  }

  @Test func withoutAWaitOnlyAFreeTurnCounts() {
    PaceLine(PaceSettings(exactRate: 10, wait: 0)).run(
      """
      0 a comes → goes
      0.05 b comes → pace 0.05
      0.1 c comes → goes
      0.1 c answers pause=1 → pauses
      0.2 d comes → paused 0.9
      1.1 e comes → goes
      1.3 f comes → paused 0.8
      1.4 e answers
      1.5 g comes → goes
      """)
  }

  /// Attempts with a higher priority have come after one that seemed to get its turn in time.
  @Test func noAttemptWaitsBeyondItsBound() {
    PaceLine(PaceSettings(exactRate: 1, wait: 2)).run(
      """
      0 a comes → goes
      0 low comes priority=7 → waits
      0 x comes priority=1 → waits
      0 y comes priority=1 → waits
      1 → x goes
      2 → y goes, low pace 1
      """)
  }

  @Test func tenThousandWaitAtMost() {
    let line = PaceLine(PaceSettings(exactRate: 1_000_000, wait: 60))
    _ = line.machine.arrived(at: line.time)
    for _ in 0..<PaceMachine.mostWaiting { _ = line.machine.arrived(at: line.time) }
    #expect(line.machine.attempts.waiting == 10_000)
    guard case .refused(let refusal) = line.machine.arrived(at: line.time) else {
      Issue.record("one more waits")
      return
    }
    #expect(refusal.reason == .pace)
    // A rate can be no greater, so that the stretch is not made up for.
    #expect(abs(refusal.retryAfter - 0.010_001 * 1.015) < 1e-6)
  }

  @Test func retriesGoFirstAndThenPriorities() {
    PaceLine(PaceSettings(exactRate: 1, wait: 60)).run(
      """
      0 a comes → goes
      0 b comes → waits
      0 c comes priority=99 → waits
      0 d comes → waits
      0 e comes priority=1 → waits
      0 r comes retry priority=7 → waits
      0 f comes priority=-5 → waits
      1 → r goes
      2 → f goes
      3 → e goes
      4 → b goes
      5 → d goes
      6 → c goes
      """)
  }

  // MARK: Pauses

  @Test func afterAPauseOneGoesFirstAndThenAsManyAsAnswersCamePlusOne() {
    PaceLine().run(
      """
      0 a comes → goes
      0 b comes → goes
      0.1 a answers pause=1 → pauses
      0.2 c comes → waits
      0.3 d comes → waits
      0.4 e comes → waits
      0.5 f comes → waits
      1.1 → c goes
      1.15 b answers
      1.2 c answers → d goes, e goes
      1.3 g comes → waits
      1.4 d answers → f goes, g goes
      1.5 h comes → waits
      1.6 e answers → h goes
      1.7 f answers
      1.7 i comes → goes
      1.7 j comes → goes
      1.7 k comes → goes
      1.7 l comes → goes
      1.7 m comes → goes
      """)
  }

  @Test func aPauseIsWaitedForIfItsEndIsNear() {
    PaceLine(PaceSettings(wait: 2)).run(
      """
      0 a comes → goes
      0 a answers pause=5 → pauses
      0 b comes → paused 5
      2.9 c comes → paused 2.1
      3 d comes → waits
      3 e comes timeout=1 → paused 2
      5 → d goes
      """)
  }

  @Test func anAnswerMayExtendAPauseAndNotShortenIt() {
    PaceLine(PaceSettings(wait: 2)).run(
      """
      0 a comes → goes
      0 b comes → goes
      0 c comes → goes
      0 d comes → goes
      0.1 a answers pause=1 → pauses
      0.2 w comes → waits
      0.5 b answers pause=1
      0.6 c answers pause=0.1
      0.7 c answers
      1.5 → w goes
      1.6 x comes → waits
      1.7 d answers pause=10 → pauses
      3.6 → x paused 8.1
      """)
  }

  @Test func aPauseMayBeAskedForAgainWhileReturning() {
    PaceLine(PaceSettings(wait: 4)).run(
      """
      0 a comes → goes
      0 a answers pause=1 → pauses
      0.5 b comes → waits
      0.5 c comes → waits
      1 → b goes
      1.1 b answers pause=1 → pauses
      2.1 → c goes
      2.2 c answers
      2.2 d comes → goes
      2.2 e comes → goes
      """)
  }

  @Test func noTimeIsNoPause() {
    PaceLine().run(
      """
      0 a comes → goes
      0 a answers pause=0
      0 b comes → goes
      0 b answers pause=0.0000000001
      0 c comes → goes
      0 x answers pause=1 → pauses
      0 d comes → waits
      1 → d goes
      """)
  }

  @Test func anAttemptThatHangsLetsAnotherOneGo() {
    PaceLine(PaceSettings(wait: 10)).run(
      """
      0 a comes → goes
      0 a answers pause=1 → pauses
      0 b comes → waits
      0 c comes → waits
      0 d comes → waits
      0 e comes → waits
      1 → b goes
      2 → c goes
      3 → d goes
      3.5 d answers
      4 → e goes
      """)
  }

  @Test func whatUsuallyTakesLongMayHangForLonger() {
    PaceLine(PaceSettings(wait: 10)).run(
      """
      0 x comes → goes
      2 x answers
      2 a comes → goes
      2 a answers pause=1 → pauses
      2 b comes → waits
      2 c comes → waits
      3 → b goes
      7 → c goes
      """)
  }

  @Test func afterAnEndWithoutAnAnswerTheNextOneGoes() {
    PaceLine(PaceSettings(wait: 10)).run(
      """
      0 a comes → goes
      0 a answers pause=1 → pauses
      0 b comes → waits
      0 c comes → waits
      0 d comes → waits
      1 → b goes
      1.2 b ends → c goes
      1.3 c unsent → d goes
      """)
  }

  @Test func aPauseAndARateHoldTogether() {
    PaceLine(PaceSettings(exactRate: 10, wait: 5)).run(
      """
      0 a comes → goes
      0.05 a answers pause=1 → pauses
      0.1 b comes → waits
      0.1 c comes → waits
      0.1 d comes timeout=1 → paused 1.15
      1.05 → b goes
      1.06 b answers
      1.15 → c goes
      """)
  }
}
