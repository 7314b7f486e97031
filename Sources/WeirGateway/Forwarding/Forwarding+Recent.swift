import WeirExporter
import WeirIO
import WeirServer
import WeirTransport

// Single requests on the status page.
extension Forwarding {
  /// Notes the request if it failed or was slow.
  ///
  /// - Parameters:
  ///   - seconds: The time since it came.
  ///   - measured: The part of that in which the upstream could be slow.
  func noteRecent(_ outcome: GatewayOutcome, _ seconds: Double, _ measured: Double) {
    let recent = plan.recent
    guard recent.isOn else { return }
    let isSlow = recent.isSlow(measured), isFailure = outcome.isFailure(status: status)
    guard isSlow || isFailure else { return }
    let route = route < 0 ? nil : plan.plan.table.routes[route]
    var request = RecentRequest(time: Double(LogTime.now.milliseconds) / 1000)
    request.route = route?.name ?? ""
    if let destination = destination {
      request.upstream = StatusReport.Upstream.name(host: destination.host, port: String(destination.port))
    }
    request.endpoint = terms.lastEndpoint
    request.method = exchange.head.method
    request.path = RecentRequest.shown(path: exchange.head.path)
    request.status = status
    request.outcome = outcome.label
    request.error = failure?.label ?? ""
    request.seconds = seconds
    request.attempts = tally.started
    request.traceID = marks?.trace?.traceID
    if isFailure { recent.noteFailure(request) }
    request.seconds = measured
    if isSlow { recent.noteSlow(request) }
  }
}
