public import Foundation
public import FoundationNetworking
import Synchronization
public import Weir
import WeirCurl
import WeirIO
public import WeirMetrics
package import WeirTransport

/// The gauges of the limits on a destination's attempts.
package struct ControlGauges: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  package static let budget = ControlGauges(rawValue: 1)
  package static let circuit = ControlGauges(rawValue: 2)
  package static let overload = ControlGauges(rawValue: 4)
  package static let pace = ControlGauges(rawValue: 8)
  package static let all: ControlGauges = [.budget, .circuit, .overload, .pace]
}

/// Turns a session's events into metrics. Add it to `eventMonitors`; one monitor may serve several sessions.
///
/// It is called in line on the event loop and costs a few atomic additions per event. Destinations beyond
/// ``destinationLimit`` are counted together as `_other`, in every family, so that ratios between families stay true.
///
/// Counts of several sessions for one destination add up. But each session has its own retry budget, circuit, load
/// control and pace for it. The gauges of these show the value that was reported last, by whichever session.
public final class MetricsMonitor: InlineEventMonitor {
  /// The number of destinations that have series of their own.
  public let destinationLimit: Int
  /// The number of each destination's operations (`Request.operation(_:)`) that have series of their own. The others are
  /// counted together as `_other`, and in `weir_metrics_series_folded_total`. At most 10,000.
  public let operationLimit: Int
  package static let mostOperations = 10_000
  private let families: ClientMetrics
  private let destinations: DestinationIndex
  /// What a status page of the same registry shows of single requests.
  private let recent: RecentRequests

  /// Registers the client's metrics. Throws if the registry holds other metrics of these names, such as another
  /// monitor's.
  ///
  /// Each family has room for `destinationLimit` destinations, whatever the registry's own limit says; docs/metrics.md
  /// has the numbers.
  public init(registry: Registry, destinationLimit: Int = 200, operationLimit: Int = 20) throws(RegistryError) {
    // There are two more sets of series: for requests without a destination, and for destinations beyond the limit.
    let shown = max(0, min(destinationLimit, .max - 2)) + 2
    let operations = max(0, min(operationLimit, Self.mostOperations))
    families = try ClientMetrics(registry, SeriesLimits(destinations: shown, operations: operations))
    destinations = DestinationIndex(families, limit: destinationLimit)
    self.destinationLimit = destinationLimit
    self.operationLimit = operations
    recent = registry.companion { RecentRequests() }
    try registry.register(OpenConnections(destinations: destinations, limit: families.limits.connectionStates))
    registry.beforeEachPage { [destinations] in
      for metrics in destinations.all { metrics.show() }
    }
  }

  /// The events that it doesn't get as an observer of the transport.
  public var interests: EventInterests { [.adaptations, .redirects, .session, .refreshes] }

  /// Makes a destination's series at zero before the first request goes there; of the methods, only those of GET.
  public func prepare(_ destination: Destination) {
    _ = destinations.metrics(of: destination)
  }

  /// Makes the series at zero of a destination that has a pace. Otherwise this happens when an attempt first waits there, or
  /// is refused, or when the destination asks for a pause.
  package func preparePace(of destination: Destination) { destinations.metrics(of: destination).pace.begin() }

  /// Removes a destination's series from the page when no more requests will go there; otherwise the page only grows.
  /// They are also those of a destination that differs only in its scheme. Returns false, and does nothing, while
  /// requests are under way or connections are open.
  @discardableResult
  public func forget(_ destination: Destination) -> Bool {
    destinations.forget([destination.server]).isEmpty
  }

  /// Does the same with many servers, and returns those of which nothing was removed.
  package func forget(_ servers: [Destination.Server]) -> [Destination.Server] { destinations.forget(servers) }

  /// Removes the series of operations that no more requests will have. Returns those of which requests are under way.
  package func forget(operations: [String]) -> [String] { destinations.forget(operations: operations) }

  /// Removes from the page those gauges of a destination whose limits no longer apply to it.
  package func remove(_ gauges: ControlGauges, of destination: Destination) {
    destinations.known(destination)?.remove(gauges)
  }

  /// Makes a method's series for a destination at zero. Otherwise this happens when the first such request starts.
  public func prepare(method: HTTPMethod, for destination: Destination) {
    destinations.operations(of: destination).unnamed.prepare(method: MethodLabel.of(method.rawValue))
  }

