import Testing
import WeirTransport

@testable import WeirGateway

@Suite struct ForwardMachineTests {
  /// What may happen to a request.
  enum Input: Hashable {
    case begin, head, retryableHead
    case retry(Double), deny(RetryDenial.Reason)
    case ended, failed, rejected, delayElapsed, end
    /// The present attempt goes on the wire: a race begins.
    case onWire
    case isOut(Int), wins(Int)

    static let all: [Input] = [
      .begin, .head, .retryableHead, .retry(1), .deny(.policy), .deny(.budget), .ended, .failed, .rejected,
      .delayElapsed, .end,
    ]
  }

  /// Interim heads come from the one attempt under way, and from none once there is a final head.
  @Test func interimHeads() {
    var machine = ForwardMachine(mayRetry: true, hedges: 1)
    #expect(!machine.passesInterim(0) && !machine.passesInterim(1))
    _ = machine.begin()
    #expect(machine.passesInterim(1) && !machine.passesInterim(2))
    _ = machine.isOnWire(1)
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
    #expect(machine.passesInterim(3))
    _ = machine.headArrived(isRetryable: false)
    #expect(!machine.passesInterim(3))
  }

  typealias Line = (input: Input, action: ForwardMachine.Action, stage: ForwardMachine.Stage)

  static let retryDenials: [RetryDenial.Reason] = [.limit, .deadline, .method, .body, .policy]

  /// One stage: inputs that lead there, and what the inputs do that mean something in it.
  struct Row: CustomTestStringConvertible {
    let stage: ForwardMachine.Stage
    let path: [Input]
    let lines: [Line]

    var testDescription: String { "\(stage)" }
  }

  static let table: [Row] = [
    Row(
      stage: .idle, path: [],
      lines: [
        (.begin, .attempt, .trying),
        (.end, .settle, .over),
      ]),
    Row(
      stage: .trying, path: [.begin],
      lines: [
        (.head, .passOn, .passing),
        (.retryableHead, .decide, .deciding(atHead: true)),
        (.ended, .settle, .over),
        (.failed, .decide, .deciding(atHead: false)),
        (.rejected, .settle, .over),
        (.end, .cancel, .ending),
      ]),
    Row(
      stage: .deciding(atHead: true), path: [.begin, .retryableHead],
      lines: [
        (.retry(1), .discard, .discarding(delay: 1)),
        (.deny(.policy), .passOn, .passing),
        (.deny(.budget), .passOn, .passing),
        (.end, .cancel, .ending),
      ]),
    Row(
      stage: .deciding(atHead: false), path: [.begin, .failed],
      lines: [
        (.retry(1), .wait(1), .delaying),
        (.deny(.policy), .settle, .over),
        (.deny(.budget), .settle, .over),
        // There is no attempt whose end would be heard.
        (.end, .settle, .over),
      ]),
    Row(
      stage: .discarding(delay: 1), path: [.begin, .retryableHead, .retry(1)],
      lines: [
        (.ended, .wait(1), .delaying),
        (.failed, .wait(1), .delaying),
        (.end, .cancel, .ending),
      ]),
    Row(
      stage: .delaying, path: [.begin, .failed, .retry(1)],
      lines: [
        (.delayElapsed, .attempt, .trying),
        (.end, .settle, .over),
      ]),
    Row(
      stage: .passing, path: [.begin, .head],
      lines: [
        (.ended, .settle, .over),
        (.failed, .decide, .deciding(atHead: false)),
        (.end, .cancel, .ending),
      ]),
    Row(
      stage: .ending, path: [.begin, .end],
      lines: [
        (.ended, .settle, .over),
        (.failed, .settle, .over),
      ]),
    Row(stage: .over, path: [.end], lines: []),
  ]

  @Test func aTunnelEndsTheRequest() {
    var machine = ForwardMachine(mayRetry: true)
    #expect(machine.tunnelOpened() == .none)
    #expect(machine.begin() == .attempt)
    #expect(machine.tunnelOpened() == .settle)
    #expect(machine.stage == .over)
    #expect(machine.attemptEnded(failed: true) == .none)
    #expect(machine.end() == .none)
  }

