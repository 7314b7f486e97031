import WeirTransport

// What it tells an observer. A denial is told once of an attempt.
extension ExchangeSimulationTests.Exchange: TransportObserver {
  var observer: (any TransportObserver)? { self }
  var method: String? { nil }
  var path: String? { nil }
  var operation: NamedOperation? { nil }
  var sampledTrace: TraceContext? { nil }
  var transportInterests: TransportInterests { [] }

  func exchange(
    _ exchange: any TransportExchange, willRetryAfter delay: Double, source: RetryDelaySource, reason: RetryReason
  ) {
    if !wasEnded { grants += 1 }
  }

  func exchange(_ exchange: any TransportExchange, retriesDueTo reason: RetryReason?) {
    if wasEnded || reason == nil { world.violate("\(number) retries for no reason") }
  }

  func exchange(_ exchange: any TransportExchange, didDenyRetry reason: RetryDenial.Reason) {
    denials += 1
    if denials > 1 { world.violate("\(number): \(denials) denials are told of one attempt") }
  }

  func exchangeBegan(_ exchange: any TransportExchange) {}
  func exchange(_ exchange: any TransportExchange, hedge event: HedgeEvent) {}
  func exchange(_ exchange: any TransportExchange, wasShed reason: ShedReason) {}
  func exchange(_ exchange: any TransportExchange, waitedForPace seconds: Double) {}
  func exchange(_ exchange: any TransportExchange, abandonedIn phase: AbandonedPhase) {}
  func exchange(_ exchange: any TransportExchange, didSettle end: ExchangeEnd) {}
  func exchange(_ exchange: any TransportExchange, didStartAttempt number: Int) {}
  func exchange(
    _ exchange: any TransportExchange, didEndAttempt number: Int, _ report: AttemptReport, error: (any LabelledError)?
  ) {}
  func connection(_ event: ConnectionEvent) {}
  func destination(_ destination: Destination, availableRetries: Double) {}
  func destination(_ destination: Destination, entered state: CircuitState) {}
  func destination(_ destination: Destination, entered state: OverloadState) {}
  func destination(_ destination: Destination, overload report: OverloadReport) {}
  func destination(_ destination: Destination, endpoint event: EndpointEvent) {}
  func destination(_ destination: Destination, pause report: PauseReport) {}
}
