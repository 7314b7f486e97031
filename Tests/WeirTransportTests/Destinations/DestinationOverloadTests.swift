import Synchronization
import Testing
import WeirIO

@testable import WeirTransport

/// A destination with load control: what it keeps, and for how long.
@Suite("Destinations with load control") struct DestinationOverloadTests {
  private static let begin = MonotonicTime(nanoseconds: 1_000_000_000_000)

  private static func at(_ seconds: Double) -> MonotonicTime { begin.advanced(bySeconds: seconds) }

  private static func state(slots: Int = 64) -> DestinationState {
    DestinationState(
      destination: Destination(scheme: "http", host: "h", port: 80), slots: slots, maximumWaiting: 10_000, now: begin)
  }

  private static func caller(_ settings: OverloadSettings = .default) -> OverloadGate.Caller {
    OverloadGate.Caller(settings: settings, priority: 3, timeout: nil)
  }

  private static func send(
    _ state: DestinationState, at seconds: Double, start: DestinationState.Start? = nil
  ) -> OverloadMachine.Ticket? {
    guard case .granted(let ticket) = state.ask(start, caller(), at: at(seconds), { { _ in } }).decision else {
      return nil
    }
    return ticket
  }

  private static func hasGate(_ state: DestinationState) -> Bool { state.fields.withLock { $0.gate != nil } }

  // MARK: The time of load control

  @Test func itBeginsWithTheFirstRequestThatAsksForIt() throws {
    let state = Self.state()
    guard case .granted(nil) = state.ask(DestinationState.Start(), nil, at: Self.at(0), { { _ in } }).decision else {
      Issue.record("no slot without load control")
      return
    }
    #expect(!Self.hasGate(state))
    #expect(state.joinsOverload(at: Self.at(0)) == nil)
    #expect(Self.send(state, at: 1) != nil)
    #expect(Self.hasGate(state))
    #expect(state.occupancy == [2, 0, 0])
  }

  @Test func itIsReportedUntilNoRequestHasComeForTenMinutes() throws {
    let state = Self.state()
    var answer = state.ask(DestinationState.Start(), Self.caller(), at: Self.at(0)) { { _ in } }
    #expect(answer.beginsWatch, "also for a session without monitors, as the machine has to see that time passes")
    guard case .granted(let ticket?) = answer.decision else {
      Issue.record("no slot")
      return
    }
    state.control(at: Self.at(0.1)) { $0.answered(ticket, status: 200, at: Self.at(0.1)) }
    state.release()
    for seconds in 1..<600 {
      let reports = state.takeReports(at: Self.at(Double(seconds)))
      #expect(!reports.areLast && reports.overload != nil && reports.entered == nil)
    }
    #expect(Self.hasGate(state))
    let last = state.takeReports(at: Self.at(600))
    #expect(last.areLast)
    #expect(!Self.hasGate(state))
    answer = state.ask(DestinationState.Start(), Self.caller(), at: Self.at(601)) { { _ in } }
    #expect(answer.beginsWatch && Self.hasGate(state))
  }

  @Test func theBudgetIsReportedUntilItIsFullAgain() throws {
    let state = Self.state()
    let budget = RetryBudget(ratio: 0, minimumPerSecond: 1, burst: 2, window: 3)
    state.reportsRetries(of: budget)
    let ticket = try #require(Self.send(state, at: 0, start: DestinationState.Start()))
    state.control(at: Self.at(0.1)) { $0.answered(ticket, status: 200, at: Self.at(0.1)) }
    state.release()
    #expect(state.grantsRetry(by: budget, at: Self.at(0.2)))
    let told = (1...20).map { state.takeReports(at: Self.at(Double($0))).availableRetries }
    let last = try #require(told.lastIndex { $0 != nil })
    #expect(last < 6 && told[last] == 3, "\(told)")
    #expect(told[..<last].allSatisfy { $0 != nil && $0 != 3 }, "one report tells that it is full")
  }

  @Test func itStaysWhileAnAttemptIsOnTheWire() throws {
    let state = Self.state()
    let ticket = try #require(Self.send(state, at: 0))
    #expect(!state.takeReports(at: Self.at(1_000)).areLast)
    #expect(Self.hasGate(state))
    state.control(at: Self.at(1_001)) { $0.answered(ticket, status: 200, at: Self.at(1_001)) }
    state.release()
    #expect(state.takeReports(at: Self.at(1_002)).areLast)
    #expect(!Self.hasGate(state))
  }

  @Test func itEndsInTheNormalState() throws {
    let state = Self.state()
    var open: [OverloadMachine.Ticket] = []
    for step in 0..<240 {
      let ticket = try #require(Self.send(state, at: Double(step) * 0.025))
      state.control(at: Self.at(Double(step) * 0.025 + 0.01)) {
        $0.answered(ticket, status: 200, at: Self.at(Double(step) * 0.025 + 0.01))
      }
      state.release()
    }
    for step in 0..<40 { Self.send(state, at: 6 + 0.05 * Double(step)).map { open.append($0) } }
    #expect(state.takeReports(at: Self.at(11)).entered == .silent)
    #expect(state.takeReports(at: Self.at(12)).entered == nil)
    for ticket in open {
      state.control(at: Self.at(13)) { $0.ended(ticket, .withdrawn, at: Self.at(13)) }
      state.release()
    }
    let last = state.takeReports(at: Self.at(700))
    #expect(last.entered == .normal && last.areLast)
    #expect(state.allowsRetry)
  }

  // MARK: Memory

  /// A burst in which thousands wait, and most of them leave.
  private static func burst(_ state: DestinationState, from begin: Double) {
    var waiting: [OverloadMachine.Ticket] = []
    var plain: [UInt64] = []
    var sent: [OverloadMachine.Ticket] = []
    for number in 0..<6_000 {
      let now = at(begin + Double(number) * 0.0001)
      switch state.ask(DestinationState.Start(), caller(), at: now, { { _ in } }).decision {
      case .granted(let ticket?): sent.append(ticket)
      case .waiting(.controlled(let ticket)): waiting.append(ticket)
      case .waiting(.first(let ticket)): plain.append(ticket)
      case .granted, .waiting, .queueFull, .refused: break
      }
    }
    for ticket in waiting { state.withdraw(.controlled(ticket), .callerGaveUp, at: at(begin + 2)) }
    for ticket in plain { state.withdraw(.first(ticket), .callerGaveUp, at: at(begin + 2)) }
    for ticket in sent { state.control(at: at(begin + 2)) { $0.answered(ticket, status: 200, at: at(begin + 2)) } }
    while state.occupancy[0] > 0 { state.release() }
  }

  @Test func itIsSmallAfterABurst() {
    let state = Self.state(slots: 512)
    Self.burst(state, from: 0)
    #expect(state.occupancy == [0, 0, 0])
    _ = state.takeReports(at: Self.at(100))
    let control = state.fields.withLock { $0.gate.map { MemoryLayout<OverloadGate>.size + storedBytes(in: $0) } }
    #expect((1...3_072).contains(control ?? 0), "\(control ?? 0) bytes of load control")
    #expect(state.takeReports(at: Self.at(700)).areLast)
    let all = state.fields.withLock { MemoryLayout<DestinationState.Fields>.size + storedBytes(in: $0) }
    #expect((1...4_096).contains(all), "\(all) bytes in all, most of which count retries")
  }
}
