import Testing

@testable import WeirTransport

@Suite struct ExchangeMachineTests {
  /// What may happen to an exchange.
  enum Input: Hashable {
    case begin, prepared, unprepared, head, retryableHead
    case retry(Double), deny(RetryDenial.Reason)
    case ended, failed, rejected, delayElapsed, end, reopen
    /// The present attempt goes on the wire: a race begins.
    case onWire
    case isOut(Int), wins(Int)

    static let all: [Input] = [
      .begin, .prepared, .unprepared, .head, .retryableHead, .retry(1), .deny(.policy), .deny(.budget), .ended, .failed,
      .rejected, .delayElapsed, .end, .reopen,
    ]
  }

  /// Interim heads come from the one attempt under way, and from none once there is a final head.
  @Test func interimHeads() {
    var machine = ExchangeMachine()
    #expect(!machine.passesInterim(0) && !machine.passesInterim(1))
    _ = machine.begin()
    #expect(!machine.passesInterim(1))
    _ = machine.prepared()
    #expect(machine.passesInterim(1) && !machine.passesInterim(2))
    _ = machine.wentOnWire(1, hedges: 1)
    #expect(machine.passesInterim(1))
    machine.grantHedge()
    let hedge = machine.hedge()
    #expect(!machine.passesInterim(1) && !machine.passesInterim(hedge))
    #expect(machine.raceHears(endOf: 1) == .isOut(successor: hedge))
    #expect(machine.passesInterim(hedge) && !machine.passesInterim(1))
    #expect(machine.raceHears(hedge, status: 503) == .isLast)
    _ = machine.headArrived(isRetryable: true)
    #expect(!machine.passesInterim(hedge))
    _ = machine.decided(.retry(after: 0, source: .backoff))
    _ = machine.attemptEnded(failed: false)
    #expect(!machine.passesInterim(hedge))
    _ = machine.delayElapsed()
    _ = machine.prepared()
    #expect(machine.passesInterim(3))
    _ = machine.headArrived(isRetryable: false)
    #expect(!machine.passesInterim(3))
  }

  typealias Line = (input: Input, action: ExchangeMachine.Action, stage: ExchangeMachine.Stage)

  static let retryDenials: [RetryDenial.Reason] = [.limit, .deadline, .method, .body, .policy]

  /// One stage: inputs that lead there, and what the inputs do that mean something in it.
  struct Row: CustomTestStringConvertible {
    let stage: ExchangeMachine.Stage
    let path: [Input]
    let lines: [Line]

    var testDescription: String { "\(stage)" }

    var machine: ExchangeMachine {
      var machine = ExchangeMachine()
      for step in path { _ = machine.take(step) }
      return machine
    }
  }

  static let table: [Row] = [
    Row(stage: .idle, path: [], lines: [(.begin, .prepare, .preparing), (.end, .settle, .over)]),
    Row(
      stage: .preparing, path: [.begin],
      lines: [
        (.prepared, .attempt, .trying),
        (.unprepared, .decide, .deciding(atHead: false)),
        (.end, .settle, .over),
      ]),
    Row(
      stage: .trying, path: [.begin, .prepared],
      lines: [
        (.head, .passOn, .passing),
        (.retryableHead, .decide, .deciding(atHead: true)),
        (.ended, .settle, .over),
        (.failed, .decide, .deciding(atHead: false)),
        (.rejected, .settle, .over),
        (.end, .cancel, .ending),
      ]),
    Row(
      stage: .deciding(atHead: true), path: [.begin, .prepared, .retryableHead],
      lines: [
        (.retry(1), .discard, .discarding(delay: 1)),
        (.deny(.policy), .passOn, .passing),
        (.deny(.budget), .passOn, .passing),
        // A verdict that is waited for is about the failure now.
        (.failed, .none, .deciding(atHead: false)),
        (.end, .cancel, .ending),
      ]),
    Row(
      stage: .deciding(atHead: false), path: [.begin, .prepared, .failed],
      lines: [
        (.retry(1), .wait(1), .delaying),
        (.deny(.policy), .settle, .over),
        (.deny(.budget), .settle, .over),
        // There is no attempt whose end would be heard.
        (.end, .settle, .over),
      ]),
    Row(
      stage: .discarding(delay: 1), path: [.begin, .prepared, .retryableHead, .retry(1)],
      lines: [(.ended, .wait(1), .delaying), (.failed, .wait(1), .delaying), (.end, .cancel, .ending)]),
    Row(
      stage: .delaying, path: [.begin, .prepared, .failed, .retry(1)],
      lines: [(.delayElapsed, .prepare, .preparing), (.end, .settle, .over)]),
    Row(
      stage: .passing, path: [.begin, .prepared, .head],
      lines: [(.ended, .settle, .over), (.failed, .decide, .deciding(atHead: false)), (.end, .cancel, .ending)]),
    Row(
      stage: .ending, path: [.begin, .prepared, .end],
      lines: [(.ended, .settle, .over), (.failed, .settle, .over)]),
    Row(stage: .over, path: [.end], lines: [(.reopen, .decide, .deciding(atHead: false))]),
  ]

