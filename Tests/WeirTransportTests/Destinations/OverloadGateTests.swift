import Testing
import WeirIO

@testable import WeirTransport

@Suite("Load control of a destination") struct OverloadGateTests {
  // MARK: Arrivals

  @Test func aFreeSlotIsTakenAndOthersWaitInTheirOrder() throws {
    let line = GateLine(slots: 2)
    let first = try #require(line.send())
    #expect(line.word() == "through")
    #expect(["a", "b"].map { line.word($0) } == ["waits", "waits"])
    #expect(line.decisions().isEmpty)
    line.answer(first)
    #expect(line.decisions() == ["a through"])
    #expect(line.admission.taken == 2, "the slot is taken with the decision")
    #expect(line.decisions().isEmpty)
  }

  @Test(arguments: [
    (0, ["through", "full"]), (1, ["through", "waits", "full"]), (2, ["through", "waits", "waits", "full"]),
  ])
  func aFullQueueTakesNoMore(maximum: Int, words: [String]) {
    let line = GateLine(slots: 1, waiting: maximum)
    #expect(words.map { _ in line.word() } == words)
  }

  @Test func aQueueWithoutPlacesLetsThroughWhatNeedsNone() throws {
    let line = GateLine(slots: 1, waiting: 0)
    for _ in 0..<3 {
      let ticket = try #require(line.send())
      #expect(line.word() == "full")
      line.answer(ticket)
    }
  }

  @Test func aQueueWithoutPlacesSeesThatAbandonedWorkHasEnded() throws {
    let line = GateLine(slots: 512, waiting: 0)
    line.overload()
    let tickets = line.fill()
    #expect(line.word() == "full")
    for ticket in tickets { line.giveUp(ticket) }
    #expect(line.word() == "full", "the upstream still works for those that have left")
    line.now += 6
    #expect(line.word() == "through")
  }

  @Test func anOverloadRefusesAtOnceWhoWouldWaitTooLong() throws {
    let line = GateLine()
    line.overload()
    var words: Set<String> = []
    for _ in 0..<1_000 { words.insert(line.word()) }
    #expect(words == ["through", "waits", "overload"])
    #expect(line.word(timeout: 0.001) == "overload", "its caller would have left")
  }

  @Test func whoWaitsForTooLongIsRefused() throws {
    let line = GateLine()
    line.overload()
    _ = line.fill()
    var waiters = 0
    while line.wait("w") != nil { waiters += 1 }
    #expect(waiters > 0)
    line.now += 2
    line.gate.machine.woke(at: line.time)
    let decisions = line.decisions()
    #expect(decisions.count == waiters)
    #expect(Set(decisions).isSubset(of: ["w waited", "w through"]) && decisions.contains("w waited"))
    #expect(line.gate.nextWake == nil)
  }

