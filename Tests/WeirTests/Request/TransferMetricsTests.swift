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
