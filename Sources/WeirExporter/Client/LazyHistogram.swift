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
    guard let known = reference(address.load(ordering: .acquiring)) else { return make(observing: value) }
    known._withUnsafeGuaranteedRef { Histogram($0).observe(value) }
  }

  private func reference(_ address: UInt) -> Unmanaged<Series>? {
    UnsafeRawPointer(bitPattern: address).map { .fromOpaque($0) }
  }

  /// Makes the series, and keeps the first one. Calls that race make the same series.
  private func make(observing value: Double) {
    let histogram = make()
    let made = Unmanaged.passRetained(histogram.series)
    let isFirst = address.compareExchange(
      expected: 0, desired: UInt(bitPattern: made.toOpaque()), ordering: .acquiringAndReleasing
    ).exchanged
    if !isFirst { made.release() }
    histogram.observe(value)
  }
}

/// weir_request_duration_seconds, one histogram per result.
struct DurationHistograms: Sendable {
  private let success: LazyHistogram
  private let failure: LazyHistogram
  private let cancelled: LazyHistogram

  init(_ histogram: @escaping @Sendable (RequestResult) -> Histogram) {
    success = LazyHistogram { histogram(.success) }
    failure = LazyHistogram { histogram(.failure) }
    cancelled = LazyHistogram { histogram(.cancelled) }
  }

  subscript(result: RequestResult) -> LazyHistogram {
    switch result {
    case .success: success
    case .failure: failure
    case .cancelled: cancelled
    }
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

/// The facts about an ended attempt, besides the destination, that choose its series.
private struct AttemptKind: Equatable {
  let labels: AttemptLabels
  let version: String
  let encoding: String
}

/// Method, status and error of an ended attempt: the labels that the server and the caller can influence.
private struct AttemptLabels: Hashable {
  let method: String
  let status: Int?
  let errorType: String
}

private struct AttemptKinds {
  var last: AttemptSeries?
  var share = SeriesShare<AttemptLabels>()
}

private final class AttemptSeries: Sendable {
  let kind: AttemptKind
  let duration: Histogram
  let attempts: Counter
  let wireBytes: Counter
  let decodedBytes: Counter

  init(_ kind: AttemptKind, isCoarse: Bool, _ families: ClientMetrics, _ address: String, _ port: String) {
    self.kind = kind
    let (method, errorType) = (kind.labels.method, kind.labels.errorType)
    let status = kind.labels.status.map(String.init) ?? ""
    duration =
      isCoarse
      ? families.attemptDuration.with(
        address, port, MethodLabel.other, CoarseLabel.of(status), CoarseLabel.of(errorType))
      : families.attemptDuration.with(address, port, method, status, errorType)
    attempts = families.attempts.with(address, port, kind.version)
    wireBytes = families.wireBytes.with(address, port, kind.encoding)
    decodedBytes = families.decodedBytes.with(address, port, kind.encoding)
  }
}

/// The counts of a method's requests, and the series that show them.
private final class MethodSeries: Sendable {
  let started = Tally()
  /// The counts by outcome, in the order of the outcomes.
  let settled: [Tally]
  private let shownStarted: Counter
  private let shownSettled: [Counter]

  init(
    _ families: ClientMetrics, _ address: String, _ port: String, method: String, outcomes: [RequestOutcome]
  ) {
    settled = outcomes.map { _ in Tally() }
    shownStarted = families.requestsStarted.with(address, port, method)
    shownSettled = outcomes.map { families.requests.with(address, port, method, $0.rawValue) }
  }

  /// Brings the series up to date. Returns how many requests were started and have not settled. The settled ones are
  /// read first, so that the start of each of them is read too.
  func show() -> Int {
    var ended: UInt64 = 0
    for (tally, counter) in zip(settled, shownSettled) {
      let count = tally.count
      counter.advance(to: count)
      ended += count
    }
    let begun = started.count
    shownStarted.advance(to: begun)
    return Int(clamping: begun) - Int(clamping: ended)
  }
}

/// A number that is counted here and shown by a series elsewhere.
private final class Tally: Sendable {
  private let value = Atomic<UInt64>(0)

  var count: UInt64 { value.load(ordering: .acquiring) }

  func add() { value.wrappingAdd(1, ordering: .releasing) }
}

/// The series of an adapter. Its failures are shown at zero from its first call on.
private struct AdapterSeries: Sendable {
  let duration: Histogram
  let failures: [AdaptationFailure: Counter]

  init(_ families: ClientMetrics, _ address: String, _ port: String, _ name: String) {
    duration = families.adaptationDuration.with(name)
    failures = Dictionary(
      uniqueKeysWithValues: AdaptationFailure.allCases.map {
        ($0, families.adaptationFailures.with(address, port, name, $0.rawValue))
      })
  }
}
