import Foundation
import WeirCurl
import WeirHTTP
import WeirIO

/// What an attempt has cost so far, its redirect hops summed.
struct TransferTally {
  private(set) var redirectCount = 0
  var decoded: Int64 = 0
  /// The last response's.
  var contentEncoding: String?
  private var began = MonotonicTime(nanoseconds: 0)
  private var queue: TimeInterval?
  private var reports: TransferReport?

  init() {}

  init(queue: TimeInterval?, now: MonotonicTime) {
    began = now
    self.queue = queue
  }

  /// Whether no hop opened a connection.
  var isReusedConnection: Bool { reports?.isReusedConnection ?? false }

  /// Seconds since it went on the wire.
  func elapsed(_ now: MonotonicTime) -> Double { now.seconds(since: began) }

  /// Takes in a wait for a slot that came after the first.
  mutating func waited(_ seconds: TimeInterval) {
    queue = (queue ?? 0) + seconds
  }

  mutating func redirected() {
    redirectCount += 1
    sentAgain()
  }

  /// Another hop follows that nobody redirected to.
  mutating func sentAgain() {
    contentEncoding = nil
  }

  mutating func add(_ report: TransferReport) {
    if reports == nil { reports = report } else { reports?.add(report) }
  }

  /// - Parameter times: the request's, on whose clock the attempt's date is read.
  func metrics(now: MonotonicTime, status: Int?, times: RequestTimes) -> TransferMetrics {
    let total = max(0, now.seconds(since: began))
    let start = Date(timeIntervalSinceReferenceDate: times.date(began))
    var values = TransferMetrics.Values(
      taskInterval: DateInterval(start: start, duration: total), redirectCount: redirectCount)
    values.phases = reports?.phases ?? PhaseDurations()
    values.phases[.queue] = queue
    values.total = total
    values.bytesDecoded = decoded
    values.statusCode = status
    values.contentEncoding = contentEncoding
    guard let report = reports else { return TransferMetrics(values) }
    values.bytesSent = report.bytesSent
    values.bytesReceivedOnWire = report.bytesReceivedOnWire
    values.networkProtocolName = report.version?.protocolName
    values.isReusedConnection = report.isReusedConnection
    values.remoteAddress = report.remoteAddress
    values.remotePort = report.remotePort
    values.staleConnectionRetries = report.staleRetries
    return TransferMetrics(values)
  }
}

extension TransferReport {
  /// Takes in a further hop of the same attempt.
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
