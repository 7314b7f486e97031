public import Foundation
public import FoundationNetworking
import Synchronization
public import Weir
import WeirCurl
public import WeirMetrics

/// The gauges of what bounds a destination's attempts.
package struct ControlGauges: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  package static let budget = ControlGauges(rawValue: 1)
  package static let circuit = ControlGauges(rawValue: 2)
  package static let limit = ControlGauges(rawValue: 4)
  package static let all: ControlGauges = [.budget, .circuit, .limit]
}

/// Turns a session's events into metrics. Add it to `eventMonitors`; one monitor may serve several sessions.
///
/// It is called in line on the event loop and costs a few atomic additions per event. Destinations beyond
/// ``destinationLimit`` are counted together as `_other`, in every family, so that ratios between families stay true.
///
/// What several sessions count of one destination adds up. Each has a retry budget, a circuit and an adaptive limit of its
/// own there, though: the gauges of these show what was told last, by whichever session.
public final class MetricsMonitor: InlineEventMonitor {
  /// How many destinations have series of their own.
  public let destinationLimit: Int
  private let families: ClientMetrics
  private let destinations: DestinationIndex

  /// Registers the client's metrics; throws when the registry holds other metrics of these names, as another monitor's.
  ///
  /// Each family has room for `destinationLimit` destinations, whatever the registry's own limit says; docs/metrics.md
  /// has the numbers.
  public init(registry: Registry, destinationLimit: Int = 200) throws(RegistryError) {
    // Two more: requests without a destination, and those beyond the limit.
    let shown = max(0, min(destinationLimit, .max - 2)) + 2
    families = try ClientMetrics(registry, destinations: shown)
    destinations = DestinationIndex(families, limit: destinationLimit)
    self.destinationLimit = destinationLimit
    try registry.register(
      OpenConnections(destinations: destinations, limit: SeriesLimits(destinations: shown).connectionStates))
    registry.beforeEachPage { [destinations] in
      for metrics in destinations.all { metrics.show() }
    }
  }

  public var interests: EventInterests {
    [.creation, .attempts, .connections, .redirects, .session, .resilience, .refreshes]
  }

  /// Makes a destination's series at zero before the first request goes there; of methods, those of GET.
  public func prepare(_ destination: Destination) {
    _ = destinations.metrics(of: destination)
  }

  /// Takes a destination's series off the page, when nobody is going to send requests there any more: else the page only
  /// grows. False, and nothing done, while requests are under way or connections open.
  @discardableResult
  public func forget(_ destination: Destination) -> Bool {
    destinations.forget(destination)
  }

  /// Takes gauges of a destination off the page, of what is not applied to it any more.
  package func remove(_ gauges: ControlGauges, of destination: Destination) {
    destinations.metrics(of: destination).remove(gauges)
  }

  /// Makes a method's series for a destination at zero; else that is done when such a request starts.
  public func prepare(method: HTTPMethod, for destination: Destination) {
    destinations.metrics(of: destination).prepare(method: MethodLabel.of(method))
  }

  /// Makes an adapter's series for a destination at zero, before it has adapted anything.
  public func prepare(adapter: String, for destination: Destination) {
    destinations.metrics(of: destination).prepare(adapter: adapter)
  }

  /// Makes the series of an interceptor that refreshes credentials at zero; else that is done when its first refresh
  /// begins, and a scrape may see that only with its failure.
  public func prepare(interceptor: String) {
    for outcome in RefreshEvent.Outcome.allCases { _ = families.authRefreshes.with(interceptor, outcome.rawValue) }
    _ = families.authRefreshWaiters.with(interceptor)
  }

  // MARK: Requests