  /// Makes an adapter's series for a destination at zero, before it has adapted anything.
  public func prepare(adapter: String, for destination: Destination) {
    destinations.metrics(of: destination).prepare(adapter: adapter)
  }

  /// The same for a credential of the gateway.
  package func prepare(credential: String, for destination: Destination) {
    destinations.metrics(of: destination).prepare(credential: credential)
  }

  /// Makes the series at zero of an interceptor that refreshes credentials. Otherwise this happens when its first
  /// refresh begins, and a scrape may first see the series when that refresh has failed.
  public func prepare(interceptor: String) {
    for outcome in RefreshEvent.Outcome.allCases { _ = families.authRefreshes.with(interceptor, outcome.rawValue) }
    _ = families.authRefreshWaiters.with(interceptor)
  }

  /// Removes the series of an interceptor that is gone.
  package func forget(interceptor: String) {
    let gone = LabelChoice(["interceptor"], [[interceptor]])
    families.authRefreshes.removeAll(gone)
    families.authRefreshDuration.removeAll(gone)
    families.authRefreshWaiters.removeAll(gone)
  }

  // MARK: Events that the transport doesn't report

  public func request(_ request: Request, cache result: CacheResult) {
    destinations.metrics(of: request.destination).count(result.rawValue, in: families.cacheRequests)
  }

  public func request(
    _ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?
  ) {
    destinations.metrics(of: request.destination).adapted(
      by: name, seconds: duration, failure: error.map(AdaptationFailure.init))
  }

  public func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) {
    destinations.metrics(of: task.destination).count(String(response.statusCode), in: families.redirects)
  }

  public func session(_ session: Session, loopLag lag: TimeInterval) {
    families.loopLag.with("session").observe(lag)
  }

  public func session(_ session: Session, refresh event: RefreshEvent) { refresh(event) }

  /// An event of a credential, whoever refreshes it.
  package func refresh(_ event: RefreshEvent) {
    switch event.kind {
    case .began: prepare(interceptor: event.interceptor)
    case .waiting(let change): families.authRefreshWaiters.with(event.interceptor).increment(by: Double(change))
    case .ended(let duration, let outcome):
      families.authRefreshes.with(event.interceptor, outcome.rawValue).increment()
      if outcome != .excessive { families.authRefreshDuration.with(event.interceptor).observe(duration) }
    }
  }
}

// Events of exchanges, attempts, destinations and connections, from sessions and from the gateway.
extension MetricsMonitor: SharedTransportObserver {
  package var transportInterests: TransportInterests { [.connections, .resilience] }

  private func metrics(of exchange: any TransportExchange) -> DestinationMetrics { operation(of: exchange).destination }

  private func operation(of exchange: any TransportExchange) -> OperationMetrics {
    let admission = exchange.admission
    // A note may belong to another monitor.
    if let known = admission.note as? OperationMetrics, known.destination.families === families { return known }
    let metrics = destinations.operations(of: admission.state?.destination)
      .metrics(of: exchange.operation, method: MethodLabel.of(exchange.method))
    // Without a state the destination is not known yet.
    if admission.state != nil { admission.note = metrics }
    return metrics
  }

  package func exchangeBegan(_ exchange: any TransportExchange) {
    operation(of: exchange).started(method: MethodLabel.of(exchange.method))
  }

  package func exchange(
    _ exchange: any TransportExchange, didAdaptUsing name: String, duration: Double, failed: AdaptationFailure?
  ) {
    metrics(of: exchange).adapted(by: name, seconds: duration, failure: failed)
  }

  package func exchange(_ exchange: any TransportExchange, didSettle end: ExchangeEnd) {
    let operation = operation(of: exchange)
    let metrics = operation.destination
    metrics.attemptsPerRequest.observe(Double(end.attempts))
    if let seconds = end.serialization { metrics.phases.observe(.serialization, seconds) }
    if end.isDestinationsFault { metrics.requestsFailed.increment() }
    if recent.isOn { note(exchange, end) }
    operation.settled(
      method: MethodLabel.of(exchange.method), outcome: end.outcome, seconds: end.duration,
      trace: exchange.sampledTrace, span: exchange.recordedSpan)
  }

