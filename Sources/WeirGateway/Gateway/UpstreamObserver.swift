import WeirTransport

/// Hears of a worker's connections and upstreams, for the metrics and the log. The worker's requests tell the metrics
/// themselves.
final class UpstreamObserver: DestinationObserver {
  private let metrics: (any SharedTransportObserver)?
  private let log: UpstreamLog

  init(metrics: (any SharedTransportObserver)?, log: UpstreamLog) {
    self.metrics = metrics
    self.log = log
  }

  var transportInterests: TransportInterests { (metrics?.transportInterests ?? []).union(.resilience) }

  func connection(_ event: ConnectionEvent) { metrics?.connection(event) }

  func destination(_ destination: Destination, availableRetries: Double) {
    metrics?.destination(destination, availableRetries: availableRetries)
  }

  func destination(_ destination: Destination, entered state: CircuitState) {
    metrics?.destination(destination, entered: state)
  }

  func destination(_ destination: Destination, entered state: OverloadState) {
    metrics?.destination(destination, entered: state)
  }

  func destination(_ destination: Destination, endpoint event: EndpointEvent) { log.note(event, of: destination) }

  func destination(_ destination: Destination, overload report: OverloadReport) {
    metrics?.destination(destination, overload: report)
    log.note(report, of: destination)
  }
}