  @Test func whatIsHandedOverIsOver() {
    var machine = ExchangeMachine()
    #expect(machine.handedOver() == .none)
    #expect(machine.begin() == .prepare)
    #expect(machine.prepared() == .attempt)
    #expect(machine.handedOver() == .settle)
    #expect(machine.stage == .over)
    #expect(machine.attemptEnded(failed: true) == .none)
    #expect(machine.end() == .none)
  }

  @Test(arguments: table) func everyInputInEveryStage(row: Row) {
    for input in Input.all {
      var machine = row.machine
      #expect(machine.stage == row.stage)
      let before = String(reflecting: machine)
      let action = machine.take(input)
      if let line = row.lines.first(where: { $0.input == input }) {
        #expect(action == line.action, "\(input)")
        #expect(machine.stage == line.stage, "\(input)")
      } else {
        #expect(action == .none, "\(input)")
        #expect(String(reflecting: machine) == before, "\(input)")
      }
    }
  }

  /// Nothing moves between the caller's leaving and the end that follows, but for what is ending already, and an attempt
  /// that is made, which is then found and ended.
  @Test(arguments: table) func nothingMovesOnceTheCallerHasLeft(row: Row) {
    for input in Input.all where input != .end {
      var machine = row.machine
      machine.interrupt()
      let action = machine.take(input)
      // No caller leaves unheard where heads are decided about: the gateway hears of it at once.
      let isHeard =
        [.idle, .ending].contains(row.stage) || [.prepared, .head, .retryableHead].contains(input)
      if !isHeard { #expect(action == .none && machine.stage == row.stage, "\(input)") }
    }
  }

  @Test(arguments: table) func whatIsKnownInEveryStage(row: Row) {
    let machine = row.machine
    #expect(machine.stage.isEnding == [.ending, .over].contains(row.stage))
    #expect(!machine.mayHedge)
  }

  // MARK: Retries

  @Test func anExchangeThatIsOverMayBeOpenedAgain() {
    let machine = Self.check(
      Self.trying,
      (.ended, .settle, .over),
      (.reopen, .decide, .deciding(atHead: false)),
      (.deny(.policy), .settle, .over),
      (.reopen, .decide, .deciding(atHead: false)),
      (.retry(1), .wait(1), .delaying),
      (.delayElapsed, .prepare, .preparing),
      (.unprepared, .decide, .deciding(atHead: false)),
      (.deny(.breaker), .settle, .over),
      (.reopen, .none, .over))
    #expect(machine.retries == 1)
  }

  @Test func withoutRulesNobodyIsAsked() {
    var machine = Self.trying
    machine.mayRetry = false
    Self.check(machine, (.failed, .settle, .over))
    Self.check(machine, (.retryableHead, .passOn, .passing), (.failed, .settle, .over))
  }

  @Test func retriesAtTheHeadAndAfterAFailure() {
    let machine = Self.check(
      Self.trying,
      (.retryableHead, .decide, .deciding(atHead: true)),
      (.retry(0.5), .discard, .discarding(delay: 0.5)),
      (.ended, .wait(0.5), .delaying),
      (.delayElapsed, .prepare, .preparing),
      (.prepared, .attempt, .trying),
      (.failed, .decide, .deciding(atHead: false)),
      (.retry(0), .wait(0), .delaying),
      (.delayElapsed, .prepare, .preparing),
      (.prepared, .attempt, .trying),
      (.head, .passOn, .passing),
      (.ended, .settle, .over))
    #expect(machine.attempts == 3)
    #expect(machine.present == 3)
    #expect(machine.retries == 2)
    #expect(!machine.hasDenied)
  }

  @Test func anEndDuringTheDelayIsNoRetry() {
    let machine = Self.check(
      Self.trying,
      (.failed, .decide, .deciding(atHead: false)),
      (.retry(1), .wait(1), .delaying),
      (.end, .settle, .over),
      (.delayElapsed, .none, .over))
    #expect(machine.retries == 0)
    #expect(machine.attempts == 1)
  }

  /// The rules are asked about the end as well, but the denial is told only once.
  @Test(arguments: retryDenials) func aDenialAtTheHeadIsToldOnce(reason: RetryDenial.Reason) {
    var machine = Self.check(Self.trying, (.retryableHead, .decide, .deciding(atHead: true)))
    #expect(!machine.hasDenied)
    machine = Self.check(machine, (.deny(reason), .passOn, .passing), (.failed, .decide, .deciding(atHead: false)))
    #expect(machine.hasDenied)
    machine = Self.check(
      machine, (.retry(1), .wait(1), .delaying), (.delayElapsed, .prepare, .preparing),
      (.prepared, .attempt, .trying))
    #expect(!machine.hasDenied, "the next attempt's denial is another one")
  }

  @Test(arguments: [RetryDenial.Reason.budget, .breaker])
  func refusedForTheDestinationsSakeTheRulesAreNotAskedAgain(reason: RetryDenial.Reason) {
    let machine = Self.check(
      Self.trying,
      (.failed, .decide, .deciding(atHead: false)),
      (.retry(1), .wait(1), .delaying),
      (.delayElapsed, .prepare, .preparing),
      (.prepared, .attempt, .trying),
      (.retryableHead, .decide, .deciding(atHead: true)),
      (.deny(reason), .passOn, .passing),
      (.failed, .settle, .over))
    #expect(machine.hasDenied)
  }

  @Test func aHeadThatIsTakenBackMakesRoomForAnother() {
    let machine = Self.check(
      Self.trying,
      (.head, .passOn, .passing),
      (.failed, .decide, .deciding(atHead: false)),
      (.retry(1), .wait(1), .delaying),
      (.delayElapsed, .prepare, .preparing),
      (.prepared, .attempt, .trying),
      (.head, .passOn, .passing),
      (.ended, .settle, .over))
    #expect(machine.retries == 1)
  }

  /// An exchange whose first attempt has begun.
  static var trying: ExchangeMachine {
    var machine = ExchangeMachine()
    _ = machine.begin()
    _ = machine.prepared()
    return machine
  }

  @discardableResult
  static func check(
    _ machine: ExchangeMachine, _ lines: Line..., location: SourceLocation = #_sourceLocation
  ) -> ExchangeMachine {
    var machine = machine
    for (index, line) in lines.enumerated() {
      let action = machine.take(line.input)
      #expect(action == line.action, "line \(index): \(line.input)", sourceLocation: location)
      #expect(machine.stage == line.stage, "line \(index): \(line.input)", sourceLocation: location)
    }
    return machine
  }
}

extension ExchangeMachine {
  /// Those inputs that the race hears first do what the shell does.
  fileprivate mutating func take(_ input: ExchangeMachineTests.Input) -> Action {
    switch input {
    case .begin: return begin()
    case .prepared: return prepared()
    case .unprepared: return preparationFailed()
    case .head: return headArrived(isRetryable: false)
    case .retryableHead: return headArrived(isRetryable: true)
    case .retry(let delay): return decided(.retry(after: delay, source: .backoff))
    case .deny(let reason): return decided(.deny(reason))
    case .ended: return attemptEnded(failed: false)
    case .failed: return attemptEnded(failed: true)
    case .rejected: return rejected()
    case .delayElapsed: return delayElapsed()
    case .end: return end()
    case .reopen: return reopen()
    case .onWire:
      _ = wentOnWire(present, hedges: 2)
      return .none
    case .isOut(let number):
      _ = raceHears(endOf: number)
      return .none
    case .wins(let number):
      return raceHears(number, status: 200) == .wins ? headArrived(isRetryable: false) : .none
    }
  }
}
