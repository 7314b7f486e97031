import Foundation
import FoundationNetworking
import Synchronization
import Weir
import WeirCurl
import WeirMetrics
import WeirTransport

/// The metric handles of one destination, looked up once and kept; but for those of the families with a label `operation`,
/// which are in ``OperationMetrics``.
///
/// Counters that an alert reads are made here, at zero, so that the first burst shows as an increase and not as a new
/// series. Other series with labels or buckets, most of the page, appear once something was counted.
final class DestinationMetrics: Sendable {
  let families: ClientMetrics
  let address: String
  let port: String
  let requestsFailed, attemptsStarted, connectionsOpened, connectionsReused, staleRetries: Counter
  /// The attempts that were answered with 429.
  let limited: Counter
  let abandoned: [AbandonedPhase: Counter]
  let pace: PaceSeries
  let activeAttempts: Gauge
  let attemptsPerRequest, requestBodySize, responseBodySize: LazyHistogram
  let phases: PhaseHistograms
  let openConnections = Atomic(0)
  /// The refusals of load control.
  private let shed: [ShedReason: Counter]
  private let hasCircuit = Atomic(false)
  private let hasBaseline = Atomic(false)
  private let hasServiceRate = Atomic(false)
  private let inFlight: Gauge
  /// The durations of requests, by result.
  private let succeeded, failed, cancelled: LazyHistogram
  private let startedGets: StartedSeries
  private let startedOthers = Mutex<[String: StartedSeries]>([:])
  private let adapters = Mutex<[String: AdapterSeries]>([:])
  /// The number of adapters whose handles are kept. A program chooses their names, and might make up new ones all the
  /// time.
  private static let adapterLimit = 64
  init(_ families: ClientMetrics, address: String, port: String) {
    self.families = families
    self.address = address
    self.port = port
    inFlight = families.requestsInFlight.with(address, port)
    requestsFailed = families.requestsFailed.with(address, port)
    attemptsStarted = families.attemptsStarted.with(address, port)
    attemptsPerRequest = LazyHistogram { families.requestAttempts.with(address, port) }
    activeAttempts = families.activeAttempts.with(address, port)
    requestBodySize = LazyHistogram { families.requestBodySize.with(address, port) }
    responseBodySize = LazyHistogram { families.responseBodySize.with(address, port) }
    connectionsOpened = families.connectionsOpened.with(address, port)
    connectionsReused = families.connectionsReused.with(address, port)
    staleRetries = families.staleRetries.with(address, port)
    phases = PhaseHistograms { families.phaseDuration.with(address, port, $0.name) }
    succeeded = LazyHistogram { families.requestDuration.with(address, port, "success") }
    failed = LazyHistogram { families.requestDuration.with(address, port, "failure") }
    cancelled = LazyHistogram { families.requestDuration.with(address, port, "cancelled") }
    startedGets = StartedSeries(families, address, port, method: "GET")
    for reason in [RetryDenial.Reason.budget, .overload] {
      _ = families.retriesDenied.with(address, port, reason.rawValue)
    }
    limited = families.limited.with(address, port)
    shed = Self.handles(of: [.overload, .waited, .silent]) { families.shed.with(address, port, $0) }
    pace = PaceSeries(families, address, port, isOne: address != DestinationIndex.sharedName)
    abandoned = Self.handles { families.abandoned.with(address, port, $0) }
  }

  /// The counters of all values of a label, at zero.
  private static func handles<Value: RawRepresentable<String> & Hashable & CaseIterable>(
    of values: [Value] = Array(Value.allCases), _ handle: (String) -> Counter
  ) -> [Value: Counter] {
    Dictionary(uniqueKeysWithValues: values.map { ($0, handle($0.rawValue)) })
  }

  // MARK: Requests

  func started(method: String) {
    started(of: method).count.add()
  }

  /// The series of a method. Methods are few: unknown ones are `_OTHER`.
  private func started(of method: String) -> StartedSeries {
    if method == startedGets.method { return startedGets }
    return startedOthers.withLock { others in
      if let known = others[method] { return known }
      let series = StartedSeries(families, address, port, method: method)
      others[method] = series
      return series
    }
  }

  /// Makes a method's series at zero.
  func prepare(method: String) {
    _ = started(of: method)
  }

  /// - Parameters:
  ///   - trace: The request's trace, if it is sampled.
  ///   - span: The request's span, if it is recorded.
  func settled(outcome: RequestOutcome, seconds: Double, trace: TraceContext?, span: UInt64?) {
    switch outcome {
    case .success: succeeded.observe(seconds, trace, span: span)
    case .cancelled: cancelled.observe(seconds, trace, span: span)
    default: failed.observe(seconds, trace, span: span)
    }
  }

  /// Brings the counters of started requests up to date, and sets those in flight to the started less the settled, which
  /// were read before.
  func show(settled: Int) {
    let others = startedOthers.withLock { Array($0.values) }
    inFlight.set(Double(others.reduce(startedGets.show()) { $0 + $1.show() } - settled))
  }

