import Testing
import WeirIO

@testable import WeirTransport

/// What the shell asks of the machine beside arrivals and answers.
@Suite("Overload machine: for the shell") struct OverloadShellTests {
  private typealias Line = MachineLine

  private func overloaded() -> Line {
    let line = Line()
    for _ in 0..<6 { line.second(taking: 0.01) }
    line.overload()
    return line
  }

  // MARK: Attempts

  @Test func aHedgeGoesAtOnceAndIsNoArrival() throws {
    let line = overloaded()
    while line.send() != nil {}
    let (arrivals, used, onWire) = (
      line.machine.totals.arrivals, line.machine.inFlight.counted, line.machine.inFlight.onWire
    )
    let hedge = line.machine.joined(at: line.time)
    #expect(line.machine.inFlight.counted == used + 1)
    #expect(line.machine.totals.arrivals == arrivals)
    line.machine.ended(hedge, .withdrawn, at: line.time)
    #expect(line.machine.inFlight.onWire == onWire)
  }

  @Test func whatWasNeverSentLeavesNoTrace() throws {
    let line = Line()
    line.second(taking: 0.01)
    let (before, heads, samples) = (line.machine.recent.present, line.machine.totals.heads, line.machine.window.samples)
    let ticket = try #require(line.send())
    line.now += 0.1
    line.neverSend(ticket)
    let after = line.machine.recent.present
    #expect(line.machine.inFlight.counted == 0)
    #expect(line.machine.inFlight.onWire == 0)
    #expect(line.machine.window.samples == samples)
    #expect(line.machine.window.givenUp == 0)
    #expect(line.machine.totals.heads == heads)
    #expect(after.lost == before.lost)
    #expect(after.inVain == before.inVain)
  }

  @Test func whatWasNeverSentIsNoSilence() throws {
    let line = Line()
    line.second(taking: 0.01)
    for _ in 0..<200 {
      line.now += 0.05
      line.neverSend(try #require(line.send()))
    }
    #expect(!line.machine.silence.isSilent)
  }

  @Test func aWaiterMayBeWithdrawnAsNeverSent() throws {
    let line = Line(slots: 1)
    _ = try #require(line.send())
    let waiter = try #require(line.wait())
    line.neverSend(waiter)
    #expect(line.machine.inFlight.waiting == 0)
    #expect(line.machine.recent.present.lost == 0)
  }

  // MARK: Settings

  @Test func otherSettingsKeepWhatWasLearned() throws {
    let line = overloaded()
    let before = try #require(line.machine.limit)
    let baseline = line.machine.baseline
    line.machine.follow(OverloadSettings(wait: 3, initial: 100, minimum: 50))
    #expect(line.machine.limit?.value == before.value)
    #expect(line.machine.baseline == baseline)
    line.overloadedSecond()
    #expect(try #require(line.machine.limit?.value) >= 50)
  }

  @Test func withoutSilenceASilentUpstreamIsAskedAgain() {
    let line = Line()
    line.second(taking: 0.01)
    for _ in 0..<60 {
      line.now += 0.05
      _ = line.send()
    }
    #expect(line.machine.state == .silent)
    line.machine.follow(OverloadSettings(silence: nil))
    #expect(line.machine.state == .normal)
    line.now += 10
    #expect(line.send() != nil)
  }

  // MARK: Report

  @Test func aReportOfTheFreeMode() throws {
    let line = Line(slots: 64)
    for _ in 0..<4 { line.second(taking: 0.01) }
    _ = try #require(line.send())
    let report = line.machine.takeReport(at: line.time)
    #expect(report.state == .normal)
    #expect(report.limit == 64)
    #expect((report.used, line.machine.inFlight.waiting, line.machine.inFlight.onWire) == (1, 0, 1))
    #expect(abs(try #require(report.baseline) - 0.01) < 1e-6)
    #expect(report.serviceRate == nil)
    #expect((report.offered, report.served, report.shed) == (161, 160, [:]))
    #expect(report.probes == OverloadReport.Probes())
    #expect(Line().machine.takeReport(at: line.time).baseline == nil)
  }

  @Test func aReportOfAnOverload() throws {
    let line = overloaded()
    _ = line.machine.takeReport(at: line.time)
    var refused = 0
    for _ in 0..<100 { if case .refused(.overload) = line.arrive() { refused += 1 } }
    let report = line.machine.takeReport(at: line.time)
    #expect(report.state == .overloaded)
    #expect(report.limit == line.machine.limitInUse)
    #expect(report.used >= report.limit)
    #expect(try #require(report.serviceRate) > 0)
    #expect(refused > 0)
    #expect(report.shed == [.overload: refused])
  }

  @Test func aReportCountsTheTimeThatHasPassedAndChangesNothing() {
    let line = overloaded()
    while line.send() != nil {}
    line.giveUpAll()
    let used = line.machine.inFlight.counted
    #expect(used > 0, "the work of callers that have left")
    line.now += 6
    #expect(line.machine.takeReport(at: line.time).used == 0)
    #expect(line.machine.inFlight.counted == used)
  }

  // MARK: Memory

  @Test func anIdleMachineIsSmall() {
    let line = overloaded()
    let hedges = (0..<200).map { _ in line.machine.joined(at: line.time) }
    for _ in 0..<40 { line.overloadedSecond() }
    for ticket in hedges { line.machine.ended(ticket, .callerGaveUp, at: line.time) }
    line.giveUpAll()
    line.now += 300
    line.machine.woke(at: line.time)
    #expect(line.machine.inFlight.waiting == 0 && line.machine.inFlight.onWire == 0)
    #expect(line.machine.limit == nil)
    #expect(line.machine.bytes <= 3 * 1_024, "\(line.machine.bytes)")
  }
}
