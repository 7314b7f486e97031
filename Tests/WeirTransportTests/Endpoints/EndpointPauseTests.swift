import Testing
import WeirIO

@testable import WeirTransport

/// Endpoints that ask to be left out for a while.
@Suite("Paused endpoints", .timeLimit(.minutes(5))) struct EndpointPauseTests {
  private func pause(_ line: EndpointLine, _ index: Int, for seconds: Double) -> EndpointEvent.Kind? {
    line.set.leavesOut(line[index], for: seconds, at: line.time).event?.kind
  }

  @Test func oneIsLeftOutForItsTimeAndThenTried() {
    let line = EndpointLine(3)
    #expect(pause(line, 0, for: 5) == .ejected(.retryAfter, seconds: 5))
    #expect(line.state(0) == .ejected)
    #expect(line.set.serving == 2)
    #expect(line.set.report(at: line.time).endpoints[0].ejections[.retryAfter] == 1)
    #expect(line.picked() == [name(1), name(2)])
    line.now = 4.99
    #expect(line.picked() == [name(1), name(2)])
    line.now = 5
    #expect((0..<400).count { _ in line.pick()?.name == name(0) } == 1, "one request tries it")
    #expect(line.end(.answered(firstByteAfter: 0.1), 0) == EndpointEvent(endpoint: name(0), kind: .returned))
    #expect(line.set.serving == 3)
    #expect(line.state(0) == .slowStart)
    #expect(line.picked().contains(name(0)))
  }

  /// Other attempts end all the while, with which the set looks at all its endpoints.
  @Test func theEndsOfOthersDoNotBringItBack() {
    let line = EndpointLine(3)
    _ = pause(line, 0, for: 5)
    for second in 1..<20 {
      line.now = Double(second)
      line.end(.answered(firstByteAfter: 0.1), 1)
      line.end(.answered(firstByteAfter: 0.1), 0, began: 0)
    }
    #expect(line.state(0) == .ejected)
    #expect((0..<400).count { _ in line.pick()?.name == name(0) } == 1)
    line.end(.answered(firstByteAfter: 0.1), 0)
    #expect((0..<400).count { _ in line.pick()?.name == name(0) } > 1)
  }

  @Test func aTrialThatIsWithdrawnLeavesItToTheNext() {
    let line = EndpointLine(2)
    _ = pause(line, 0, for: 1)
    line.now = 1
    #expect(line.picked().contains(name(0)))
    #expect(!line.picked().contains(name(0)))
    #expect(line.end(.withdrawn, 0, began: 1) == nil)
    #expect((0..<400).count { _ in line.pick()?.name == name(0) } == 1)
    #expect(line.end(.withdrawn, 0, began: 0.5) == nil)
    #expect(!line.picked().contains(name(0)), "only a trial's end counts")
    line.now += 31
    #expect(line.picked().contains(name(0)), "the trial never ended")
  }

  @Test func aTrialThatFailsBringsItBackTooUnlessTooManyHaveFailed() {
    let line = EndpointLine(2)
    line.end(.answered(firstByteAfter: 0.1), 1)
    _ = pause(line, 0, for: 1)
    line.now = 1
    #expect(line.end(.failed(after: 0.1), 0)?.kind == .returned)
    _ = line.fail(0, times: 3)
    _ = pause(line, 0, for: 1)
    line.now = 2
    guard case .ejected(.consecutive, _)? = line.end(.failed(after: 0.1), 0)?.kind else {
      Issue.record("\(line.state(0))")
      return
    }
    #expect(line.picked() == [name(1)])
  }

  @Test func theLongerTimeCounts() {
    let line = EndpointLine(3)
    _ = pause(line, 0, for: 5)
    line.now = 1
    _ = pause(line, 0, for: 1)
    line.now = 4.9
    #expect(!line.picked().contains(name(0)))
    line.now = 5
    #expect(line.picked().contains(name(0)))
  }

  @Test func anEjectionStaysBesideAPause() {
    let line = EndpointLine(3)
    line.end(.answered(firstByteAfter: 0.1), 1)
    line.eject(0)
    _ = pause(line, 0, for: 1)
    line.now = 2
    #expect(!line.picked().contains(name(0)), "the ejection takes some ten seconds")
    line.now = 12
    #expect(line.picked().contains(name(0)))
    #expect(line.end(.answered(firstByteAfter: 0.1), 0)?.kind == .returned)
    #expect(line.set.serving == 3)
  }

  @Test func aPauseOutlastsAnEjection() {
    let line = EndpointLine(3)
    line.end(.answered(firstByteAfter: 0.1), 1)
    line.eject(0)
    _ = pause(line, 0, for: 60)
    line.now = 20
    #expect(!line.picked().contains(name(0)))
    line.now = 60
    #expect(line.picked().contains(name(0)))
    #expect(line.end(.answered(firstByteAfter: 0.1), 0)?.kind == .returned)
    #expect(line.set.serving == 3)
  }

  @Test func oneThatIsUnhealthyStaysSoAfterItsPause() {
    let line = EndpointLine(3)
    _ = pause(line, 0, for: 1)
    line.check(0, good: false, times: 3)
    line.now = 2
    #expect(line.end(.answered(firstByteAfter: 0.1), 0) == nil)
    #expect(line.state(0) == .unhealthy)
    #expect(line.check(0, good: true, times: 2) == [EndpointEvent(endpoint: name(0), kind: .healthy)])
    #expect(line.set.serving == 3)
  }

  @Test func theLastOneIsNotLeftOut() {
    let line = EndpointLine(2)
    #expect(pause(line, 0, for: 5) != nil)
    #expect(pause(line, 1, for: 5) == nil)
    #expect(line.state(1) == .available)
    #expect(pause(EndpointLine(1), 0, for: 5) == nil)
    let other = EndpointLine(2)
    other.check(0, good: false, times: 3)
    #expect(pause(other, 1, for: 5) == nil)
  }

  @Test func oneThatIsGoneIsNotLeftOut() {
    let line = EndpointLine(3)
    let gone = line[0]
    line.update([EndpointLine.spec(1), EndpointLine.spec(2)])
    #expect(line.set.leavesOut(gone, for: 5, at: line.time) == (true, nil))
  }

  @Test func withoutOutlierSettingsAPauseCountsToo() {
    let line = EndpointLine(2, EndpointSettings(outlier: nil))
    #expect(pause(line, 0, for: 5) != nil)
    #expect(line.picked() == [name(1)])
    line.now = 5
    #expect(line.picked().contains(name(0)))
    #expect(line.end(.answered(firstByteAfter: 0.1), 0)?.kind == .returned)
  }
}
