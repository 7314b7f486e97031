import Foundation
import Testing
import WeirCurl
import WeirTestSupport
import WeirTransport

@testable import Weir

@Suite struct TransferMetricsTests {
  static let interval = DateInterval(start: Date(timeIntervalSinceReferenceDate: 0), duration: 2)

  /// An attempt that went through every phase.
  private static func report(_ phases: PhaseDurations, total: Double) -> AttemptReport {
    var report = AttemptReport()
    report.redirectCount = 1
    report.phases = phases
    report.total = total
    report.networkProtocolName = "h2"
    report.remoteAddress = "::1"
    report.remotePort = 443
    return report
  }

  @Test func carriesWhatWasMeasured() {
    var report = Self.report(
      [.queue: 1, .resolve: 2, .connect: 3, .tunnel: 4, .tls: 5, .send: 6, .processing: 7, .transfer: 8], total: 9)
    report.bytesSent = 10
    report.bytesReceivedOnWire = 11
    report.bytesDecoded = 12
    report.isReusedConnection = true
    let metrics = TransferMetrics(report, taskInterval: Self.interval)
    #expect(metrics.taskInterval == Self.interval)
    #expect(metrics.redirectCount == 1)
    let phases = [
      metrics.queue, metrics.resolve, metrics.connect, metrics.tunnel, metrics.tls, metrics.send, metrics.processing,
      metrics.transfer, metrics.total,
    ]
    #expect(phases == [1, 2, 3, 4, 5, 6, 7, 8, 9])
    #expect(metrics.nameLookup == metrics.resolve)
    #expect([metrics.bytesSent, metrics.bytesReceivedOnWire, metrics.bytesDecoded] == [10, 11, 12])
    #expect(metrics.networkProtocolName == "h2")
    #expect(metrics.isReusedConnection)
    #expect(metrics.remoteAddress == "::1")
    #expect(metrics.remotePort == 443)
  }

  @Test func printsAsATable() {
    var report = Self.report(
      [
        .queue: 0.000_012, .resolve: 0.003, .connect: 0.0004, .tunnel: 0.002, .tls: 0.005, .send: 0.0001,
        .processing: 1.25, .transfer: 0.08,
      ], total: 1.338_512)
    report.bytesSent = 110
    report.bytesReceivedOnWire = 11_000
    report.bytesDecoded = 120_000
    report.statusCode = 200
    report.contentEncoding = "gzip"
    report.staleConnectionRetries = 1
    #expect(
      "\(TransferMetrics(report, taskInterval: Self.interval))" == """
        queue          0.012 ms
        resolve        3.000 ms
        connect        0.400 ms
        tunnel         2.000 ms
        tls            5.000 ms
        send           0.100 ms
        processing  1250.000 ms
        transfer      80.000 ms
        total       1338.512 ms
        sent             110 bytes
        received       11000 bytes
        decoded       120000 bytes of gzip
        status           200
        redirects          1
        sent again         1 on stale connections
        connection       new h2 to ::1 port 443
        """)
    #expect(
      "\(TransferMetrics(AttemptReport(), taskInterval: Self.interval))" == """
        sent      0 bytes
        received  0 bytes
        status    - no response
        """)
  }

  @Test func equalityIsByValue() {
    let first = TransferMetrics(AttemptReport(), taskInterval: Self.interval)
    let same = TransferMetrics(AttemptReport(), taskInterval: Self.interval)
    var sent = AttemptReport()
    sent.bytesSent = 1
    let other = TransferMetrics(sent, taskInterval: Self.interval)
    #expect(first == same)
    #expect(first.hashValue == same.hashValue)
    #expect(first != other)
    #expect(MemoryLayout<TransferMetrics>.size == MemoryLayout<Int>.size)
  }
}
