import Foundation
import FoundationNetworking
import Synchronization
import Weir
import WeirCurl
import WeirMetrics
import WeirTransport

/// The metric handles of one destination, looked up once and kept.
///
/// Counters that an alert reads are made here, at zero, so that the first burst shows as an increase and not as a new
/// series. Other series with labels or buckets, most of the page, appear once something was counted.
final class DestinationMetrics: Sendable {
  let address: String
  let port: String
  let requestsFailed: Counter
  let attemptsStarted: Counter
  let attemptsPerRequest: LazyHistogram
  let activeAttempts: Gauge
  let requestBodySize: LazyHistogram
  let responseBodySize: LazyHistogram
  let connectionsOpened: Counter
  let connectionsReused: Counter
  let staleRetries: Counter
  /// The attempts that were answered with 429.
  let limited: Counter
  let shed: [ShedReason: Counter]
  let abandoned: [AbandonedPhase: Counter]
  let openConnections = Atomic(0)
  private let hasCircuit = Atomic(false)
  let hasBaseline = Atomic(false)
  let hasServiceRate = Atomic(false)
  let families: ClientMetrics
  private let inFlight: Gauge
  let phases: PhaseHistograms
  private let durations: DurationHistograms
  private let gets: MethodSeries
  private let others = Mutex<[String: MethodSeries]>([:])
  private let adapters = Mutex<[String: AdapterSeries]>([:])
  /// The number of adapters whose handles are kept. A program chooses their names, and might make up new ones all the
  /// time.
  private static let adapterLimit = 64
  private let kinds = Mutex(AttemptKinds())
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
    return RetryPolicy.defaultRetryableHTTPStatusCodes.map(String.init)
      + codes.map(\.label)
  }()

  init(_ families: ClientMetrics, address: String, port: String) {
    self.families = families
    self.address = address
    self.port = port
    inFlight = families.requestsInFlight.with(address, port)
    requestsFailed = families.requestsFailed.with(address, port)
    attemptsStarted = families.attemptsStarted.with(address, port)
    let attempts = families.requestAttempts
    attemptsPerRequest = LazyHistogram { attempts.with(address, port) }
    activeAttempts = families.activeAttempts.with(address, port)
    let (sent, received) = (families.requestBodySize, families.responseBodySize)
    requestBodySize = LazyHistogram { sent.with(address, port) }
    responseBodySize = LazyHistogram { received.with(address, port) }
    connectionsOpened = families.connectionsOpened.with(address, port)
    connectionsReused = families.connectionsReused.with(address, port)
    staleRetries = families.staleRetries.with(address, port)
    let (phase, duration) = (families.phaseDuration, families.requestDuration)
    phases = PhaseHistograms { phase.with(address, port, $0.name) }
    durations = DurationHistograms { duration.with(address, port, $0.rawValue) }
    gets = MethodSeries(families, address, port, method: "GET", outcomes: Self.outcomes)
    for reason in [RetryDenial.Reason.budget, .overload] {
      _ = families.retriesDenied.with(address, port, reason.rawValue)
    }
    for reason in Self.likelyRetries { _ = families.retries.with(address, port, reason) }
    limited = families.limited.with(address, port)
    shed = Self.handles { families.shed.with(address, port, $0) }
    abandoned = Self.handles { families.abandoned.with(address, port, $0) }
  }

  /// The counters of all values of a label, at zero.
  private static func handles<Value: RawRepresentable<String> & Hashable & CaseIterable>(
    _ handle: (String) -> Counter
  ) -> [Value: Counter] {
    Dictionary(uniqueKeysWithValues: Value.allCases.map { ($0, handle($0.rawValue)) })
  }

  func prepare(method: String) {
    _ = series(of: method)
  }

  func started(method: String) {
    series(of: method).started.add()
  }

  ///
  /// - Parameter traceID: The request's trace, if it is sampled.
  func settled(method: String, outcome: RequestOutcome, seconds: Double, traceID: String? = nil) {
    guard let index = Self.outcomes.firstIndex(of: outcome) else { return }
    let duration = durations[RequestResult(outcome)]
    if let traceID { duration.observe(seconds, traceID: traceID) } else { duration.observe(seconds) }
    // Counted last, because the code that waits to forget the destination waits for this count.
    series(of: method).settled[index].add()
  }

  /// Brings the counters of requests up to date, and sets those in flight to the started less the settled.
  func show() {
    let others = others.withLock { Array($0.values) }
    inFlight.set(Double(others.reduce(gets.show()) { $0 + $1.show() }))
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
    if method == "GET" { return gets }
    return others.withLock { others in
      if let known = others[method] { return known }
      let series = MethodSeries(families, address, port, method: method, outcomes: Self.outcomes)
      others[method] = series
      return series
    }
  }

  func attemptEnded(method: String, _ report: AttemptReport, errorType: String) {
    let kind = AttemptKind(
      labels: AttemptLabels(method: method, status: report.statusCode, errorType: errorType),
      version: VersionLabel.of(report.networkProtocolName), encoding: EncodingLabel.of(report.contentEncoding))
    let series = series(of: kind)
    series.duration.observe(report.total ?? 0)
    series.attempts.increment()
    series.wireBytes.increment(by: Int(clamping: report.bytesReceivedOnWire))
    series.decodedBytes.increment(by: Int(clamping: report.bytesDecoded))
  }

  /// The series of a kind of attempt. Attempts of one kind mostly follow each other, so the last one's series are kept.
  private func series(of kind: AttemptKind) -> AttemptSeries {
    kinds.withLock { kinds in
      if let last = kinds.last, last.kind == kind { return last }
      let isOwn = kinds.share.admits(kind.labels, limit: SeriesLimits.ownAttempts)
      let series = AttemptSeries(kind, isCoarse: !isOwn, families, address, port)
      kinds.last = series
      return series
    }
  }

  func retried(because reason: RetryReason) {
    let isOwn = reasons.withLock { $0.admits(reason.rawValue, limit: SeriesLimits.ownRetryReasons) }
    families.retries.with(address, port, isOwn ? reason.rawValue : CoarseLabel.of(reason.rawValue)).increment()
  }

  func granted(after delay: Double, source: RetryDelaySource) {
    families.retryDelay.with(address, port, source.rawValue).observe(delay)
  }

  func denied(_ reason: RetryDenial.Reason) {
    families.retriesDenied.with(address, port, reason.rawValue).increment()
  }

  func hedged(_ event: HedgeEvent) {
    guard event != .started else { return }
    families.hedges.with(address, port, event.rawValue).increment()
  }

  func lookedUp(_ result: CacheResult) {
    families.cacheRequests.with(address, port, result.rawValue).increment()
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
    if isKnown || state != .closed { families.circuitTransitions.with(address, port, state.rawValue).increment() }
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
    guard gauges.contains(.circuit), hasCircuit.exchange(false, ordering: .relaxed) else { return }
    for state in CircuitState.allCases { families.circuitState.remove(address, port, state.rawValue) }
  }

  func prepare(adapter: String) {
    _ = series(ofAdapter: adapter)
  }

  func adapted(by adapter: String, seconds: Double, failure: AdaptationFailure?) {
    let series = series(ofAdapter: adapter)
    series.duration.observe(seconds)
    if let failure { series.failures[failure]?.increment() }
  }

  private func series(ofAdapter name: String) -> AdapterSeries {
    adapters.withLock { adapters in
      if let known = adapters[name] { return known }
      let series = AdapterSeries(families, address, port, name)
      if adapters.count < Self.adapterLimit { adapters[name] = series }
      return series
    }
  }

  func redirected(status: Int) {
    families.redirects.with(address, port, String(status)).increment()
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
