import Testing
import WeirIO

@testable import WeirTransport

@Suite("Overload machine") struct OverloadMachineTests {
  private typealias Line = MachineLine

  @Test func theDefaults() {
    #expect(OverloadSettings.default == OverloadSettings(wait: 1.5, waitOverloaded: 0.1, initial: 8, minimum: 2))
    let settings = OverloadSettings(
      wait: .nan, waitOverloaded: 9, initial: 1_000, minimum: -1, tolerance: 0, silence: 1e9)
    #expect(settings.boundedWait == 0.01)
    #expect(settings.boundedWaitOverloaded == 0.01)
    #expect(settings.boundedInitial == 512)
    #expect(settings.boundedMinimum == 1)
    #expect(settings.boundedTolerance == 1.1)
    #expect(settings.boundedSilence == 60)
    #expect(OverloadSettings(silence: nil).boundedSilence == .infinity)
  }

  @Test func freeOnlyTheSlotsAreALimit() throws {
    let line = Line(slots: 2)
    let first = try #require(line.send())
    _ = try #require(line.send())
    let waiter = try #require(line.wait())
    line.now = 1_000
    line.machine.woke(at: line.time)
    #expect(line.verdicts().isEmpty, "no bound but the shell's own")
    line.answer(first)
    #expect(line.verdicts() == [OverloadMachine.Verdict(ticket: waiter)])
    #expect(line.machine.nextWake == nil)
  }

  @Test func slowAnswersWithoutLossesChangeNothing() {
    let line = Line()
    for _ in 0..<5 { line.second(taking: 0.01) }
    for _ in 0..<5 { line.second(taking: 1) }
    #expect(line.machine.limit == nil)
  }

