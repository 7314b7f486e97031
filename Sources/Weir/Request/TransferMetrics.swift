public import Foundation
package import WeirCurl

/// What one attempt cost: when, how long each phase took, how many bytes, over which connection.
///
/// Durations are in seconds and nil when the phase did not happen (no name lookup on a reused connection, no TLS on
/// plain HTTP). The phase in which an attempt failed counts up to its end. Redirect hops are summed into their attempt. A
/// value is one reference, so copying it costs one retain.
public struct TransferMetrics: Sendable, Hashable {
  private let storage: Storage

  /// The phases' durations, and what the transfer moved, as measured.
  package struct Values: Sendable, Hashable {
    package var taskInterval: DateInterval
    package var redirectCount = 0
    package var phases = PhaseDurations()
    package var total: TimeInterval?
    package var bytesSent: Int64 = 0
    package var bytesReceivedOnWire: Int64 = 0
    package var bytesDecoded: Int64 = 0
    package var networkProtocolName: String?
    package var isReusedConnection = false
    package var remoteAddress: String?
    package var remotePort: Int?
    package var statusCode: Int?
    package var contentEncoding: String?
    package var staleConnectionRetries = 0
  }

  private final class Storage: Sendable {
    let values: Values
    @inline(__always)
    init(_ values: consuming Values) { self.values = values }
  }

  @inline(__always)
  package init(_ values: consuming Values) {
    storage = Storage(values)
  }

  package var phases: PhaseDurations { storage.values.phases }
  /// From the start of the task to its completion.
  public var taskInterval: DateInterval { storage.values.taskInterval }
  /// Redirects followed within this attempt.
  public var redirectCount: Int { storage.values.redirectCount }
  /// Waiting for a free slot or connection.
  public var queue: TimeInterval? { storage.values.phases[.queue] }
  /// Resolving the host name.
  public var resolve: TimeInterval? { storage.values.phases[.resolve] }
  /// Another name of ``resolve``.
  public var nameLookup: TimeInterval? { resolve }
  /// Opening the TCP connection and a proxy's tunnel, without TLS.
  public var connect: TimeInterval? { storage.values.phases[.connect] }
  /// The TLS handshake.
  public var tls: TimeInterval? { storage.values.phases[.tls] }
  /// Sending the request.
  public var send: TimeInterval? { storage.values.phases[.send] }
  /// From the end of sending to the first byte of the response: the upstream's time.
  public var processing: TimeInterval? { storage.values.phases[.processing] }
  /// From the first byte of the response to the last.
  public var transfer: TimeInterval? { storage.values.phases[.transfer] }
  /// The whole attempt.
  public var total: TimeInterval? { storage.values.total }
  /// Bytes of the request's body on the wire.
  public var bytesSent: Int64 { storage.values.bytesSent }
  /// Response body bytes as received, before decoding.
  public var bytesReceivedOnWire: Int64 { storage.values.bytesReceivedOnWire }
  /// Response body bytes after decoding.
  public var bytesDecoded: Int64 { storage.values.bytesDecoded }
  /// `http/1.1` or `h2` (ALPN names, RFC 7301); nil when no connection was made.
  public var networkProtocolName: String? { storage.values.networkProtocolName }
  /// Whether the attempt opened no connection, neither for itself nor for a redirect.
  public var isReusedConnection: Bool { storage.values.isReusedConnection }
  /// The peer's address, as text.
  public var remoteAddress: String? { storage.values.remoteAddress }
  /// The peer's port.
  public var remotePort: Int? { storage.values.remotePort }
  /// The final status of the attempt; nil when no response came.
  public var statusCode: Int? { storage.values.statusCode }
  /// The response's `Content-Encoding` as received; nil without one.
  public var contentEncoding: String? { storage.values.contentEncoding }
  /// How often libcurl sent the request again because a pooled connection turned out to be closed.
  public var staleConnectionRetries: Int { storage.values.staleConnectionRetries }

  public static func == (left: TransferMetrics, right: TransferMetrics) -> Bool {
    left.storage === right.storage || left.storage.values == right.storage.values
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(storage.values)
  }
}

extension TransferMetrics: CustomStringConvertible {
  /// A table of the phases that there were, in milliseconds, of the bytes, and of what else is known.
  public var description: String {
    var table = TextTable()
    for (name, seconds) in [
      ("queue", queue), ("resolve", resolve), ("connect", connect), ("tls", tls), ("send", send),
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

extension TransferMetrics.Values {
  /// The values of an attempt of which nothing else is known.
  package init(taskInterval: DateInterval) {
    self.init(taskInterval: taskInterval, redirectCount: 0)
  }
}
