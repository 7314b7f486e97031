import Weir
import WeirCurl
import WeirMetrics
import WeirTransport

/// A histogram whose series is made when it first observes something. A part of its owner and no object of its own, as every
/// request has eight observations.
struct LazyHistogram: ~Copyable, Sendable {
  private let series = LazyReference<Series>()
  private let make: @Sendable () -> Histogram

  init(_ make: @escaping @Sendable () -> Histogram) {
    self.make = make
  }

  func observe(_ value: Double) { with { $0.observe(value) } }

  /// Observes a value of a request whose trace may be sampled.
  func observe(_ value: Double, _ trace: TraceContext?, span: UInt64?) {
    guard let trace else { return observe(value) }
    with { $0.observe(value, trace: (trace.high, trace.low), span: span) }
  }

  /// Calls that race make the same series.
  @inline(__always)
  private func with(_ observe: (Histogram) -> Void) {
    if !series.with({ observe(Histogram($0)) }) { observe(Histogram(series.storeIfNil(make().series))) }
  }
}

/// weir_phase_duration_seconds, one histogram per phase.
struct PhaseHistograms: ~Copyable, Sendable {
  /// Indexed by the phases' raw values.
  private let histograms: InlineArray<9, LazyHistogram>

  init(_ histogram: @escaping @Sendable (Phase) -> Histogram) {
    histograms = InlineArray { index in
      let phase = Phase.allCases[index]
      return LazyHistogram { histogram(phase) }
    }
  }

  func observe(_ phase: Phase, _ seconds: Double) { histograms[phase.rawValue].observe(seconds) }

  func observe(_ durations: PhaseDurations) { durations.forEach { observe($0, $1) } }
}
