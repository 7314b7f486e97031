// The table of the events that weir adds to Alamofire's.
extension UniformEventMonitor {
  public func request(
    _ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?
  ) {
    handle(
      [.attempts, .adaptations], (request, name, duration, error),
      { $0.request($1.0, didAdaptUsing: $1.1, duration: $1.2, failed: $1.3) },
      { $0.requestDidAdaptUsing?(request, name, duration, error) },
      { $0.log("request.didAdaptUsing", request, "\(name)", "\(duration.logText)", .error(error)) })
  }

  public func request(_ request: Request, didStartAttempt number: Int) {
    handle(
      .attempts, (request, number), { $0.request($1.0, didStartAttempt: $1.1) },
      { $0.requestDidStartAttempt?(request, number) }, { $0.log("request.didStartAttempt", request, "\(number)") })
  }

  public func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {
    handle(
      .attempts, (request, number, metrics, error),
      { $0.request($1.0, didEndAttempt: $1.1, metrics: $1.2, error: $1.3) },
      { $0.requestDidEndAttempt?(request, number, metrics, error) },
      { $0.log("request.didEndAttempt", request, "\(number)", .metrics(metrics), .error(error)) })
  }

  public func request(_ request: Request, didRecordAttempt record: AttemptRecord) {
    handle(
      .records, (request, record), { $0.request($1.0, didRecordAttempt: $1.1) },
      { $0.requestDidRecordAttempt?(request, record) },
      { $0.log("request.didRecordAttempt", request, "\(record.number)", .record(record), level: .debug) })
  }

  public func request(_ request: Request, didReceiveInformationalResponse response: HTTPURLResponse) {
    handle(
      .responses, (request, response), { $0.request($1.0, didReceiveInformationalResponse: $1.1) },
      { $0.requestDidReceiveInformationalResponse?(request, response) },
      { $0.log("request.didReceiveInformationalResponse", request, .status(response)) })
  }

  public func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {
    handle(
      .attempts, (request, delay, source, reason),
      { $0.request($1.0, willRetryAfter: $1.1, source: $1.2, reason: $1.3) },
      { $0.requestWillRetryAfter?(request, delay, source, reason) },
      {
        $0.log(
          "request.willRetry", request, "after \(delay.logText)", "\(source.rawValue)", "\(reason.rawValue)",
          level: .debug)
      })
  }

  public func request(_ request: Request, didDenyRetry denial: RetryDenial) {
    handle(
      .attempts, (request, denial), { $0.request($1.0, didDenyRetry: $1.1) },
      { $0.requestDidDenyRetry?(request, denial) },
      { $0.log("request.didDenyRetry", request, "\(denial.reason.rawValue)", level: .debug) })
  }

  public func request(_ request: Request, hedge event: HedgeEvent) {
    handle(
      .attempts, (request, event), { $0.request($1.0, hedge: $1.1) }, { $0.requestHedge?(request, event) },
      { $0.log("request.hedge", request, "\(event.rawValue)", level: .debug) })
  }

  public func request(_ request: Request, waitedForPace seconds: TimeInterval) {
    handle(
      .attempts, (request, seconds), { $0.request($1.0, waitedForPace: $1.1) },
      { $0.requestWaitedForPace?(request, seconds) }, { $0.log("request.waitedForPace", request, "\(seconds.logText)") }
    )
  }

  public func request(_ request: Request, wasShed reason: ShedReason) {
    handle(
      .attempts, (request, reason), { $0.request($1.0, wasShed: $1.1) }, { $0.requestWasShed?(request, reason) },
      { $0.log("request.wasShed", request, "\(reason.rawValue)", level: .debug) })
  }

  public func request(_ request: Request, abandonedIn phase: AbandonedPhase) {
    handle(
      .attempts, (request, phase), { $0.request($1.0, abandonedIn: $1.1) }, { $0.requestAbandoned?(request, phase) },
      { $0.log("request.abandoned", request, "\(phase.rawValue)", level: .debug) })
  }

  public func request(_ request: Request, cache result: CacheResult) {
    handle(
      [.attempts, .adaptations], (request, result), { $0.request($1.0, cache: $1.1) },
      { $0.requestCacheResult?(request, result) }, { $0.log("request.cache", request, "\(result.rawValue)") })
  }

