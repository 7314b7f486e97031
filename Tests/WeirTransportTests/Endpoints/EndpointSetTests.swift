import Testing
import WeirIO

@testable import WeirTransport

@Suite("Set of endpoints", .timeLimit(.minutes(5))) struct EndpointSetTests {
  // MARK: Updates

  @Test func theSameEndpointsInAnotherOrderAreNoChange() {
    let line = EndpointLine(3)
    #expect(line.set.generation == 1)
    #expect(!line.update([.p(2), .p(0), .p(1), .p(0)]))
    #expect(line.set.generation == 1)
    #expect(line.update([.p(2), .p(0)]))
    #expect(line.set.endpoints.map(\.name) == [name(0), name(2)])
    line.settings.connections = 5
    #expect(line.update([.p(2), .p(0)]))
    #expect(line.set.settings.connections == 5)
  }

  @Test func anEndpointThatStaysKeepsItsHistory() {
    let line = EndpointLine(4)
    let kept = line[2]
    line.occupy(2)
    line.eject(2)
    line.update([.p(2, weight: 5), .p(3), .p(9)])
    #expect(line[0] === kept)
    #expect(kept.active == 1)
    #expect(line.state(0) == .ejected)
    #expect(line.picked() == [name(3), name(9)])
    line.now = 11
    #expect(line.end(.answered(firstByteAfter: 0.1), 0)?.kind == .returned)
  }

  @Test(arguments: [(59.0, true), (60, false)]) func oneThatIsBackInTimeToo(_ seconds: Double, _ isKept: Bool) {
    let line = EndpointLine(2, EndpointSettings(outlier: OutlierSettings(ejectFor: 3600, longest: 3600)))
    let gone = line[0]
    line.eject(0)
    line.update([.p(1)])
    #expect(line.end(.answered(firstByteAfter: 1), 0) == nil)
    #expect(line.set.ended(.failed(after: 1), of: gone, began: line.time, at: line.time) == nil)
    line.now = seconds
    line.update([.p(0), .p(1)])
    #expect((line[0] === gone) == isKept)
    #expect(line.state(0) == (isKept ? .ejected : .slowStart))
  }

  /// The slices of another window have other numbers, which would make all counts of its priority stay for good.
  @Test(arguments: [(10.0, 20.0), (20, 10)])
  func oneThatIsBackCountsByTheWindowInUse(_ before: Double, _ after: Double) {
    let line = EndpointLine(3, EndpointSettings(outlier: OutlierSettings(window: before)))
    line.update([.p(1), .p(2)])
    line.settings.outlier?.window = after
    line.update([.p(1), .p(2)])
    line.now = 30
    line.update([.p(0), .p(1), .p(2)])
    for number in 0..<100 {
      line.end(.answered(firstByteAfter: 0.1), 1)
      line.end(number % 10 == 0 ? .failed(after: 0.1) : .answered(firstByteAfter: 0.1), 2)
    }
    line.now = 130
    #expect(line.fail(1, times: 4).isEmpty)
    #expect(line.fail(1).count == 1, "all earlier attempts have left the window")
  }

  @Test func onlyTheFirstBeginAtOnce() {
    let line = EndpointLine(2)
    #expect(line.state(0) == .available)
    line.update([.p(0), .p(1), .p(2)])
    #expect((0..<3).map(line.state) == [.available, .available, .slowStart])
    line.now = 10
    #expect(line.state(2) == .available)
    line.settings.slowStart = nil
    line.update([.p(0), .p(3)])
    #expect(line.state(1) == .available)
  }

  @Test func withoutOutlierSettingsAllReturn() {
    let line = EndpointLine(2)
    line.eject(0)
    #expect(line.state(0) == .ejected)
    line.settings.outlier = nil
    line.update([.p(0), .p(1)])
    #expect(line.state(0) == .available)
    #expect(line.fail(0, times: 100).isEmpty)
  }

  @Test func anotherPriorityIsAnotherCount() {
    let line = EndpointLine([.p(0), .p(1), .p(2, priority: 1)])
    line.end(.answered(firstByteAfter: 0.1), 1)
    line.eject(0)
    #expect(line.fail(1, times: 9).isEmpty, "half of two is one")
    #expect(line.fail(2, times: 9).isEmpty, "the only one of its priority")
    line.update([.p(0), .p(1), .p(2)])
    #expect(line.fail(2, times: 9).isEmpty, "half of three is one")
    #expect(line.picked() == [name(1), name(2)])
  }

  // MARK: Ejections

  @Test func anEjectionIsTold() {
    let line = EndpointLine(3)
    line.end(.answered(firstByteAfter: 0.1), 1)
    let events = line.fail(0, times: 5)
    #expect(events.count == 1)
    guard case .ejected(.consecutive, let seconds)? = events.first?.kind else {
      Issue.record("\(events)")
      return
    }
    #expect((9...11).contains(seconds))
    #expect(events.first?.endpoint == name(0))
    #expect(line.picked() == [name(1), name(2)])
    line.now = 12
    #expect(line.end(.answered(firstByteAfter: 0.1), 0) == EndpointEvent(endpoint: name(0), kind: .returned))
    #expect(line.state(0) == .slowStart)
  }

  @Test func afterAnEjectionOneRequestAtATimeGoesThere() {
    let line = EndpointLine(3)
    line.eject(0)
    line.now = 12
    let trials = (0..<400).count { _ in line.pick()?.name == name(0) }
    #expect(trials == 1)
    let began = line.now
    line.now += 0.1
    line.end(.withdrawn, 0, began: began)
    #expect(line.picked().contains(name(0)), "the trial said nothing")
    #expect(!line.picked().contains(name(0)))
    line.now += 31
    #expect(line.picked().contains(name(0)), "the trial never ended")
    line.now += 0.1
    #expect(line.end(.failed(after: 0.1), 0) != nil)
    #expect(!line.picked().contains(name(0)))
  }

  @Test func aTrialIsMadeThoughNoneOfThePriorityIsAvailable() {
    let line = EndpointLine([.p(0), .p(1), .p(2, priority: 1)])
    line.eject(0)
    line.check(1, good: false, times: 3)
    #expect(line.picked() == [name(2)])
    line.now = 12
    #expect(line.pick()?.name == name(0))
    #expect(line.picked() == [name(2)])
  }

  @Test func aGoodCheckEndsAnEjection() {
    let line = EndpointLine(2)
    line.eject(0)
    #expect(line.check(0, good: true) == [EndpointEvent(endpoint: name(0), kind: .returned)])
    #expect(line.check(0, good: true).isEmpty)
    #expect(line.state(0) == .slowStart)
  }

  @Test func checksMakeUnhealthyAndHealthyAgain() {
    let line = EndpointLine(2)
    #expect(line.check(0, good: false, times: 5) == [EndpointEvent(endpoint: name(0), kind: .unhealthy)])
    #expect(line.state(0) == .unhealthy)
    #expect(line.check(0, good: true, times: 2) == [EndpointEvent(endpoint: name(0), kind: .healthy)])
    #expect(line.state(0) == .slowStart)
    line.check(1, good: false, times: 3)
    line.set.forgetChecks(at: line.time)
    #expect(line.state(1) == .slowStart)
    #expect(line.picked() == [name(0), name(1)])
  }

  @Test func withoutChecksOneThatWasAwayIsHealthyToo() {
    let line = EndpointLine(2)
    line.check(0, good: false, times: 3)
    line.update([.p(1)])
    line.update([.p(0), .p(1)])
    #expect(line.state(0) == .unhealthy, "it keeps its history")
    line.update([.p(1)])
    line.set.forgetChecks(at: line.time)
    line.update([.p(0), .p(1)])
    #expect(line.state(0) == .slowStart)
    #expect(line.picked() == [name(0), name(1)])
  }

  // MARK: Give-ups and slow endpoints

  /// The wait, the others' latency, and whether it is a failure.
  @Test(arguments: [(0.9, 0.1, false), (1.1, 0.1, true), (1.1, 0.3, false), (1.3, 0.3, true)])
  func aLongWaitThatWasGivenUpIsAFailure(_ wait: Double, _ latency: Double, _ isFailure: Bool) {
    let line = EndpointLine(2)
    line.now = 1_000
    line.end(.answered(firstByteAfter: latency), 1)
    for _ in 0..<5 { line.end(.givenUp(after: wait), 0) }
    #expect((line.state(0) == .ejected) == isFailure)
    #expect(line.set.report(at: line.time).endpoints[0].failures == (isFailure ? 5 : 0))
  }

  @Test func aWaitWithoutAnyAnswerElsewhereSaysNothing() {
    let line = EndpointLine(2)
    for _ in 0..<5 { line.end(.givenUp(after: 60), 0) }
    #expect(line.state(0) == .available)
  }

  @Test func anEndpointOverFourTimesTheOthersIsMuchSlower() {
    let line = EndpointLine(3)
    line.now = 1_000
    line.end(.answered(firstByteAfter: 0.1), 1)
    line.end(.answered(firstByteAfter: 0.1), 2)
    line.end(.answered(firstByteAfter: 0.41), 0)
    #expect((0..<3).map { line[$0].isMuchSlower(at: line.time) } == [true, false, false])
    line.check(1, good: false, times: 3)
    #expect(line[0].isMuchSlower(at: line.time))
    line.check(2, good: false, times: 3)
    #expect(!line[0].isMuchSlower(at: line.time), "there is no other")
    line.check(1, good: true, times: 2)
    line.now += 100
    #expect(!line[0].isMuchSlower(at: line.time), "it was not used for long")
  }

  @Test func anEndpointThatIsOutDoesNotCountForTheMean() {
    let line = EndpointLine(3)
    line.now = 1_000
    line.end(.answered(firstByteAfter: 9), 0)
    line.end(.answered(firstByteAfter: 0.1), 1)
    line.check(0, good: false, times: 3)
    let latencies = line.set.report(at: line.time).endpoints.compactMap(\.latency)
    #expect(latencies.map { ($0 * 1_000).rounded() } == [9_000, 100, 100])
  }

  // MARK: Reports

  @Test func theReportHasAllNumbers() {
    let line = EndpointLine(4)
    line.now = 1_000
    for index in 1..<4 { line.end(.answered(firstByteAfter: 0.5), index) }
    line.occupy(1, times: 2)
    line.eject(0)
    line.check(3, good: false, times: 3)
    line.update((0..<5).map { .p($0) })
    let report = line.set.report(at: line.time)
    #expect(EndpointReport.State.allCases.map(report.count) == [2, 1, 1, 1])
    #expect(report.endpoints.map(\.name) == (0..<5).map(name))
    #expect(report.endpoints.map(\.active) == [0, 2, 0, 0, 0])
    #expect(report.endpoints.map(\.successes) == [0, 1, 1, 1, 0])
    #expect(report.endpoints.map(\.failures) == [5, 0, 0, 0, 0])
    #expect(report.endpoints[0].ejections == [.consecutive: 1, .ratio: 0, .retryAfter: 0])
    #expect(report.endpoints[4].latency == 0.5)
  }
}

extension EndpointSpec {
  fileprivate static func p(_ number: Int, weight: Int = 1, priority: Int = 0) -> EndpointSpec {
    EndpointLine.spec(number, weight: weight, priority: priority)
  }
}
