// The callbacks that weir adds to Alamofire's.
extension ClosureEventMonitor {
  /// Called for ``EventMonitor/request(_:didAdaptUsing:duration:failed:)``.
  @preconcurrency
  public var requestDidAdaptUsing: (@Sendable (Request, String, TimeInterval, (any Error)?) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didStartAttempt:)``.
  @preconcurrency
  public var requestDidStartAttempt: (@Sendable (Request, Int) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didEndAttempt:metrics:error:)``.
  @preconcurrency
  public var requestDidEndAttempt: (@Sendable (Request, Int, TransferMetrics, WeirError?) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didRecordAttempt:)``.
  @preconcurrency
  public var requestDidRecordAttempt: (@Sendable (Request, AttemptRecord) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didReceiveInformationalResponse:)``.
  @preconcurrency
  public var requestDidReceiveInformationalResponse: (@Sendable (Request, HTTPURLResponse) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:willRetryAfter:source:reason:)``.
  @preconcurrency
  public var requestWillRetryAfter: (@Sendable (Request, TimeInterval, RetryDelaySource, RetryReason) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:didDenyRetry:)``.
  @preconcurrency
  public var requestDidDenyRetry: (@Sendable (Request, RetryDenial) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:hedge:)``.
  @preconcurrency
  public var requestHedge: (@Sendable (Request, HedgeEvent) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:waitedForPace:)``.
  @preconcurrency
  public var requestWaitedForPace: (@Sendable (Request, TimeInterval) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:wasShed:)``.
  @preconcurrency
  public var requestWasShed: (@Sendable (Request, ShedReason) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:abandonedIn:)``.
  @preconcurrency
  public var requestAbandoned: (@Sendable (Request, AbandonedPhase) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/request(_:cache:)``.
  @preconcurrency
  public var requestCacheResult: (@Sendable (Request, CacheResult) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/requestDidSettle(_:outcome:)``.
  @preconcurrency
  public var requestDidSettle: (@Sendable (Request, RequestOutcome) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/session(_:connectionEvent:)``.
  @preconcurrency
  public var sessionConnectionEvent: (@Sendable (Session, ConnectionEvent) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/session(_:loopLag:)``.
  @preconcurrency
  public var sessionLoopLag: (@Sendable (Session, TimeInterval) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/session(_:retryBudget:available:)``.
  @preconcurrency
  public var sessionRetryBudget: (@Sendable (Session, Destination, Double) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/session(_:circuit:entered:)``.
  @preconcurrency
  public var sessionCircuitEnteredState: (@Sendable (Session, Destination, CircuitState) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/session(_:overload:entered:)``.
  @preconcurrency
  public var sessionOverloadEnteredState: (@Sendable (Session, Destination, OverloadState) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/session(_:overload:report:)``.
  @preconcurrency
  public var sessionOverloadReport: (@Sendable (Session, Destination, OverloadReport) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/session(_:pace:report:)``.
  @preconcurrency
  public var sessionPaceReport: (@Sendable (Session, Destination, PauseReport) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/session(_:endpointsOf:event:)``.
  @preconcurrency
  public var sessionEndpointEvent: (@Sendable (Session, Destination, EndpointEvent) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }

  /// Called for ``EventMonitor/session(_:refresh:)``.
  @preconcurrency
  public var sessionRefreshEvent: (@Sendable (Session, RefreshEvent) -> Void)? {
    get { closure() }
    set { set(newValue) }
  }
}