  @Test func priorityCountsOnlyWhereItIsOn() throws {
    for (isOn, order) in [(true, ["high through", "low through"]), (false, ["low through", "high through"])] {
      let line = GateLine(OverloadSettings(priority: isOn), slots: 2)
      let tickets = [try #require(line.send()), try #require(line.send())]
      #expect(line.word("low", priority: 7) == "waits")
      #expect(line.word("high", priority: 0) == "waits")
      var decisions: [String] = []
      for ticket in tickets {
        line.answer(ticket)
        decisions += line.decisions()
      }
      #expect(decisions == order)
    }
  }

  @Test func aSilentUpstreamIsAskedTwiceASecond() {
    for maximum in [0, 10_000] {
      let line = GateLine(waiting: maximum)
      line.fallSilent()
      #expect(line.gate.machine.state == .silent)
      var words: [String] = []
      for _ in 0..<20 {
        words.append(line.word())
        line.now += 0.1
      }
      let through = words.count { $0 == "through" }
      #expect((3...4).contains(through), "\(words)")
      #expect(words.count { $0 == "silent" } == 20 - through)
    }
  }

  @Test func aSilenceRefusesThoseWhoWait() throws {
    let line = GateLine(slots: 8)
    line.learn()
    let first = try (0..<4).map { _ in try #require(line.send()) }
    line.now += 1.1
    let last = try (0..<4).map { _ in try #require(line.send()) }
    #expect(line.word("w") == "waits")
    line.now += 2.5
    line.gate.machine.woke(at: line.time)
    #expect(line.gate.machine.state == .silent)
    #expect(line.decisions() == [], "no caller has left")
    for ticket in first + last { line.giveUp(ticket) }
    line.now += 0.5
    line.gate.machine.woke(at: line.time)
    #expect(line.decisions() == ["w silent"])
  }

  // MARK: Leaving

  @Test func whoLeavesBeforeTheDecisionGetsItsWaiterBack() throws {
    let line = GateLine(slots: 1)
    let first = try #require(line.send())
    let waiter = try #require(line.wait("w"))
    #expect(line.gate.nextWake != nil)
    #expect(line.gate.leave(waiter, .callerGaveUp, at: line.time) != nil)
    #expect(line.gate.leave(waiter, .callerGaveUp, at: line.time) == nil)
    line.answer(first)
    #expect(line.decisions().isEmpty)
    #expect(line.gate.nextWake == nil && line.gate.isIdle)
    #expect(line.gate.machine.recent.present.inVain == 1)
  }

  @Test(arguments: [AttemptEnding.callerGaveUp, .timedOut, .withdrawn, .failed])
  func onlyCallersThatWaitedInVainAreLosses(ending: AttemptEnding) throws {
    let line = GateLine(slots: 1)
    _ = try #require(line.send())
    let waiter = try #require(line.wait())
    #expect(line.gate.leave(waiter, ending, at: line.time) != nil)
    #expect(line.gate.machine.recent.present.lost == ([.callerGaveUp, .timedOut].contains(ending) ? 1 : 0))
  }

  @Test func whoLeavesAfterTheDecisionWasNeverSent() throws {
    let line = GateLine(slots: 1)
    line.answer(try #require(line.send()))
    let first = try #require(line.send())
    let waiter = try #require(line.wait("w"))
    line.answer(first)
    #expect(line.decisions() == ["w through"])
    let lost = line.gate.machine.recent.present.lost
    #expect(line.gate.leave(waiter, .callerGaveUp, at: line.time) == nil)
    #expect(line.gate.machine.inFlight.onWire == 0)
    #expect(line.gate.machine.recent.present.lost == lost)
    #expect(line.admission.taken == 1, "its slot comes and goes back")
  }

  @Test func whoIsNeverSentLeavesItsPlaceToTheNext() throws {
    let line = GateLine()
    line.overload()
    let last = line.fill().last
    #expect(line.word("w") == "waits")
    #expect(line.decisions().isEmpty)
    line.gate.machine.neverSent(try #require(last), at: line.time)
    #expect(line.decisions() == ["w through"])
  }

  @Test func anUploadCountsFromTheEndOfItsBody() throws {
    let line = GateLine()
    let ticket = try #require(line.send())
    line.gate.machine.uploads(ticket)
    #expect(line.gate.machine.inFlight.counted == 0)
    #expect(!line.gate.isIdle, "it is on the wire")
    line.gate.machine.hasUploaded(ticket, at: line.time)
    #expect(line.gate.machine.inFlight.counted == 1)
    line.answer(ticket)
    #expect(line.gate.isIdle)
  }

  // MARK: States and reports

  @Test func aNewStateIsToldOnce() {
    let line = GateLine()
    #expect(line.gate.takeNewState() == nil, "it is normal at first")
    line.overload()
    #expect(line.gate.takeNewState() == .overloaded)
    #expect(line.gate.takeNewState() == nil)
    line.now += 120
    line.gate.machine.woke(at: line.time)
    #expect(line.gate.takeNewState() == .normal)
    #expect(line.gate.takeNewState() == nil)
  }

  @Test func reportsAreDifferences() throws {
    let line = GateLine(slots: 64)
    line.learn()
    var report = line.gate.machine.takeReport(at: line.time)
    #expect((report.state, report.limit, report.used) == (.normal, 64, 0))
    #expect((report.offered, report.served) == (240, 240))
    #expect(report.serviceRate == nil && report.shed.isEmpty)
    #expect(abs(try #require(report.baseline) - 0.01) < 1e-6)
    _ = line.send()
    report = line.gate.machine.takeReport(at: line.time)
    #expect((report.used, report.offered, report.served) == (1, 1, 0))
    report = line.gate.machine.takeReport(at: line.time)
    #expect((report.used, report.offered, report.served) == (1, 0, 0))
  }

  /// A silence begins with the first request after the last answer, and its length is told once after its end.
  @Test func reportsTellHowLongASilenceIs() throws {
    let line = GateLine()
    line.fallSilent()
    func seconds() -> Double? { line.gate.machine.takeReport(at: line.time).silence.map { ($0 * 100).rounded() / 100 } }
    // The first of sixty requests, 50 ms apart, whose callers left half a second after the last.
    #expect(seconds() == 3.45)
    line.now += 2
    #expect(seconds() == 5.45)
    line.answer(try #require(line.send(), "one each half second is let through"))
    line.now += 1
    #expect(seconds() == 5.45)
    #expect(seconds() == nil)
  }

  @Test func reportsCountRefusalsByReason() {
    let line = GateLine()
    line.fallSilent()
    _ = line.gate.machine.takeReport(at: line.time)
    let refused = (0..<10).count { _ in line.word() == "silent" }
    let report = line.gate.machine.takeReport(at: line.time)
    #expect(report.state == .silent)
    #expect(refused >= 9 && report.shed == [.silent: refused])
    #expect(report.offered == 10)
    #expect(line.gate.machine.takeReport(at: line.time).shed.isEmpty)
  }

  @Test func reportsShowProbes() {
    let line = GateLine()
    line.overload()
    _ = line.gate.machine.takeReport(at: line.time)
    var probes = 0
    var under: [GateLine.Ticket] = []
    // The limit is always reached, and 40 requests are answered a second, for a minute.
    for _ in 0..<1_200 {
      under += line.fill()
      line.now += 0.05
      line.gate.machine.woke(at: line.time)
      for ticket in under.prefix(2) { line.answer(ticket) }
      under.removeFirst(min(2, under.count))
      let report = line.gate.machine.takeReport(at: line.time)
      probes += report.probes.faster + report.probes.same + report.probes.aborted
    }
    let all = line.gate.machine.totals.probes
    #expect(probes > 0 && probes == all.faster + all.same + all.aborted)
  }
}
