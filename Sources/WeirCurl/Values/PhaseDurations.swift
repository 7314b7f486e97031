/// A stretch of a request's time, in the order in which they happen.
///
/// A new one is a case here, room for it in ``PhaseDurations``, the line that measures it, and its property in
/// `TransferMetrics`; sums, histograms and `weir probe` follow. docs/metrics.md lists it.
package enum Phase: Int, CaseIterable, Sendable {
  /// Waiting for a place among the destination's attempts.
  case queue
  /// Only when a connection was made or tried; so are `connect` and `tls`.
  case resolve
  /// With a proxy's tunnel, without TLS.
  case connect
  /// Only to https URLs.
  case tls
  /// From the connection being ready to the last byte of the request handed to the system.
  case send
  /// From the last byte sent to the first byte received.
  case processing
  /// From the first byte received to the last.
  case transfer
  /// What the handlers' values took: of the request, so that no attempt has it.
  case serialization

  /// The one name everywhere: property, label of metrics, row of `weir probe`, documents.
  package var name: String { String(describing: self) }
}

/// How long each phase took, in seconds; nil is one that did not happen. The phase in which an attempt ended counts up to
/// its end.
package struct PhaseDurations: Sendable {
  /// By the phases' raw values. NaN is one that did not happen.
  @usableFromInline var seconds = InlineArray<8, Double>(repeating: .nan)

  @inlinable package init() {}

  @inlinable package subscript(phase: Phase) -> Double? {
    get {
      let seconds = seconds[phase.rawValue]
      return seconds.isNaN ? nil : seconds
    }
    set { seconds[phase.rawValue] = newValue ?? .nan }
  }

  /// Those that happened, in their order.
  @inlinable package func forEach(_ body: (Phase, Double) -> Void) {
    for index in seconds.indices where !seconds[index].isNaN {
      if let phase = Phase(rawValue: index) { body(phase, seconds[index]) }
    }
  }

  /// Takes in those of a further hop, or a further wait.
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
