import Testing
import WeirCurl
import WeirIO
import WeirTestSupport

@testable import WeirTransport

@Suite struct AttemptCostsTests {
  @Test func hopsAndWaitsOfAnAttemptAreSummed() {
    var costs = AttemptCosts()
    costs.begin(queue: 1, at: MonotonicTime(nanoseconds: 0))
    costs.add(report([.resolve: 2, .connect: 3, .tls: 4, .send: 0, .processing: 5, .transfer: 6], opened: 1))
    costs.follows(isRedirected: true)
    costs.waited(10)
    costs.add(report([.send: 0, .processing: 50, .transfer: 60], opened: 0))
    let report = costs.report(now: MonotonicTime(nanoseconds: 7_000_000_000), status: 200)
    #expect(
      report.phases
        == [.queue: 11, .resolve: 2, .connect: 3, .tls: 4, .send: 0, .processing: 55, .transfer: 66])
    #expect(report.total == 7)
    #expect(report.redirectCount == 1)
    #expect(report.bytesSent == 2)
    #expect(!report.isReusedConnection)
  }

  @Test func anAttemptThatNeverTransferredHasWaited() {
    var costs = AttemptCosts()
    costs.begin(queue: 1, at: MonotonicTime(nanoseconds: 0))
    let report = costs.report(now: MonotonicTime(nanoseconds: 0), status: nil)
    #expect(report.phases == [.queue: 1])
  }

  private func report(_ phases: PhaseDurations, opened: Int) -> TransferReport {
    var report = TransferReport(startTime: MonotonicTime(nanoseconds: 0), total: 1)
    report.phases = phases
    report.bytesSent = 1
    report.connectionsOpened = opened
    report.isReusedConnection = opened == 0
    return report
  }
}
