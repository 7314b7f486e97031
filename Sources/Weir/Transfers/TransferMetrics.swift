import WeirCurl

/// The cost of one attempt: its start, the duration of each phase, the bytes, the connection.
///
/// Durations are in seconds. A duration is nil if its phase did not happen (no name lookup on a reused connection, no
/// TLS on plain HTTP). The phase in which an attempt failed counts up to the failure. Redirect hops are summed into
/// their attempt. A value is one reference, so copying it costs one retain.
public struct TransferMetrics: Sendable, Hashable {
  private let storage: Storage

  private final class Storage: Sendable {
    let report: AttemptReport
    let taskInterval: DateInterval

    init(_ report: AttemptReport, _ taskInterval: DateInterval) {
      self.report = report
      self.taskInterval = taskInterval
    }
  }

  package init(_ report: AttemptReport, taskInterval: DateInterval) {
    storage = Storage(report, taskInterval)
  }

  /// - Parameter start: The attempt's start in seconds since the reference date.
  init(_ report: AttemptReport, from start: TimeInterval) {
    self.init(
      report,
      taskInterval: DateInterval(start: Date(timeIntervalSinceReferenceDate: start), duration: report.total ?? 0))
  }

  package var report: AttemptReport { storage.report }
  /// The interval from the start of the task to its completion.
  public var taskInterval: DateInterval { storage.taskInterval }
  /// The number of redirects followed within this attempt.
  public var redirectCount: Int { storage.report.redirectCount }
  /// The time spent waiting for a free slot or connection.
  public var queue: TimeInterval? { storage.report.phases[.queue] }
  /// The time to resolve the host name.
  public var resolve: TimeInterval? { storage.report.phases[.resolve] }
  /// Another name of ``resolve``.
  public var nameLookup: TimeInterval? { resolve }
  /// The time to open the TCP connection, to the server or to its proxy.
  public var connect: TimeInterval? { storage.report.phases[.connect] }
  /// The time that a proxy took to connect to the server. Nil without a proxy, and where the proxy takes the request itself.
  public var tunnel: TimeInterval? { storage.report.phases[.tunnel] }
  /// The time of the TLS handshake.
  public var tls: TimeInterval? { storage.report.phases[.tls] }
  /// The time to send the request.
  public var send: TimeInterval? { storage.report.phases[.send] }
  /// The time from the end of sending to the first byte of the response: the time that the upstream took.
  public var processing: TimeInterval? { storage.report.phases[.processing] }
  /// The time from the first byte of the response to the last.
  public var transfer: TimeInterval? { storage.report.phases[.transfer] }
  /// The duration of the whole attempt.
  public var total: TimeInterval? { storage.report.total }
  /// The bytes of the request's body on the wire.
  public var bytesSent: Int64 { storage.report.bytesSent }
  /// The bytes of the response's body as received, before decoding.
  public var bytesReceivedOnWire: Int64 { storage.report.bytesReceivedOnWire }
  /// The bytes of the response's body after decoding.
  public var bytesDecoded: Int64 { storage.report.bytesDecoded }
  /// `http/1.1`, `http/1.0` or `h2` (ALPN names, RFC 7301), as the response says; nil if no response came.
  public var networkProtocolName: String? { storage.report.networkProtocolName }
  /// Whether the attempt opened no connection, neither for itself nor for a redirect.
  public var isReusedConnection: Bool { storage.report.isReusedConnection }
  /// The peer's address, as text.
  public var remoteAddress: String? { storage.report.remoteAddress }
  /// The peer's port.
  public var remotePort: Int? { storage.report.remotePort }
  /// The final status of the attempt; nil if no response came.
  public var statusCode: Int? { storage.report.statusCode }
  /// The response's `Content-Encoding` as received; nil if it has none.
  public var contentEncoding: String? { storage.report.contentEncoding }
  /// The number of retries by the engine itself, because a pooled connection had been closed or held unsolicited bytes.
  public var staleConnectionRetries: Int { storage.report.staleConnectionRetries }

  public static func == (left: TransferMetrics, right: TransferMetrics) -> Bool {
    left.storage === right.storage
      || left.storage.report == right.storage.report && left.storage.taskInterval == right.storage.taskInterval
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(storage.report)
    hasher.combine(storage.taskInterval)
  }
}

extension TransferMetrics: CustomStringConvertible {
  /// A table of the phases that happened, in milliseconds, of the bytes, and of the other known facts.
  public var description: String {
    var table = TextTable()
    for (name, seconds) in [
      ("queue", queue), ("resolve", resolve), ("connect", connect), ("tunnel", tunnel), ("tls", tls), ("send", send),
      ("processing", processing), ("transfer", transfer), ("total", total),
    ] {
      if let seconds { table.add(name, seconds: seconds) }
    }
    table.add("sent", "\(bytesSent)", "bytes")
    table.add("received", "\(bytesReceivedOnWire)", "bytes")
    if let contentEncoding { table.add("decoded", "\(bytesDecoded)", "bytes of \(contentEncoding)") }
    table.add("status", statusCode.map(String.init) ?? "-", statusCode == nil ? "no response" : "")
    if redirectCount > 0 { table.add("redirects", "\(redirectCount)", "") }
    if staleConnectionRetries > 0 { table.add("sent again", "\(staleConnectionRetries)", "on stale connections") }
    if let connection { table.add("connection", isReusedConnection ? "reused" : "new", connection) }
    return table.text
  }

  private var connection: String? {
    let peer = remoteAddress.map { address in "to \(address)" + (remotePort.map { " port \($0)" } ?? "") }
    let parts = [networkProtocolName, peer].compactMap { $0 }
    return parts.isEmpty ? nil : parts.joined(separator: " ")
  }
}

/// A table with one row each for a name, a number and its unit.
struct TextTable {
  private var rows: [(name: String, number: String, unit: String)] = []

  /// Adds a duration, shown in milliseconds.
  mutating func add(_ name: String, seconds: TimeInterval) {
    add(name, String(format: "%.3f", seconds * 1000), "ms")
  }

  mutating func add(_ name: String, _ number: String, _ unit: String) {
    rows.append((name, number, unit))
  }

  /// The table's text: names aligned to the left, numbers to the right.
  var text: String {
    let name = rows.map(\.name.count).max() ?? 0
    let number = rows.map(\.number.count).max() ?? 0
    return rows.map { row in
      let gap = String(repeating: " ", count: name - row.name.count + 2 + number - row.number.count)
      return row.name + gap + row.number + (row.unit.isEmpty ? "" : " \(row.unit)")
    }.joined(separator: "\n")
  }
}