  public func requestDidSettle(_ request: Request, outcome: RequestOutcome) {
    handle(
      .attempts, (request, outcome), { $0.requestDidSettle($1.0, outcome: $1.1) },
      { $0.requestDidSettle?(request, outcome) }, { $0.log(outcome, of: request) })
  }

  public func session(_ session: Session, connectionEvent event: ConnectionEvent) {
    let isChange = event.kind == .opened || event.kind == .closed
    handle(
      isChange ? .connections : .connectionUse, (session, event), { $0.session($1.0, connectionEvent: $1.1) },
      { $0.sessionConnectionEvent?(session, event) },
      { $0.log("session.connection", "\(event.kind.rawValue)", .destination(event.destination)) })
  }

  public func session(_ session: Session, loopLag lag: TimeInterval) {
    // Every timer has a lag. Only a noticeable one is worth a line.
    handle(
      .session, (session, lag), { $0.session($1.0, loopLag: $1.1) }, { $0.sessionLoopLag?(session, lag) },
      { if lag >= 0.1 { $0.log("session.loopLag", "\(lag.logText)", level: .warning) } })
  }

  public func session(_ session: Session, retryBudget destination: Destination, available: Double) {
    // Likewise, only an empty budget is worth a line.
    handle(
      .resilience, (session, destination, available), { $0.session($1.0, retryBudget: $1.1, available: $1.2) },
      { $0.sessionRetryBudget?(session, destination, available) },
      { if available < 1 { $0.log("session.retryBudget", "used up", .destination(destination), level: .warning) } })
  }

  public func session(_ session: Session, circuit destination: Destination, entered state: CircuitState) {
    handle(
      .resilience, (session, destination, state), { $0.session($1.0, circuit: $1.1, entered: $1.2) },
      { $0.sessionCircuitEnteredState?(session, destination, state) },
      {
        $0.log(
          "session.circuit", "\(state.rawValue)", .destination(destination), level: state == .closed ? .info : .warning)
      })
  }

  public func session(_ session: Session, overload destination: Destination, entered state: OverloadState) {
    handle(
      .resilience, (session, destination, state), { $0.session($1.0, overload: $1.1, entered: $1.2) },
      { $0.sessionOverloadEnteredState?(session, destination, state) },
      {
        $0.log(
          "session.overload", "\(state.rawValue)", .destination(destination), level: state == .normal ? .info : .warning
        )
      })
  }

  public func session(_ session: Session, overload destination: Destination, report: OverloadReport) {
    // Reports come each second. Only those of a destination in trouble are worth a line.
    handle(
      .resilience, (session, destination, report), { $0.session($1.0, overload: $1.1, report: $1.2) },
      { $0.sessionOverloadReport?(session, destination, report) },
      {
        if report.state != .normal {
          $0.log(
            "session.overloadReport", "limit \(report.limit), used \(report.used)", .destination(destination),
            level: .debug)
        }
      })
  }

  public func session(_ session: Session, pace destination: Destination, report: PauseReport) {
    // While a pause goes on, reports come each second. Only its beginning and its end are worth a line.
    handle(
      .resilience, (session, destination, report), { $0.session($1.0, pace: $1.1, report: $1.2) },
      { $0.sessionPaceReport?(session, destination, report) },
      {
        if report.begun > 0 || report.left == 0 {
          $0.log(
            "session.paceReport", "\(report.left.logText) left, \(report.begun) begun", .destination(destination),
            level: .info)
        }
      })
  }

  public func session(_ session: Session, endpointsOf origin: Destination, event: EndpointEvent) {
    handle(
      .resilience, (session, origin, event), { $0.session($1.0, endpointsOf: $1.1, event: $1.2) },
      { $0.sessionEndpointEvent?(session, origin, event) }, { $0.log(event, of: origin) })
  }

  public func session(_ session: Session, refresh event: RefreshEvent) {
    handle(
      .refreshes, (session, event), { $0.session($1.0, refresh: $1.1) }, { $0.sessionRefreshEvent?(session, event) },
      { $0.log(event) })
  }
}
