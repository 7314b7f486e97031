import Foundation
import FoundationNetworking
import Synchronization
import Weir
import WeirCurl
import WeirMetrics
import WeirTransport

/// The metric handles of one destination, or of one of its operations, looked up once and kept. Those of an operation differ
/// in the families with a label `operation`, and share the other series.
///
/// Counters that an alert reads are made here, at zero, so that the first burst shows as an increase and not as a new
/// series. Other series with labels or buckets, most of the page, appear once something was counted.
final class DestinationMetrics: Sendable {
  let families: ClientMetrics
  let address: String
  let port: String
  /// Empty unless these are the metrics of an operation.
  private let operation: String
  /// The same object for a destination and its operations.
  private let mark: Mark
  private let operations = Mutex<[String: DestinationMetrics]>([:])
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
  /// The series of GET, or of the method of an operation's first request, which is mostly its only one.
  private let usual: MethodSeries
  private let others = Mutex<[String: MethodSeries]>([:])
  private let adapters = Mutex<[String: AdapterSeries]>([:])
  /// The number of adapters whose handles are kept. A program chooses their names, and might make up new ones all the
  /// time.
  private static let adapterLimit = 64
  /// The series of the attempt that ended last, since attempts of one kind mostly follow each other, and the share of the
  /// families that attempts may use.
  private let ended = Mutex<(last: AttemptSeries?, share: SeriesShare<AttemptLabels>)>((nil, SeriesShare()))
  private let reasons = Mutex(SeriesShare<String>())

  /// Stored, because `allCases` makes an array each time.
  private static let outcomes = RequestOutcome.allCases

  /// The retry reasons that get a series at once: those that ``RetryPolicy`` retries by default and that servers often
  /// cause. The first burst of a retry storm must show as an increase. Other reasons get a series when they occur.
  private static let likelyRetries: [String] = {
    let codes: [FailureCode] = [
      .badServerResponse, .cannotConnectToHost, .cannotFindHost, .networkConnectionLost, .secureConnectionFailed,
      .timedOut,
    ]
    return RetryPolicy.defaultRetryableHTTPStatusCodes.map(String.init) + codes.map(\.label)
  }()

  convenience init(_ families: ClientMetrics, address: String, port: String) {
    self.init(families, address, port, method: "GET", operation: "", Mark())
  }