  @Test(arguments: table) func everyInputInEveryStage(row: Row) {
    for input in Input.all {
      var machine = ForwardMachine(mayRetry: true)
      for step in row.path { _ = machine.take(step) }
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

  @Test(arguments: table) func whatIsKnownInEveryStage(row: Row) {
    var machine = ForwardMachine(mayRetry: true)
    for step in row.path { _ = machine.take(step) }
    #expect(machine.isPassing == (row.stage == .passing))
    #expect(machine.isEnding == [.ending, .over].contains(row.stage))
    #expect(machine.mayStart(machine.present) == (row.stage == .trying))
    #expect(!machine.mayStart(machine.present + 1))
    #expect(!machine.mayHedge)
  }

  // MARK: Retries

  @Test func withoutRulesNobodyIsAsked() {
    Self.check(
      ForwardMachine(mayRetry: false),
      [
        (.begin, .attempt, .trying),
        (.failed, .settle, .over),
      ])
    Self.check(
      ForwardMachine(mayRetry: false),
      [
        (.begin, .attempt, .trying),
        (.retryableHead, .passOn, .passing),
        (.failed, .settle, .over),
      ])
  }

  @Test func retriesAtTheHeadAndAfterAFailure() {
    let machine = Self.check([
      (.begin, .attempt, .trying),
      (.retryableHead, .decide, .deciding(atHead: true)),
      (.retry(0.5), .discard, .discarding(delay: 0.5)),
      (.ended, .wait(0.5), .delaying),
      (.delayElapsed, .attempt, .trying),
      (.failed, .decide, .deciding(atHead: false)),
      (.retry(0), .wait(0), .delaying),
      (.delayElapsed, .attempt, .trying),
      (.head, .passOn, .passing),
      (.ended, .settle, .over),
    ])
    #expect(machine.attempts == 3)
    #expect(machine.present == 3)
    #expect(machine.retries == 2)
    #expect(!machine.hasDenied)
  }

  @Test func anEndDuringTheDelayIsNoRetry() {
    let machine = Self.check([
      (.begin, .attempt, .trying),
      (.failed, .decide, .deciding(atHead: false)),
      (.retry(1), .wait(1), .delaying),
      (.end, .settle, .over),
      (.delayElapsed, .none, .over),
    ])
    #expect(machine.retries == 0)
    #expect(machine.attempts == 1)
  }

  /// The rules are asked about the end as well, but the denial is told only once.
  @Test(arguments: retryDenials) func aDenialAtTheHeadIsToldOnce(reason: RetryDenial.Reason) {
    var machine = Self.check([
      (.begin, .attempt, .trying),
      (.retryableHead, .decide, .deciding(atHead: true)),
    ])
    #expect(!machine.hasDenied)
    machine = Self.check(
      machine,
      [
        (.deny(reason), .passOn, .passing),
        (.failed, .decide, .deciding(atHead: false)),
      ])
    #expect(machine.hasDenied)
    machine = Self.check(
      machine,
      [
        (.retry(1), .wait(1), .delaying),
        (.delayElapsed, .attempt, .trying),
      ])
    #expect(!machine.hasDenied, "the next attempt's denial is another one")
  }

  @Test(arguments: [RetryDenial.Reason.budget, .breaker])
  func refusedForTheDestinationsSakeTheRulesAreNotAskedAgain(reason: RetryDenial.Reason) {
    let machine = Self.check([
      (.begin, .attempt, .trying),
      (.failed, .decide, .deciding(atHead: false)),
      (.retry(1), .wait(1), .delaying),
      (.delayElapsed, .attempt, .trying),
      (.retryableHead, .decide, .deciding(atHead: true)),
      (.deny(reason), .passOn, .passing),
      (.failed, .settle, .over),
    ])
    #expect(machine.hasDenied)
  }

  @Test func aHeadThatIsTakenBackMakesRoomForAnother() {
    let machine = Self.check([
      (.begin, .attempt, .trying),
      (.head, .passOn, .passing),
      (.failed, .decide, .deciding(atHead: false)),
      (.retry(1), .wait(1), .delaying),
      (.delayElapsed, .attempt, .trying),
      (.head, .passOn, .passing),
      (.ended, .settle, .over),
    ])
    #expect(machine.retries == 1)
  }

  @discardableResult
  static func check(_ lines: [Line], _ location: SourceLocation = #_sourceLocation) -> ForwardMachine {
    check(ForwardMachine(mayRetry: true, hedges: 2), lines, location)
  }

  @discardableResult
  static func check(
    _ machine: ForwardMachine, _ lines: [Line], _ location: SourceLocation = #_sourceLocation
  ) -> ForwardMachine {
    var machine = machine
    for (index, line) in lines.enumerated() {
      let action = machine.take(line.input)
      #expect(action == line.action, "line \(index): \(line.input)", sourceLocation: location)
      #expect(machine.stage == line.stage, "line \(index): \(line.input)", sourceLocation: location)
    }
    return machine
  }
}

extension ForwardMachine {
  /// Those inputs that the race hears first do what the shell does.
  fileprivate mutating func take(_ input: ForwardMachineTests.Input) -> Action {
    switch input {
    case .begin: return begin()
    case .head: return headArrived(isRetryable: false)
    case .retryableHead: return headArrived(isRetryable: true)
    case .retry(let delay): return decided(.retry(after: delay, source: .backoff))
    case .deny(let reason): return decided(.deny(reason))
    case .ended: return attemptEnded(failed: false)
    case .failed: return attemptEnded(failed: true)
    case .rejected: return rejected()
    case .delayElapsed: return delayElapsed()
    case .end: return end()
    case .onWire:
      _ = isOnWire(present)
      return .none
    case .isOut(let number):
      _ = raceHears(endOf: number)
      return .none
    case .wins(let number):
      return raceHears(number, status: 200) == .wins ? headArrived(isRetryable: false) : .none
    }
  }
}
