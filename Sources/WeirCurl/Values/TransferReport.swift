package import WeirHTTP
package import WeirIO

/// The measurements of one transfer. Durations are seconds.
package struct TransferReport: Sendable {
  package var startTime: MonotonicTime
  package var phases = PhaseDurations()
  package var total: Double
  /// Bytes of the request's body.
  package var bytesSent: Int64 = 0
  /// Bytes of the request's head.
  package var headerBytesSent: Int64 = 0
  /// Bytes of the response's body as received, not decoded; without chunk framing.
  package var bytesReceivedOnWire: Int64 = 0
  /// Bytes of response heads and trailers, interim heads included.
  package var headerBytes: Int64 = 0
  package var isReusedConnection = false
  package var connectionsOpened = 0
  /// The number of retries by the engine itself, because a pooled connection was dead or held unsolicited bytes.
  package var staleRetries = 0
  package var remoteAddress: String?
  package var remotePort: Int?
  package var version: HTTPVersionNumber?
  /// With TLS, if the transport's options ask for it.
  package var peer: TLSPeer?

  package init(startTime: MonotonicTime, total: Double) {
    self.startTime = startTime
    self.total = total
  }
}

/// The server's side of a TLS connection, as far as it is to be shown.
package final class TLSPeer: Sendable {
  /// The protocol's number: 0x0304 for TLS 1.3.
  package let version: Int
  /// The certificates that the server sent, its own first; each in DER.
  package let certificates: [[UInt8]]
  /// The certificates from the server's own to the root by which it was judged; each in DER. Without a check of the
  /// chain it says nothing.
  package let verifiedChain: [[UInt8]]

  package init(version: Int, certificates: [[UInt8]], verifiedChain: [[UInt8]]) {
    self.version = version
    self.certificates = certificates
    self.verifiedChain = verifiedChain
  }
}

/// A phase of a request's time; the cases are in the order in which the phases happen.
///
/// A new phase needs a case here, room in ``PhaseDurations`` and in `PhaseHistograms`, the line that measures it, and a property
/// in `TransferMetrics`; sums and `weir probe` follow. docs/metrics.md lists it.
package enum Phase: Int, CaseIterable, Sendable {
  /// The wait for a slot of the destination.
  case queue
  /// The name lookup. `resolve`, `connect`, `tunnel` and `tls` exist only when a connection was made or tried.
  case resolve
  /// TCP, to the server or to its proxy.
  case connect
  /// From TCP to a proxy until it has connected to the server, or refused to; only for connections through a proxy that lead
  /// to the server.
  case tunnel
  /// The TLS handshake; for https URLs only.
  case tls
  /// From the connection being ready to the last byte of the request handed to the system.
  case send
  /// From the last byte sent to the first byte received.
  case processing
  /// From the first byte received to the last.
  case transfer
  /// Serializing the handlers' values. It is part of the request and not of any attempt.
  case serialization

  /// The phase's name everywhere: as property, label of metrics, row of `weir probe`, and in documents.
  package var name: String { String(describing: self) }
}

/// The duration of each phase in seconds; nil for a phase that did not happen. The phase in which an attempt ended
/// counts up to that end.
package struct PhaseDurations: Sendable {
  /// Indexed by the phases' raw values; NaN for a phase that did not happen.
  @usableFromInline
  var seconds: InlineArray<9, Double> = [.nan, .nan, .nan, .nan, .nan, .nan, .nan, .nan, .nan]

  @inlinable package init() {}

  @inlinable package subscript(phase: Phase) -> Double? {
    get {
      let seconds = seconds[phase.rawValue]
      return seconds.isNaN ? nil : seconds
    }
    set { seconds[phase.rawValue] = newValue ?? .nan }
  }

  /// Visits the phases that happened, in order.
  @inlinable @inline(__always) package func forEach(_ body: (Phase, Double) -> Void) {
    for index in seconds.indices where !seconds[index].isNaN {
      if let phase = Phase(rawValue: index) { body(phase, seconds[index]) }
    }
  }

  /// Keeps the last `seconds` of them. A phase that was over before did not happen.
  package mutating func keepLast(_ seconds: Double) {
    var rest = -seconds
    forEach { rest += $1 }
    for phase in Phase.allCases {
      guard rest > 0, let duration = self[phase] else { continue }
      self[phase] = duration > rest ? duration - rest : nil
      rest -= duration
    }
  }

  /// Adds the durations of a further hop, or of a further wait.
  @inlinable package mutating func add(_ other: Self) {
    other.forEach { phase, seconds in self[phase] = (self[phase] ?? 0) + seconds }
  }
}

extension PhaseDurations: Hashable {
  package static func == (left: Self, right: Self) -> Bool {
    Phase.allCases.allSatisfy { left[$0] == right[$0] }
  }

  package func hash(into hasher: inout Hasher) {
    for phase in Phase.allCases { hasher.combine(self[phase]) }
  }
}

/// The times of an exchange's events, from which the durations of its phases are computed.
package struct ExchangeTimes {
  package let start: MonotonicTime
  /// When the connection was there and the request was about to be written.
  package var ready: MonotonicTime?
  /// When the last byte of the request was handed to the system or to libcurl.
  package var sent: MonotonicTime?
  package var firstByte: MonotonicTime?
  package var lastProgress: MonotonicTime

  package init(start: MonotonicTime) {
    self.start = start
    lastProgress = start
  }

  /// The request is to be sent again.
  package mutating func startAgain() {
    ready = nil
    sent = nil
    firstByte = nil
  }

  package func add(to phases: inout PhaseDurations, until end: MonotonicTime) {
    guard let ready else { return }
    phases[.send] = max(0, (sent ?? firstByte ?? end).seconds(since: ready))
    let firstByte = firstByte ?? end
    if let sent, sent <= firstByte { phases[.processing] = firstByte.seconds(since: sent) }
    if self.firstByte != nil { phases[.transfer] = max(0, end.seconds(since: firstByte)) }
  }
}