  /// - Parameter method: That of the series which are made at once.
  private init(
    _ families: ClientMetrics, _ address: String, _ port: String, method: String, operation: String, _ mark: Mark
  ) {
    self.families = families
    self.address = address
    self.port = port
    self.operation = operation
    self.mark = mark
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
    usual = MethodSeries(families, address, port, method: method, operation, outcomes: Self.outcomes)
    for reason in [RetryDenial.Reason.budget, .overload] {
      _ = families.retriesDenied.with(address, port, reason.rawValue)
    }
    if operation.isEmpty { for reason in Self.likelyRetries { _ = families.retries.with(address, port, reason, "") } }
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

  private final class Mark: Sendable {}

  // MARK: Operations

  var isOfOperation: Bool { !operation.isEmpty }

  /// The metrics of an operation of the destination.
  ///
  /// - Parameter method: The label of the request's method.
  func of(_ operation: NamedOperation, method: @autoclosure () -> String) -> DestinationMetrics {
    if let known = operation.note.withLock({ $0 }) as? DestinationMetrics, known.mark === mark { return known }
    let metrics = named(operation.name, method())
    // Each request of those beyond the limit is counted as folded, so it is looked up again.
    if metrics.operation != DestinationIndex.sharedName { operation.note.withLock { $0 = metrics } }
    return metrics
  }

  private func named(_ name: String, _ method: String) -> DestinationMetrics {
    operations.withLock { operations in
      if let known = operations[name] { return known }
      let isOwn = operations.count { $0.key != DestinationIndex.sharedName } < families.operationLimit
      if !isOwn { families.foldOperation() }
      let label = isOwn ? name : DestinationIndex.sharedName
      if let known = operations[label] { return known }
      let new = DestinationMetrics(families, address, port, method: method, operation: label, mark)
      operations[label] = new
      return new
    }
  }

  func prepare(method: String) {
    _ = series(of: method)
  }

  func started(method: String) {
    series(of: method).started.add()
  }

  /// - Parameters:
  ///   - trace: The request's trace, if it is sampled.
  ///   - span: The request's span, if it is recorded.
  func settled(
    method: String, outcome: RequestOutcome, seconds: Double, trace: TraceContext? = nil, span: UInt64? = nil
  ) {
    guard let index = Self.outcomes.firstIndex(of: outcome) else { return }
    let duration =
      switch outcome {
      case .success: succeeded
      case .cancelled: cancelled
      default: failed
      }
    if let trace { duration.observe(seconds, trace, span: span) } else { duration.observe(seconds) }
    // Counted last, because the code that waits to forget the destination waits for this count.
    series(of: method).settled[index].add()
  }

  /// Brings the counters of requests up to date, and sets those in flight to the started less the settled.
  func show() {
    // The operations first: what has settled is read before what has started.
    let operations = operations.withLock { Array($0.values) }
    let settled = operations.reduce(0) { $0 + $1.showMethods() }
    inFlight.set(Double(settled + showMethods()))
  }

  /// Returns the number of requests that were started here and have not settled here.
  private func showMethods() -> Int {
    let others = others.withLock { Array($0.values) }
    return others.reduce(usual.show()) { $0 + $1.show() }
  }

  /// Whether no request or attempt is under way and no connection is open.
  var isQuiet: Bool {
    show()
    // Below zero are connections that were opened while the destination was counted with others beyond the limit.
    return inFlight.value == 0 && activeAttempts.value == 0 && openConnections.load(ordering: .relaxed) <= 0
  }

  /// The series of a method, with all outcomes at zero from its first request on. Methods are few: unknown ones are
  /// `_OTHER`.
  private func series(of method: String) -> MethodSeries {
    if method == usual.method { return usual }
    return others.withLock { others in
      if let known = others[method] { return known }
      let series = MethodSeries(families, address, port, method: method, operation, outcomes: Self.outcomes)
      others[method] = series
      return series
    }
  }

  func attemptEnded(method: String, _ report: AttemptReport, errorType: String) {
    let series = series(
      of: AttemptLabels(method: method, status: report.statusCode, errorType: errorType),
      version: VersionLabel.of(report.networkProtocolName), encoding: EncodingLabel.of(report.contentEncoding))
    series.duration.observe(report.total ?? 0)
    series.attempts.increment()
    series.wireBytes.increment(by: Int(clamping: report.bytesReceivedOnWire))
    series.decodedBytes.increment(by: Int(clamping: report.bytesDecoded))
  }

  private func series(of labels: AttemptLabels, version: String, encoding: String) -> AttemptSeries {
    ended.withLock { ended in
      if let last = ended.last, last.labels == labels, last.version == version, last.encoding == encoding {
        return last
      }
      let isOwn = ended.share.admits(labels, limit: SeriesLimits.ownAttempts(isNamed: isOfOperation))
      let series = AttemptSeries(
        labels, version: version, encoding: encoding, operation, isCoarse: !isOwn, families, address, port)
      ended.last = series
      return series
    }
  }

  /// Counts one in a family that has one label besides those of the destination.
  func count(_ value: String, in family: CounterFamily<(String, String, String)>) {
    family.with(address, port, value).increment()
  }

  func retried(because reason: RetryReason) {
    let limit = SeriesLimits.ownRetryReasons(isNamed: isOfOperation)
    let isOwn = reasons.withLock { $0.admits(reason.rawValue, limit: limit) }
    let label = isOwn ? reason.rawValue : CoarseLabel.of(reason.rawValue)
    families.retries.with(address, port, label, operation).increment()
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

/// Method, status and error of an ended attempt: the labels that the server and the caller can influence.
private struct AttemptLabels: Hashable {
  let method: String
  let status: Int?
  let errorType: String
}

/// The series of ended attempts that are alike.
private final class AttemptSeries: Sendable {
  let labels: AttemptLabels
  let version: String
  let encoding: String
  let duration: Histogram
  let attempts, wireBytes, decodedBytes: Counter

  init(
    _ labels: AttemptLabels, version: String, encoding: String, _ operation: String, isCoarse: Bool,
    _ families: ClientMetrics, _ address: String, _ port: String
  ) {
    self.labels = labels
    self.version = version
    self.encoding = encoding
    let (status, error) = (labels.status.map(String.init) ?? "", labels.errorType)
    duration =
      isCoarse
      ? families.attemptDuration.with(
        address, port, MethodLabel.other, CoarseLabel.of(status), CoarseLabel.of(error), operation)
      : families.attemptDuration.with(address, port, labels.method, status, error, operation)
    attempts = families.attempts.with(address, port, version)
    wireBytes = families.wireBytes.with(address, port, encoding)
    decodedBytes = families.decodedBytes.with(address, port, encoding)
  }
}

/// The series of an adapter. The failures that any adapter may have are shown at zero from its first call on; those that a
/// token service names are shown from the first of them on.
private struct AdapterSeries: Sendable {
  let duration: Histogram
  let failures: [AdaptationFailure: Counter]
}