  @Test func lossesWithoutSlowAnswersChangeNothing() throws {
    let line = Line()
    for _ in 0..<200 {
      let (answered, left) = (try #require(line.send()), try #require(line.send()))
      line.now += 0.02
      line.answer(answered)
      line.giveUp(left)
    }
    #expect(line.machine.limit == nil)
  }

  @Test func itControlsWhenCallersLoseAndAnswersAreSlow() {
    let line = Line()
    for _ in 0..<6 { line.second(taking: 0.01) }
    line.overload()
    #expect(line.machine.limit != nil)
    #expect(line.machine.overloadedSince != nil)
    #expect(line.machine.callerTimeout.seconds == 2)
  }

  @Test func itIsFreeAgainWhenTheLimitIsNotNeeded() {
    let line = Line()
    for _ in 0..<6 { line.second(taking: 0.01) }
    line.overload()
    for _ in 0..<25 { line.second(taking: 0.01) }
    #expect(line.machine.limit == nil)
  }

  @Test func whoWaitsHasABoundAndKeepsIt() throws {
    let line = Line()
    for _ in 0..<6 { line.second(taking: 0.01) }
    line.overload()
    var waiter: OverloadMachine.Ticket?
    while waiter == nil, line.freeSlots > 0 { if case .waits(let ticket) = line.arrive() { waiter = ticket } }
    let wake = try #require(line.machine.nextWake)
    #expect(wake.seconds(since: line.time) <= 0.1)
    line.now += 0.101
    line.machine.woke(at: line.time)
    #expect(line.verdicts() == [OverloadMachine.Verdict(ticket: try #require(waiter), refusal: .waited)])
  }

  @Test func anAnnouncedTimeoutIsABound() {
    let line = Line()
    for _ in 0..<6 { line.second(taking: 0.01) }
    line.overload()
    while line.send() != nil {}
    #expect(line.arrive(timeout: -1) == .refused(.overload))
  }

  @Test func thoseOfHigherPriorityAreServedFirst() throws {
    let line = Line(OverloadSettings(priority: true), slots: 1)
    let first = try #require(line.send())
    let tickets = try [5, 3, 0, 3].map { try #require(line.wait(priority: $0)) }
    line.answer(first)
    var order: [OverloadMachine.Ticket] = []
    while let verdict = line.verdicts().first, verdict.refusal == nil {
      order.append(verdict.ticket)
      line.answer(verdict.ticket)
    }
    #expect(order == [tickets[2], tickets[1], tickets[3], tickets[0]])
  }

  @Test func withoutPriorityTheFirstIsServedFirst() throws {
    let line = Line(slots: 1)
    let first = try #require(line.send())
    let tickets = try [5, 0].map { try #require(line.wait(priority: $0)) }
    line.answer(first)
    #expect(line.verdicts() == [OverloadMachine.Verdict(ticket: tickets[0])])
  }

  /// An upstream that has been silent for three seconds; the requests that it has not answered.
  private func silent() -> (Line, open: [OverloadMachine.Ticket]) {
    let line = Line()
    line.second(taking: 0.01)
    let open = (0..<60).compactMap { _ in
      line.now += 0.05
      return line.send()
    }
    return (line, open)
  }

  @Test func aSilentUpstreamIsAskedAsLongAsCallersWait() {
    let (line, open) = silent()
    #expect(line.machine.state == .silent)
    #expect(open.count == 60)
    for ticket in open.prefix(4) { line.giveUp(ticket) }
    line.now += 0.5
    #expect(line.send() != nil)
    #expect(!line.machine.silence.refuses)
  }

  /// What waits, since the silent ones have all slots, is evidence as well.
  @Test(arguments: [512, 64, 8, 4], [(40.0, true), (21, true), (15, false)])
  func aHangIsRefusedUnlessItMayBeALull(slots: Int, load: (perSecond: Double, isHang: Bool)) throws {
    let line = Line(slots: slots)
    for _ in 0..<3 { line.second(taking: 0.01) }
    let begin = line.now
    var refusedAfter: Double?
    while line.now < begin + 12 {
      line.now += 1 / load.perSecond
      if case .refused = line.arrive(), refusedAfter == nil { refusedAfter = line.now - begin }
    }
    #expect(line.machine.state == .silent)
    guard load.isHang else { return #expect(refusedAfter == nil) }
    #expect((5.2...5.4).contains(try #require(refusedAfter)))
    _ = line.verdicts()
    #expect(line.waiting.isEmpty)
  }

  /// The last answer before the hang lets one go, and no more.
  @Test func aHangIsRefusedWhereOthersWaitedBefore() throws {
    let line = Line(slots: 4)
    for _ in 0..<3 { line.second(taking: 0.01) }
    for _ in 0..<10 { _ = line.arrive() }
    line.now += 0.01
    line.answer(try #require(line.onWire.first))
    #expect(line.verdicts().count == 1)
    let begin = line.now
    var refusedAfter: Double?
    while line.now < begin + 12 {
      line.now += 0.025
      if case .refused = line.arrive(), refusedAfter == nil { refusedAfter = line.now - begin }
    }
    #expect((5.2...5.4).contains(try #require(refusedAfter)))
  }

  @Test func aFewThatLeaveAreNoReasonToRefuseTheOthers() {
    let (line, open) = silent()
    line.now += 1
    for ticket in open.suffix(12) { line.giveUp(ticket) }
    line.now += 0.5
    #expect(line.send() != nil, "those sent before them still wait")
  }

  @Test func aSilenceOfWhichNobodyAsksIsForgotten() throws {
    let (line, open) = silent()
    for ticket in open { line.giveUp(ticket) }
    line.now += 0.5
    #expect(line.machine.takeReport(at: line.time).state == .silent)
    line.now += 14
    line.machine.woke(at: line.time)
    #expect(line.machine.state == .normal)
    for _ in 0..<50 { #expect(line.send() != nil) }
  }

  @Test func aSilentUpstreamGetsOneRequestEachHalfSecond() throws {
    let (line, open) = silent()
    for ticket in open { line.giveUp(ticket) }
    line.now += 0.5
    line.machine.woke(at: line.time)
    #expect(line.machine.silence.refuses)
    let before = line.now
    var through: [OverloadMachine.Ticket] = []
    while line.now < before + 5 {
      line.now += 0.05
      if let ticket = line.send() { through.append(ticket) }
    }
    #expect((9...11).contains(through.count), "\(through.count)")
    line.answer(try #require(through.last))
    #expect(!line.machine.silence.isSilent)
    #expect(line.send() != nil)
    #expect(!open.isEmpty)
  }

  @Test func aSlowAnswerThatEndsASilenceIsNoOverload() throws {
    let (line, open) = silent()
    for ticket in open { line.giveUp(ticket) }
    line.now += 0.5
    line.machine.woke(at: line.time)
    line.now += 0.5
    let last = try #require(line.send())
    line.now += 0.1
    line.answer(last)
    line.now += 0.5
    line.machine.woke(at: line.time)
    #expect(line.machine.state == .normal)
    #expect(line.machine.limit == nil)
  }

  @Test func longPollsOpenedAtOnceAreNoSilence() {
    let line = Line()
    line.second(taking: 0.01)
    for _ in 0..<50 { _ = line.send() }
    line.now += 60
    #expect(line.send() != nil)
    #expect(!line.machine.silence.isSilent)
  }

  @Test func whatIsUploadedDoesNotCount() throws {
    let line = Line()
    let ticket = try #require(line.send())
    #expect(line.machine.inFlight.counted == 1)
    line.machine.uploads(ticket)
    #expect(line.machine.inFlight.counted == 0)
    line.now += 10
    line.machine.hasUploaded(ticket, at: line.time)
    #expect(line.machine.inFlight.counted == 1)
    line.now += 0.1
    line.answer(ticket)
    #expect(abs(line.machine.window.mean - 0.1) < 1e-6)
  }

  @Test func whatWasOvertakenCountsNoMore() throws {
    let line = Line()
    let poll = try #require(line.send())
    line.now += 0.5
    line.answer(try #require(line.send()))
    #expect(line.machine.inFlight.counted == 1)
    line.now += 0.6
    line.answer(try #require(line.send()))
    #expect(line.machine.inFlight.counted == 0)
    line.answer(poll)
    #expect(line.machine.inFlight.onWire == 0)
  }

  @Test func anOldTicketIsOfNoAccount() throws {
    let line = Line()
    let ticket = try #require(line.send())
    line.answer(ticket)
    line.machine.answered(ticket, status: 200, at: line.time)
    line.machine.ended(ticket, .callerGaveUp, at: line.time)
    line.machine.ended(ticket, .failed, at: line.time)
    #expect(line.machine.inFlight.counted == 0)
  }

  @Test func anOlderTimeCountsAsThePresent() throws {
    let line = Line()
    line.now = 10
    let ticket = try #require(line.send())
    line.machine.answered(ticket, status: 200, at: Line.time(9))
    #expect(line.machine.window.mean == 0)
    #expect(line.machine.window.samples == 1)
  }
}
