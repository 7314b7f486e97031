import Testing
import WeirIO

@testable import WeirTransport

/// What a destination reports once a second.
@Suite struct DestinationReportTests {
  private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

  private func time(_ seconds: Double) -> MonotonicTime { start.advanced(bySeconds: seconds) }

  private func destination() -> DestinationState {
    DestinationState(
      destination: Destination(scheme: "http", host: "h", port: 80), slots: 8, maximumWaiting: 8, now: start)
  }

  private func caller() -> OverloadGate.Caller { OverloadGate.Caller(settings: .default, priority: 3, timeout: nil) }

  /// The ticket of an attempt that is let through.
  private func pass(_ destination: DestinationState, at seconds: Double) throws -> OverloadMachine.Ticket {
    let answer = destination.ask(DestinationState.Start(), caller(), at: time(seconds)) { { _ in } }
    guard case .granted(let ticket?) = answer.decision else { throw NotGranted() }
    return ticket
  }

  private struct NotGranted: Error {}

  /// Without that report, the page would show for ever what was left of the budget before.
  @Test func theBudgetIsReportedOnceMoreWhenItIsWholeAgain() {
    let destination = destination()
    let budget = RetryBudget(ratio: 0, minimumPerSecond: 0.2, burst: 0, window: 10)
    _ = destination.ask(DestinationState.Start(isObserved: true), nil, at: start) { { _ in } }
    destination.reportsRetries(of: budget)
    #expect(destination.grantsRetry(by: budget, at: time(0.1)))
    #expect(destination.grantsRetry(by: budget, at: time(0.2)))
    var reported: [Double] = []
    var hasEnded = false
    for second in 1...30 where !hasEnded {
      let reports = destination.takeReports(at: time(Double(second)))
      if let retries = reports.availableRetries { reported.append(retries) }
      hasEnded = reports.areLast
    }
    #expect(hasEnded)
    #expect(reported.first == 0)
    #expect(reported.last == 2)
  }

  /// Such requests earn no budget, but what they may use is shown.
  @Test func theBudgetIsReportedWhereAllRequestsAreRetriesOfOthers() {
    let destination = destination()
    destination.reportsRetries(of: RetryBudget())
    _ = destination.ask(DestinationState.Start(earnsRetryBudget: false, isObserved: true), caller(), at: start) {
      { _ in }
    }
    #expect(destination.takeReports(at: time(0.1)).availableRetries != nil)
    // The budget does not change any more, and load control still reports.
    let next = destination.takeReports(at: time(1.1))
    #expect(next.availableRetries == nil)
    #expect(next.overload != nil)
    #expect(!next.areLast)
  }

  /// Attempts that began with load control end with it; then the destination has none any more.
  @Test func loadControlThatIsTurnedOffIsForgottenOnceItIsIdle() throws {
    let destination = destination()
    let ticket = try pass(destination, at: 0)
    _ = destination.ask(DestinationState.Start(), nil, at: time(1)) { { _ in } }
    #expect(destination.takeReports(at: time(2)).overload != nil)
    destination.control(at: time(3)) { $0.answered(ticket, status: 200, at: time(3)) }
    let last = destination.takeReports(at: time(4))
    #expect(last.overload?.served == 1)
    #expect(last.overload?.state == .normal)
    #expect(destination.takeReports(at: time(5)).overload == nil)
  }

  @Test func loadControlThatIsTurnedOnAgainKeepsWhatItKnows() throws {
    let destination = destination()
    let ticket = try pass(destination, at: 0)
    _ = destination.ask(DestinationState.Start(), nil, at: time(1)) { { _ in } }
    _ = try pass(destination, at: 2)
    destination.control(at: time(3)) { $0.answered(ticket, status: 200, at: time(3)) }
    #expect(destination.takeReports(at: time(4)).overload?.used == 1)
  }

  /// A hang that load control has forgotten must not stay on the page for ever.
  @Test func theLastReportOfASilenceSaysThatItIsOver() throws {
    let destination = destination()
    for number in 0..<20 {
      let ticket = try pass(destination, at: Double(number) * 0.1)
      destination.control(at: time(Double(number) * 0.1 + 0.01)) {
        $0.answered(ticket, status: 200, at: time(Double(number) * 0.1 + 0.01))
      }
      destination.release()
    }
    let hung = try (0..<8).map { try pass(destination, at: 2 + Double($0) * 0.3) }
    #expect(destination.takeReports(at: time(8)).overload?.state == .silent)
    for ticket in hung { destination.control(at: time(9)) { $0.ended(ticket, .timedOut, at: time(9)) } }
    let last = destination.takeReports(at: time(700))
    #expect(last.overload?.state == .normal)
    #expect(last.entered == .normal)
    #expect(last.areLast)
    // It is unknown whether the upstream answers again.
    #expect(last.overload?.silence == nil)
  }

  /// Load control has no say in second attempts once it is turned off.
  @Test func hedgesAskNoLoadControlThatIsTurnedOff() throws {
    let destination = destination()
    for number in 0..<20 {
      let ticket = try pass(destination, at: Double(number) * 0.1)
      destination.control(at: time(Double(number) * 0.1 + 0.01)) {
        $0.answered(ticket, status: 200, at: time(Double(number) * 0.1 + 0.01))
      }
      destination.release()
    }
    for number in 0..<7 { _ = try pass(destination, at: 2 + Double(number) * 0.3) }
    destination.release()
    _ = try pass(destination, at: 4.1)
    destination.release()
    #expect(destination.takeReports(at: time(8)).overload?.state == .silent)
    #expect(!destination.hasPlaceBeside)
    _ = destination.ask(nil, nil, at: time(8.1)) { { _ in } }
    destination.release()
    #expect(destination.hasPlaceBeside)
  }
}
