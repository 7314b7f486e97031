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

  /// Whether nothing of the request was sent.
  var isUnsent: Bool { phases[.send] == nil && phases[.processing] == nil }

  /// Whether an attempt through a proxy has not got beyond the proxy.
  var hasNoWay: Bool { isUnsent && phases[.tls] == nil }
}

/// The costs of an attempt so far, its redirect hops summed.
package struct AttemptCosts {
  /// When the attempt went on the wire, or when it ended without that.
  package private(set) var began = MonotonicTime(nanoseconds: 0)
  /// The sums, without those values that are known at the end.
  package var sums = AttemptReport()
  private var isMeasured = false

  /// The attempt goes on the wire, or ends without that, behind a wait of so many seconds; nil for none.
  mutating func begin(queue: Double?, at now: MonotonicTime) {
    began = now
    sums.phases[.queue] = queue
  }

  /// Seconds since the attempt went on the wire.
  func elapsed(_ now: MonotonicTime) -> Double { now.seconds(since: began) }

  /// Adds a wait for a slot that came after the first.
  mutating func waited(_ seconds: Double) {
    sums.phases[.queue] = (sums.phases[.queue] ?? 0) + seconds
  }

  /// Another hop follows: a redirect, or the same request once more.
  package mutating func follows(isRedirected: Bool) {
    if isRedirected { sums.redirectCount += 1 }
    sums.contentEncoding = nil
  }

  /// Adds what a hop's transfer has measured.
  package mutating func add(_ hop: TransferReport) {
    let queue = sums.phases[.queue]
    if isMeasured { sums.phases.add(hop.phases) } else { sums.phases = hop.phases }
    sums.phases[.queue] = queue
    sums.isReusedConnection = hop.isReusedConnection && (sums.isReusedConnection || !isMeasured)
    isMeasured = true
    sums.bytesSent += hop.bytesSent
    sums.bytesReceivedOnWire += hop.bytesReceivedOnWire
    sums.staleConnectionRetries += hop.staleRetries
    sums.networkProtocolName = hop.version?.protocolName
    sums.remoteAddress = hop.remoteAddress
    sums.remotePort = hop.remotePort
  }

  func report(now: MonotonicTime, status: Int?) -> AttemptReport {
    var report = sums
    report.total = max(0, elapsed(now))
    report.statusCode = status
    return report
  }
}