  private func note(_ exchange: any TransportExchange, _ end: ExchangeEnd) {
    let isSlow = recent.isSlow(end.duration)
    guard isSlow || end.isDestinationsFault else { return }
    var request = RecentRequest(time: Date().timeIntervalSince1970)
    request.upstream =
      exchange.destination.map { StatusReport.Upstream.name(host: $0.host, port: String($0.port)) } ?? ""
    request.endpoint = exchange.admission.lastEndpoint
    request.method = exchange.method ?? ""
    request.path = RecentRequest.shown(path: exchange.path ?? "")
    request.status = end.status ?? 0
    request.outcome = end.outcome.rawValue
    request.seconds = end.duration
    request.attempts = end.attempts
    request.traceID = exchange.sampledTrace?.traceID
    if end.isDestinationsFault { recent.noteFailure(request) }
    if isSlow { recent.noteSlow(request) }
  }

  package func exchange(_ exchange: any TransportExchange, didStartAttempt number: Int) {
    let metrics = metrics(of: exchange)
    metrics.attemptsStarted.increment()
    metrics.activeAttempts.increment()
  }

  package func exchange(
    _ exchange: any TransportExchange, didEndAttempt number: Int, _ report: AttemptReport, error: (any LabelledError)?
  ) {
    let operation = operation(of: exchange)
    let metrics = operation.destination
    operation.attemptEnded(
      method: MethodLabel.of(exchange.method), report, errorType: ErrorLabel.of(status: report.statusCode, error))
    if report.isReusedConnection { metrics.connectionsReused.increment() }
    metrics.phases.observe(report.phases)
    if report.bytesSent > 0 { metrics.requestBodySize.observe(Double(report.bytesSent)) }
    metrics.responseBodySize.observe(Double(report.bytesReceivedOnWire))
    if report.statusCode == 429 { metrics.limited.increment() }
    if report.staleConnectionRetries > 0 { metrics.staleRetries.increment(by: report.staleConnectionRetries) }
    metrics.activeAttempts.decrement()
  }

  package func exchange(
    _ exchange: any TransportExchange, willRetryAfter delay: Double, source: RetryDelaySource, reason: RetryReason
  ) {
    metrics(of: exchange).granted(after: delay, source: source)
  }

  package func exchange(_ exchange: any TransportExchange, retriesDueTo reason: RetryReason?) {
    if let reason { operation(of: exchange).retried(because: reason) }
  }

  package func exchange(_ exchange: any TransportExchange, didDenyRetry reason: RetryDenial.Reason) {
    metrics(of: exchange).count(reason.rawValue, in: families.retriesDenied)
  }

  package func exchange(_ exchange: any TransportExchange, hedge event: HedgeEvent) {
    let metrics = metrics(of: exchange)
    if event != .started { metrics.count(event.rawValue, in: families.hedges) }
  }

  package func exchange(_ exchange: any TransportExchange, waitedForPace seconds: Double) {
    metrics(of: exchange).pace.waited(seconds)
  }

  package func exchange(_ exchange: any TransportExchange, wasShed reason: ShedReason) {
    metrics(of: exchange).shed(reason)
  }

  package func exchange(_ exchange: any TransportExchange, abandonedIn phase: AbandonedPhase) {
    metrics(of: exchange).abandoned[phase]?.increment()
  }

  package func lagObserver(ofLoop name: String) -> @Sendable (Double) -> Void {
    let lag = families.loopLag.with(name)
    return { lag.observe($0) }
  }

  package func connection(_ event: ConnectionEvent) {
    let metrics = destinations.metrics(of: event.destination)
    switch event.kind {
    case .opened:
      metrics.connectionsOpened.increment()
      metrics.openConnections.add(1, ordering: .relaxed)
    case .closed: metrics.openConnections.subtract(1, ordering: .relaxed)
    case .reused, .idle: break
    }
  }

  package func destination(_ destination: Destination, availableRetries: Double) {
    destinations.metrics(of: destination).retryBudget(available: availableRetries)
  }

  package func destination(_ destination: Destination, entered state: CircuitState) {
    destinations.metrics(of: destination).circuit(entered: state)
  }

  package func destination(_ destination: Destination, entered state: OverloadState) {
    destinations.metrics(of: destination).overload(entered: state)
  }

  package func destination(_ destination: Destination, endpoint event: EndpointEvent) {}

  package func destination(_ destination: Destination, pause report: PauseReport) {
    destinations.metrics(of: destination).pace.paused(report, at: .now)
  }

  package func destination(_ destination: Destination, overload report: OverloadReport) {
    destinations.metrics(of: destination).overload(report)
  }
}