  /// Whether no request or attempt is under way and no connection is open, as far as requests were shown.
  var isQuiet: Bool {
    // Below zero are connections that were opened while the destination was counted with others beyond the limit.
    return inFlight.value == 0 && activeAttempts.value == 0 && openConnections.load(ordering: .relaxed) <= 0
  }

  /// Counts one in a family that has one label besides those of the destination.
  func count(_ value: String, in family: CounterFamily<(String, String, String)>) {
    family.with(address, port, value).increment()
  }

  func granted(after delay: Double, source: RetryDelaySource) {
    families.retryDelay.with(address, port, source.rawValue).observe(delay)
  }

  /// Whether this is a single destination. Destinations that share their series have no one number or state to show.
  var isOne: Bool { address != DestinationIndex.sharedName }

  func retryBudget(available: Double) {
    if isOne { families.retryBudget.with(address, port).set(available) }
  }

  /// Sets the circuit's state. The first call only tells that the circuit is in use: it makes its series at zero.
  func circuit(entered state: CircuitState) {
    let isKnown = hasCircuit.exchange(true, ordering: .relaxed)
    for each in CircuitState.allCases {
      if isOne { families.circuitState.with(address, port, each.rawValue).set(each == state ? 1 : 0) }
      if !isKnown { _ = families.circuitTransitions.with(address, port, each.rawValue) }
    }
    if isKnown || state != .closed { count(state.rawValue, in: families.circuitTransitions) }
  }

  /// Removes from the page the gauges that are no longer updated.
  func remove(_ gauges: ControlGauges) {
    if gauges.contains(.budget) { families.retryBudget.remove(address, port) }
    if gauges.contains(.overload) {
      for family in [families.concurrencyLimit, families.concurrencyUsed, families.baseline, families.serviceRate] {
        family.remove(address, port)
      }
      for state in OverloadState.allCases { families.overloadState.remove(address, port, state.rawValue) }
    }
    if gauges.contains(.pace) { pace.end() }
    guard gauges.contains(.circuit), hasCircuit.exchange(false, ordering: .relaxed) else { return }
    for state in CircuitState.allCases { families.circuitState.remove(address, port, state.rawValue) }
  }

  func prepare(adapter: String) {
    _ = series(ofAdapter: adapter)
  }

  /// The same for one that fetches tokens, with the reasons of token services.
  func prepare(credential: String) {
    prepare(adapter: credential)
    for reason in AdaptationFailure.ofTokenService {
      _ = families.adaptationFailures.with(address, port, credential, reason.rawValue)
    }
  }

  func adapted(by adapter: String, seconds: Double, failure: AdaptationFailure?) {
    let series = series(ofAdapter: adapter)
    series.duration.observe(seconds)
    guard let failure else { return }
    (series.failures[failure] ?? families.adaptationFailures.with(address, port, adapter, failure.rawValue)).increment()
  }

  private func series(ofAdapter name: String) -> AdapterSeries {
    adapters.withLock { adapters in
      if let known = adapters[name] { return known }
      let series = AdapterSeries(
        duration: families.adaptationDuration.with(name),
        failures: Self.handles(of: AdaptationFailure.ofAnyAdapter) {
          families.adaptationFailures.with(address, port, name, $0)
        })
      if adapters.count < Self.adapterLimit { adapters[name] = series }
      return series
    }
  }

  // MARK: Load control

  func shed(_ reason: ShedReason) {
    if let counter = shed[reason] { counter.increment() } else { pace.refused(reason) }
  }

  func overload(entered state: OverloadState) {
    guard isOne else { return }
    for each in OverloadState.allCases {
      families.overloadState.with(address, port, each.rawValue).set(each == state ? 1 : 0)
    }
  }

  /// Shows the values of load control, and counts what has happened since the last report.
  func overload(_ report: OverloadReport) {
    let probes = report.probes
    let results = [("faster", probes.faster), ("same", probes.same), ("aborted", probes.aborted)]
    for (result, count) in results where count > 0 {
      families.limitProbes.with(address, port, result).increment(by: count)
    }
    guard isOne else { return }
    overload(entered: report.state)
    families.concurrencyLimit.with(address, port).set(Double(report.limit))
    families.concurrencyUsed.with(address, port).set(Double(report.used))
    show(report.baseline, in: families.baseline, hasBaseline)
    show(report.serviceRate, in: families.serviceRate, hasServiceRate)
  }

  /// Shows a value, or removes its series once it is unknown.
  private func show(_ value: Double?, in family: GaugeFamily<(String, String)>, _ isShown: borrowing Atomic<Bool>) {
    let wasShown = isShown.exchange(value != nil, ordering: .relaxed)
    if let value { family.with(address, port).set(value) } else if wasShown { family.remove(address, port) }
  }
}

/// The series of an adapter. The failures that any adapter may have are shown at zero from its first call on; those that a
/// token service names are shown from the first of them on.
private struct AdapterSeries: Sendable {
  let duration: Histogram
  let failures: [AdaptationFailure: Counter]
}
