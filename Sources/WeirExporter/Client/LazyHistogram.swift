import Synchronization
import Weir
import WeirCurl
import WeirMetrics
import WeirTransport

/// A histogram whose series is made when it first observes something.
final class LazyHistogram: Sendable {
  /// The address of a retained `Series`, or 0. It isn't an `AtomicLazyReference`, which looks up generic types at each
  /// load: 500 instructions.
  private let address = Atomic<UInt>(0)
  private let make: @Sendable () -> Histogram

  init(_ make: @escaping @Sendable () -> Histogram) {
    self.make = make
  }

  deinit { reference(address.load(ordering: .acquiring))?.release() }

  func observe(_ value: Double) {
    guard let known = reference(address.load(ordering: .acquiring)) else { return make { $0.observe(value) } }
    known._withUnsafeGuaranteedRef { Histogram($0).observe(value) }
  }

  /// Observes a value of a trace that is sampled.
  func observe(_ value: Double, _ trace: TraceContext, span: UInt64?) {
    guard let known = reference(address.load(ordering: .acquiring)) else {
      return make { $0.observe(value, trace: (trace.high, trace.low), span: span) }
    }
    known._withUnsafeGuaranteedRef { Histogram($0).observe(value, trace: (trace.high, trace.low), span: span) }
  }

  private func reference(_ address: UInt) -> Unmanaged<Series>? {
    UnsafeRawPointer(bitPattern: address).map { .fromOpaque($0) }
  }

  /// Makes the series, and keeps the first one. Calls that race make the same series.
  private func make(observing observe: (Histogram) -> Void) {
    let histogram = make()
    let made = Unmanaged.passRetained(histogram.series)
    let isFirst = address.compareExchange(
      expected: 0, desired: UInt(bitPattern: made.toOpaque()), ordering: .acquiringAndReleasing
    ).exchanged
    if !isFirst { made.release() }
    observe(histogram)
  }
}

/// weir_phase_duration_seconds, one histogram per phase.
struct PhaseHistograms: Sendable {
  /// The histograms, indexed by the phases' raw values.
  private let histograms: [LazyHistogram]

  init(_ histogram: @escaping @Sendable (Phase) -> Histogram) {
    histograms = Phase.allCases.map { phase in LazyHistogram { histogram(phase) } }
  }

  subscript(phase: Phase) -> LazyHistogram { histograms[phase.rawValue] }

  func observe(_ durations: PhaseDurations) {
    durations.forEach { phase, seconds in self[phase].observe(seconds) }
  }
}