  public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
    guard request.retryCount == 0 else { return }
    started(request)
  }

  public func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError) {
    guard request.retryCount == 0 else { return }
    started(request)
  }

  public func requestDidSettle(_ request: Request, outcome: RequestOutcome) {
    // Nil: it ended before it began.
    guard let duration = request.duration else { return }
    let metrics = destinations.metrics(of: request.destination)
    metrics.attemptsPerRequest.observe(Double(request.attemptCount))
    if let seconds = request.serializationDuration { metrics.phases[.serialization].observe(seconds) }
    if outcome != .success,
      RequestFault.isDestinations(outcome, request.error, status: request.lastMetrics?.statusCode)
    {
      metrics.requestsFailed.increment()
    }
    metrics.settled(method: Self.method(of: request), outcome: outcome, seconds: duration)
  }

  private func started(_ request: Request) {
    destinations.metrics(of: request.destination).started(method: Self.method(of: request))
  }

  // MARK: Attempts

  public func request(_ request: Request, didStartAttempt number: Int) {
    let metrics = destinations.metrics(of: request.destination)
    metrics.attemptsStarted.increment()
    metrics.activeAttempts.increment()
  }

  public func request(
    _ request: Request, didEndAttempt number: Int, metrics transfer: TransferMetrics, error: WeirError?
  ) {
    let metrics = destinations.metrics(of: request.destination)
    metrics.attemptEnded(
      method: Self.method(of: request), metrics: transfer, errorType: ErrorLabel.of(status: transfer.statusCode, error))
    if transfer.isReusedConnection { metrics.connectionsReused.increment() }
    metrics.phases.observe(transfer.phases)
    if transfer.bytesSent > 0 { metrics.requestBodySize.observe(Double(transfer.bytesSent)) }
    metrics.responseBodySize.observe(Double(transfer.bytesReceivedOnWire))
    if transfer.staleConnectionRetries > 0 { metrics.staleRetries.increment(by: transfer.staleConnectionRetries) }
    metrics.activeAttempts.decrement()
  }

  public func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {
    destinations.metrics(of: request.destination).granted(after: delay, source: source)
  }

  public func requestIsRetrying(_ request: Request) {
    guard let reason = request.retryReason else { return }
    destinations.metrics(of: request.destination).retried(because: reason)
  }

  public func request(_ request: Request, didDenyRetry denial: RetryDenial) {
    destinations.metrics(of: request.destination).denied(denial.reason)
  }

  public func request(_ request: Request, cache result: CacheResult) {
    destinations.metrics(of: request.destination).lookedUp(result)
  }

  public func request(_ request: Request, hedge event: HedgeEvent) {
    destinations.metrics(of: request.destination).hedged(event)
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
    let destination = task.originalRequest?.url.flatMap { Destination(url: $0) }
    destinations.metrics(of: destination).redirected(status: response.statusCode)
  }

  // MARK: The session

  public func session(_ session: Session, connectionEvent event: ConnectionEvent) {
    switch event.kind {
    case .opened:
      let metrics = destinations.metrics(of: event.destination)
      metrics.connectionsOpened.increment()
      metrics.openConnections.add(1, ordering: .relaxed)
    case .closed: destinations.metrics(of: event.destination).openConnections.subtract(1, ordering: .relaxed)
    case .reused, .idle: break
    }
  }

  public func session(_ session: Session, loopLag lag: TimeInterval) {
    families.loopLag.observe(lag)
  }

  public func session(_ session: Session, retryBudget destination: Destination, available: Double) {
    destinations.metrics(of: destination).retryBudget(available: available)
  }

  public func session(_ session: Session, circuit destination: Destination, entered state: CircuitState) {
    destinations.metrics(of: destination).circuit(entered: state)
  }

  public func session(_ session: Session, concurrencyLimit destination: Destination, limit: Int) {
    destinations.metrics(of: destination).concurrencyLimit(limit)
  }

  public func session(_ session: Session, refresh event: RefreshEvent) {
    switch event.kind {
    case .began: prepare(interceptor: event.interceptor)
    case .waiting(let change): families.authRefreshWaiters.with(event.interceptor).increment(by: Double(change))
    case .ended(let duration, let outcome):
      families.authRefreshes.with(event.interceptor, outcome.rawValue).increment()
      if outcome != .excessive { families.authRefreshDuration.with(event.interceptor).observe(duration) }
    }
  }

  private static func method(of request: Request) -> String { MethodLabel.of(request.method) }
}
