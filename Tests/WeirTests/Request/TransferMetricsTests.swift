import Foundation
import Testing
import WeirCurl

@testable import Weir

@Suite struct TransferMetricsTests {
  static let interval = DateInterval(start: Date(timeIntervalSinceReferenceDate: 0), duration: 2)

  @Test func carriesWhatWasMeasured() {
    let metrics = TransferMetrics(
      .init(
        taskInterval: Self.interval, redirectCount: 1,
        phases: [.queue: 2, .resolve: 3, .connect: 4, .tls: 5, .send: 6, .processing: 7, .transfer: 8], total: 9,
        bytesSent: 10, bytesReceivedOnWire: 11, bytesDecoded: 12,
        networkProtocolName: "h2", isReusedConnection: true, remoteAddress: "::1", remotePort: 443))
    #expect(metrics.taskInterval == Self.interval)
    #expect(metrics.redirectCount == 1)
    let phases = [
      metrics.queue, metrics.resolve, metrics.connect, metrics.tls, metrics.send, metrics.processing,
      metrics.transfer, metrics.total,
    ]
    #expect(phases == [2, 3, 4, 5, 6, 7, 8, 9])
    #expect(metrics.nameLookup == metrics.resolve)
    #expect([metrics.bytesSent, metrics.bytesReceivedOnWire, metrics.bytesDecoded] == [10, 11, 12])
    #expect(metrics.networkProtocolName == "h2")
    #expect(metrics.isReusedConnection)
    #expect(metrics.remoteAddress == "::1")
    #expect(metrics.remotePort == 443)
  }

  @Test func printsAsATable() {
    var values = TransferMetrics.Values(
      taskInterval: Self.interval, redirectCount: 1,
      phases: [
        .queue: 0.000_012, .resolve: 0.003, .connect: 0.0004, .tls: 0.005, .send: 0.0001, .processing: 1.25,
        .transfer: 0.08,
      ], total: 1.338_512, bytesSent: 110, bytesReceivedOnWire: 11_000, bytesDecoded: 120_000,
      networkProtocolName: "h2", isReusedConnection: false, remoteAddress: "::1", remotePort: 443)
    values.statusCode = 200
    values.contentEncoding = "gzip"
    values.staleConnectionRetries = 1
    #expect(
      "\(TransferMetrics(values))" == """
        queue          0.012 ms
        resolve        3.000 ms
        connect        0.400 ms
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
      "\(TransferMetrics(.init(taskInterval: Self.interval)))" == """
        sent      0 bytes
        received  0 bytes
        status    - no response
        """)
  }

  @Test func equalityIsByValue() {
    let first = TransferMetrics(.init(taskInterval: Self.interval))
    let same = TransferMetrics(.init(taskInterval: Self.interval))
    let other = TransferMetrics(.init(taskInterval: Self.interval, bytesSent: 1))
    #expect(first == same)
    #expect(first.hashValue == same.hashValue)
    #expect(first != other)
    #expect(MemoryLayout<TransferMetrics>.size == MemoryLayout<Int>.size)
  }
}
