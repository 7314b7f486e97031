import Testing

@testable import WeirTransport

// Several attempts of one exchange.
extension ExchangeMachineTests {
  /// An exchange whose first attempt is on the wire, with so many beside it.
  private static func racing(rivals: Int = 1) -> ExchangeMachine {
    var machine = Self.trying
    _ = machine.wentOnWire(1, hedges: 2)
    for _ in 0..<rivals {
      machine.grantHedge()
      _ = machine.hedge()
    }
    return machine
  }

  @Test func aRaceBeginsWithThePresentAttemptOnTheWire() {
    var machine = Self.trying
    #expect(machine.race == nil)
    #expect(!machine.mayHedge, "it waits for its slot")
    let answers = [machine.wentOnWire(2, hedges: 1), machine.wentOnWire(1, hedges: 1)]
    #expect(answers == [false, true])
    machine.grantHedge()
    #expect(!machine.mayHedge, "one is all there may be")
    let rival = machine.hedge()
    #expect(rival == 2)
    #expect(machine.attempts == 2)
    #expect(machine.present == 1)
    #expect(machine.race?.runners == [1, 2])
    let asRival = machine.wentOnWire(2, hedges: 1)
    #expect(!asRival)
    #expect(machine.race?.runners == [1, 2])
    #expect(machine.present == 1, "a rival has its slot from its beginning")
  }

  @Test func withoutHedgesThereIsNoRace() {
    var machine = Self.trying
    let answers = (
      machine.wentOnWire(1, hedges: 0), machine.raceHears(1, status: 200), machine.raceHears(endOf: 1)
    )
    #expect(answers == (false, nil, nil))
    machine.grantHedge()
    #expect(machine.race == nil)
  }

  @Test func whatWasDeniedForWantOfRoomCountsAsGranted() {
    var machine = Self.racing(rivals: 0)
    machine.grantHedge()
    #expect(machine.mayHedge, "there may be two")
    machine.grantHedge()
    #expect(!machine.mayHedge)
    #expect(machine.attempts == 1)
    let verdict = machine.raceHears(endOf: 1)
    #expect(verdict == .isLast)
  }

  @Test(arguments: [1, 2]) func theFirstGoodHeadWins(winner: Int) {
    var machine = Self.racing()
    let verdicts = [
      machine.raceHears(winner, status: 200), machine.raceHears(3 - winner, status: 200),
      machine.raceHears(endOf: 3 - winner),
    ]
    #expect(verdicts == [.wins, nil, nil])
    #expect(machine.present == winner)
    #expect(!machine.mayHedge)
    Self.check(machine, (.head, .passOn, .passing), (.ended, .settle, .over))
  }

  @Test(arguments: [500, 503, 429]) func aPresentAttemptThatIsOutHasASuccessor(status: Int) {
    var machine = Self.racing(rivals: 2)
    let byHead = machine.raceHears(1, status: status)
    #expect(byHead == .isOut(successor: 2))
    #expect(machine.present == 2)
    #expect(machine.stage == .trying)
    let byEnd = machine.raceHears(endOf: 2)
    #expect(byEnd == .isOut(successor: 3))
    #expect(machine.present == 3)
    let last = machine.raceHears(3, status: status)
    #expect(last == .isLast)
    Self.check(machine, (.retryableHead, .decide, .deciding(atHead: true)), (.deny(.policy), .passOn, .passing))
  }

  @Test func aRivalThatIsOutChangesNothing() {
    var machine = Self.racing()
    let verdict = machine.raceHears(endOf: 2)
    #expect(verdict == .isOut(successor: 1))
    #expect(machine.present == 1)
    #expect(machine.mayHedge, "the second of two may follow")
    #expect(machine.stage == .trying)
  }

  @Test func theLimitOfHedgesIsTheRequests() {
    let machine = Self.check(
      Self.racing(),
      (.isOut(1), .none, .trying),
      (.isOut(2), .none, .trying),
      (.failed, .decide, .deciding(atHead: false)),
      (.retry(1), .wait(1), .delaying),
      (.delayElapsed, .prepare, .preparing),
      (.prepared, .attempt, .trying))
    #expect(machine.present == 3)
    #expect(!machine.mayHedge, "the retry is not on the wire yet")
    var again = Self.check(machine, (.onWire, .none, .trying))
    #expect(again.mayHedge)
    again.grantHedge()
    #expect(!again.mayHedge)
    _ = again.hedge()
    let passing = Self.check(again, (.wins(4), .passOn, .passing))
    #expect(passing.present == 4)
    #expect(passing.attempts == 4)
    #expect(passing.retries == 1)
  }

  @Test func onceTheHeadIsPassedOnNoHedgeFollows() {
    let machine = Self.check(Self.racing(), (.head, .passOn, .passing))
    #expect(machine.race?.mayHedge == true)
    #expect(!machine.mayHedge)
  }

  @Test func onceTheCallerHasLeftNoHedgeFollows() {
    var machine = Self.racing()
    #expect(machine.mayHedge)
    machine.interrupt()
    #expect(!machine.mayHedge)
  }

  @Test func theEndAbandonsTheRace() {
    var machine = Self.racing()
    let action = machine.end()
    #expect(action == .cancel)
    #expect(machine.race?.isOpen == false)
    #expect(!machine.mayHedge)
    let verdicts = [machine.raceHears(2, status: 200), machine.raceHears(endOf: 2), machine.raceHears(endOf: 1)]
    #expect(verdicts == [nil, nil, nil])
    #expect(machine.present == 1)
    Self.check(machine, (.head, .none, .ending), (.failed, .settle, .over))
  }
}
