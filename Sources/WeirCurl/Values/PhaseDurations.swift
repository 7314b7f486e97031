/// A phase of a request's time; the cases are in the order in which the phases happen.
///
/// A new phase needs a case here, room in ``PhaseDurations``, the line that measures it, and a property in
/// `TransferMetrics`; sums, histograms and `weir probe` follow. docs/metrics.md lists it.
package enum Phase: Int, CaseIterable, Sendable {
  /// The wait for a slot of the destination.
  case queue
  /// The name lookup. `resolve`, `connect` and `tls` exist only when a connection was made or tried.
  case resolve
  /// TCP, and a proxy's tunnel if there is one, without TLS.
  case connect
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
  @usableFromInline var seconds = InlineArray<8, Double>(repeating: .nan)

  @inlinable package init() {}

  @inlinable package subscript(phase: Phase) -> Double? {
    get {
      let seconds = seconds[phase.rawValue]
      return seconds.isNaN ? nil : seconds
    }
    set { seconds[phase.rawValue] = newValue ?? .nan }
  }

  /// Visits the phases that happened, in order.
  @inlinable package func forEach(_ body: (Phase, Double) -> Void) {
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

extension PhaseDurations: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (Phase, Double)...) {
    for (phase, seconds) in elements { self[phase] = seconds }
  }
}
