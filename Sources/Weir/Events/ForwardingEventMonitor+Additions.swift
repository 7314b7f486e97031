// The table of the events that weir adds to Alamofire's.
extension ForwardingEventMonitor {
  public func request(
    _ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?
  ) {
    forward(
      [.attempts, .adaptations], (request, name, duration, error),
      { $0.request($1.0, didAdaptUsing: $1.1, duration: $1.2, failed: $1.3) },
      { $0.requestDidAdaptUsing?($1.0, $1.1, $1.2, $1.3) })
  }

  public func request(_ request: Request, didStartAttempt number: Int) {
    forward(
      .attempts, (request, number), { $0.request($1.0, didStartAttempt: $1.1) },
      { $0.requestDidStartAttempt?($1.0, $1.1) })
  }

  public func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {
    forward(
      .attempts, (request, number, metrics, error),
      { $0.request($1.0, didEndAttempt: $1.1, metrics: $1.2, error: $1.3) },
      { $0.requestDidEndAttempt?($1.0, $1.1, $1.2, $1.3) })
  }

  public func request(_ request: Request, didReceiveInformationalResponse response: HTTPURLResponse) {
    forward(
      .responses, (request, response), { $0.request($1.0, didReceiveInformationalResponse: $1.1) },
      { $0.requestDidReceiveInformationalResponse?($1.0, $1.1) })
  }

  public func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {
    forward(
      .attempts, (request, delay, source, reason),
      { $0.request($1.0, willRetryAfter: $1.1, source: $1.2, reason: $1.3) },
      { $0.requestWillRetryAfter?($1.0, $1.1, $1.2, $1.3) })
  }

  public func request(_ request: Request, didDenyRetry denial: RetryDenial) {
    forward(
      .attempts, (request, denial), { $0.request($1.0, didDenyRetry: $1.1) }, { $0.requestDidDenyRetry?($1.0, $1.1) })
  }

  public func request(_ request: Request, hedge event: HedgeEvent) {
    forward(.attempts, (request, event), { $0.request($1.0, hedge: $1.1) }, { $0.requestHedge?($1.0, $1.1) })
  }

  public func request(_ request: Request, wasShed reason: ShedReason) {
    forward(.attempts, (request, reason), { $0.request($1.0, wasShed: $1.1) }, { $0.requestWasShed?($1.0, $1.1) })
  }

  public func request(_ request: Request, abandonedIn phase: AbandonedPhase) {
    forward(.attempts, (request, phase), { $0.request($1.0, abandonedIn: $1.1) }, { $0.requestAbandoned?($1.0, $1.1) })
  }

  public func request(_ request: Request, cache result: CacheResult) {
    forward(
      [.attempts, .adaptations], (request, result), { $0.request($1.0, cache: $1.1) },
      { $0.requestCacheResult?($1.0, $1.1) })
  }

  public func requestDidSettle(_ request: Request, outcome: RequestOutcome) {
    forward(
      .attempts, (request, outcome), { $0.requestDidSettle($1.0, outcome: $1.1) }, { $0.requestDidSettle?($1.0, $1.1) })
  }

  public func session(_ session: Session, connectionEvent event: ConnectionEvent) {
    let isChange = event.kind == .opened || event.kind == .closed
    forward(
      isChange ? .connections : .connectionUse, (session, event), { $0.session($1.0, connectionEvent: $1.1) },
      { $0.sessionConnectionEvent?($1.0, $1.1) })
  }

  public func session(_ session: Session, loopLag lag: TimeInterval) {
    forward(.session, (session, lag), { $0.session($1.0, loopLag: $1.1) }, { $0.sessionLoopLag?($1.0, $1.1) })
  }

  public func session(_ session: Session, retryBudget destination: Destination, available: Double) {
    forward(
      .resilience, (session, destination, available), { $0.session($1.0, retryBudget: $1.1, available: $1.2) },
      { $0.sessionRetryBudget?($1.0, $1.1, $1.2) })
  }

  public func session(_ session: Session, circuit destination: Destination, entered state: CircuitState) {
    forward(
      .resilience, (session, destination, state), { $0.session($1.0, circuit: $1.1, entered: $1.2) },
      { $0.sessionCircuitEnteredState?($1.0, $1.1, $1.2) })
  }

  public func session(_ session: Session, overload destination: Destination, entered state: OverloadState) {
    forward(
      .resilience, (session, destination, state), { $0.session($1.0, overload: $1.1, entered: $1.2) },
      { $0.sessionOverloadEnteredState?($1.0, $1.1, $1.2) })
  }

  public func session(_ session: Session, overload destination: Destination, report: OverloadReport) {
    forward(
      .resilience, (session, destination, report), { $0.session($1.0, overload: $1.1, report: $1.2) },
      { $0.sessionOverloadReport?($1.0, $1.1, $1.2) })
  }

  public func session(_ session: Session, endpointsOf origin: Destination, event: EndpointEvent) {
    forward(
      .resilience, (session, origin, event), { $0.session($1.0, endpointsOf: $1.1, event: $1.2) },
      { $0.sessionEndpointEvent?($1.0, $1.1, $1.2) })
  }

  public func session(_ session: Session, refresh event: RefreshEvent) {
    forward(.refreshes, (session, event), { $0.session($1.0, refresh: $1.1) }, { $0.sessionRefreshEvent?($1.0, $1.1) })
  }
}
