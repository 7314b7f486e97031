import Testing
import WeirIO
import WeirServer

@testable import WeirGateway

@Suite struct CrowdNoticeTests {
  private let start = MonotonicTime(nanoseconds: 5_000_000_000)

  private func at(_ seconds: Double) -> MonotonicTime { start.advanced(bySeconds: seconds) }

  @Test func oneLineAMinuteWithWhatHappenedSinceTheLast() {
    var notice = CrowdNotice()
    #expect(notice.note(.connectionEvicted, at: start) == .init(evicted: 1))
    for second in 1..<60 {
      #expect(notice.note(.connectionEvicted, at: at(Double(second))) == nil)
      #expect(notice.note(.acceptFailed(.tooManyOpenFiles), at: at(Double(second))) == nil)
    }
    #expect(
      notice.note(.connectionsWait, at: at(60))
        == .init(evicted: 59, waits: 1, failures: 59, error: .tooManyOpenFiles))
    #expect(notice.note(.connectionsWait, at: at(119)) == nil)
    #expect(notice.note(.connectionsWait, at: at(500)) == .init(waits: 2), "what was told is told once")
  }

  @Test func whatIsNotACrowdMakesNoLine() {
    var notice = CrowdNotice()
    #expect(notice.note(.timedOut(status: 408), at: start) == nil)
    #expect(notice.note(.connectionEvicted, at: start) != nil)
  }

  @Test func theReasonIsTheGravest() {
    #expect(CrowdNotice.Tally(evicted: 5).reason == "there are as many connections as there may be")
    #expect(CrowdNotice.Tally(evicted: 5, waits: 1).reason == "all connections that there may be are at work")
    #expect(CrowdNotice.Tally(waits: 1, failures: 1, error: .tooManyOpenFiles).reason == "\(Errno.tooManyOpenFiles)")
  }
}
