package import WeirCurl
import WeirHTTP
package import WeirIO

/// The costs of an attempt that is over.
package struct AttemptReport: Sendable, Hashable {
  package var redirectCount = 0
  package var phases = PhaseDurations()
  /// Seconds; nil for an attempt that was never measured.
  package var total: Double?
  package var bytesSent: Int64 = 0
  package var bytesReceivedOnWire: Int64 = 0
  package var bytesDecoded: Int64 = 0
  /// The name in ALPN (RFC 7301).
  package var networkProtocolName: String?
  package var isReusedConnection = false
  package var remoteAddress: String?
  package var remotePort: Int?
  package var statusCode: Int?
  package var contentEncoding: String?
  package var staleConnectionRetries = 0

  package init() {}
}

/// The costs of an attempt so far, its redirect hops summed.
package struct AttemptTally {
  package private(set) var redirectCount = 0
  package var decoded: Int64 = 0
  /// The coding of the last response.
  package var contentEncoding: String?
  /// When the attempt went on the wire, or when it ended without that.
  package private(set) var began = MonotonicTime(nanoseconds: 0)
  private var queue: Double?
  /// The hops' sum. It is not optional, as that would be copied for each look at it.
  private var sum = TransferReport(startTime: MonotonicTime(nanoseconds: 0), total: 0)
  private var isMeasured = false

  init() {}

  init(queue: Double?, now: MonotonicTime) {
    began = now
    self.queue = queue
  }

  /// Whether no hop opened a connection.
  var isReusedConnection: Bool { sum.isReusedConnection }

  /// Seconds since the attempt went on the wire.
  func elapsed(_ now: MonotonicTime) -> Double { now.seconds(since: began) }

  /// Adds a wait for a slot that came after the first.
  mutating func waited(_ seconds: Double) {
    queue = (queue ?? 0) + seconds
  }

  package mutating func redirected() {
    redirectCount += 1
    sentAgain()
  }

  /// Another hop follows that is not a redirect.
  package mutating func sentAgain() {
    contentEncoding = nil
  }

  package mutating func add(_ report: TransferReport) {
    if isMeasured { sum.add(report) } else { sum = report }
    isMeasured = true
  }

  func report(now: MonotonicTime, status: Int?) -> AttemptReport {
    var values = AttemptReport()
    values.redirectCount = redirectCount
    if isMeasured { sum.state(in: &values) }
    values.phases[.queue] = queue
    values.total = max(0, now.seconds(since: began))
    values.bytesDecoded = decoded
    values.statusCode = status
    values.contentEncoding = contentEncoding
    return values
  }
}

extension TransferReport {
  fileprivate func state(in values: inout AttemptReport) {
    values.phases = phases
    values.bytesSent = bytesSent
    values.bytesReceivedOnWire = bytesReceivedOnWire
    values.networkProtocolName = version?.protocolName
    values.isReusedConnection = isReusedConnection
    values.remoteAddress = remoteAddress
    values.remotePort = remotePort
    values.staleConnectionRetries = staleRetries
  }

  /// Adds a further hop of the same attempt.
  fileprivate mutating func add(_ hop: TransferReport) {
    phases.add(hop.phases)
    total += hop.total
    bytesSent += hop.bytesSent
    headerBytesSent += hop.headerBytesSent
    bytesReceivedOnWire += hop.bytesReceivedOnWire
    headerBytes += hop.headerBytes
    isReusedConnection = isReusedConnection && hop.isReusedConnection
    connectionsOpened += hop.connectionsOpened
    staleRetries += hop.staleRetries
    remoteAddress = hop.remoteAddress
    remotePort = hop.remotePort
    version = hop.version
  }
}
