import Synchronization

/// Passes the transport's events on to the session's monitors. An event of one request goes to the request's own
/// monitors too. Monitors that observe the transport themselves get the event first.
extension SessionCore: TransportObserver {
  var transportInterests: TransportInterests {
    var interests = monitors.observers.reduce(into: TransportInterests()) { $0.formUnion($1.transportInterests) }
    if monitors.wants(.connections) { interests.insert(.connections) }
    if monitors.wants(.connectionUse) { interests.insert(.connectionUse) }
    if monitors.wants(.resilience) { interests.insert(.resilience) }
    return interests
  }

  // MARK: Exchanges and attempts

  /// Tells the exchange's observers, then calls `monitor` with the request's monitors and the request.
  private func tell(
    _ exchange: any TransportExchange, _ observe: (any TransportObserver) -> Void,
    _ monitor: (CompositeEventMonitor, Request) -> Void = { _, _ in }
  ) {
    guard let pipeline = exchange as? RequestPipeline else { return }
    for observer in pipeline.monitors.observers { observe(observer) }
    monitor(pipeline.monitors, pipeline.request)
  }

  func exchangeBegan(_ exchange: any TransportExchange) {
    tell(exchange, { $0.exchangeBegan(exchange) })
  }

  func exchange(
    _ exchange: any TransportExchange, willRetryAfter delay: Double, source: RetryDelaySource, reason: RetryReason
  ) {
    tell(exchange, { $0.exchange(exchange, willRetryAfter: delay, source: source, reason: reason) }) {
      $0.request($1, willRetryAfter: delay, source: source, reason: reason)
    }
  }

  func exchange(_ exchange: any TransportExchange, retriesDueTo reason: RetryReason?) {
    tell(exchange, { $0.exchange(exchange, retriesDueTo: reason) }) { $0.requestIsRetrying($1) }
  }

  func exchange(_ exchange: any TransportExchange, didDenyRetry reason: RetryDenial.Reason) {
    tell(exchange, { $0.exchange(exchange, didDenyRetry: reason) }) {
      $0.request($1, didDenyRetry: RetryDenial(reason: reason))
    }
  }

  func exchange(_ exchange: any TransportExchange, hedge event: HedgeEvent) {
    tell(exchange, { $0.exchange(exchange, hedge: event) }) { $0.request($1, hedge: event) }
  }

  func exchange(_ exchange: any TransportExchange, waitedForPace seconds: Double) {
    tell(exchange, { $0.exchange(exchange, waitedForPace: seconds) }) { $0.request($1, waitedForPace: seconds) }
  }

  func exchange(_ exchange: any TransportExchange, wasShed reason: ShedReason) {
    tell(exchange, { $0.exchange(exchange, wasShed: reason) }) { $0.request($1, wasShed: reason) }
  }

  func exchange(_ exchange: any TransportExchange, abandonedIn phase: AbandonedPhase) {
    tell(exchange, { $0.exchange(exchange, abandonedIn: phase) }) { $0.request($1, abandonedIn: phase) }
  }

  func exchange(_ exchange: any TransportExchange, didSettle end: ExchangeEnd) {
    tell(exchange, { $0.exchange(exchange, didSettle: end) })
  }

  func exchange(_ exchange: any TransportExchange, didStartAttempt number: Int) {
    tell(exchange, { $0.exchange(exchange, didStartAttempt: number) }) { $0.request($1, didStartAttempt: number) }
  }

  func exchange(
    _ exchange: any TransportExchange, didEndAttempt number: Int, _ report: AttemptReport, error: (any LabelledError)?
  ) {
    tell(exchange, { $0.exchange(exchange, didEndAttempt: number, report, error: error) }) { monitors, request in
      guard monitors.wants(.attempts), let metrics = request.metrics(ofAttempt: number) else { return }
      monitors.request(request, didEndAttempt: number, metrics: metrics, error: error as? WeirError)
    }
  }

  // MARK: Destinations and connections

  private func tell(_ observe: (any TransportObserver) -> Void, _ monitor: (CompositeEventMonitor, Session) -> Void) {
    guard let session else { return }
    for observer in monitors.observers { observe(observer) }
    monitor(monitors, session)
  }

  func connection(_ event: ConnectionEvent) {
    tell({ $0.connection(event) }, { $0.session($1, connectionEvent: event) })
  }

  func destination(_ destination: Destination, availableRetries: Double) {
    tell({ $0.destination(destination, availableRetries: availableRetries) }) {
      $0.session($1, retryBudget: destination, available: availableRetries)
    }
  }

  func destination(_ destination: Destination, entered state: CircuitState) {
    tell({ $0.destination(destination, entered: state) }, { $0.session($1, circuit: destination, entered: state) })
  }

  func destination(_ destination: Destination, entered state: OverloadState) {
    tell({ $0.destination(destination, entered: state) }, { $0.session($1, overload: destination, entered: state) })
  }

  func destination(_ destination: Destination, endpoint event: EndpointEvent) {
    tell({ $0.destination(destination, endpoint: event) }) {
      $0.session($1, endpointsOf: destination, event: event)
    }
  }

  func destination(_ destination: Destination, pause report: PauseReport) {
    tell({ $0.destination(destination, pause: report) }, { $0.session($1, pace: destination, report: report) })
  }

  func destination(_ destination: Destination, overload report: OverloadReport) {
    tell({ $0.destination(destination, overload: report) }) {
      $0.session($1, overload: destination, report: report)
    }
  }
}

extension Request {
  fileprivate func metrics(ofAttempt number: Int) -> TransferMetrics? {
    fields.withLock { fields in fields.attempts.first { $0.number == number }?.metrics }
  }
}
