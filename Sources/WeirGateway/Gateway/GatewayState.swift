import WeirExporter
import WeirServer
import WeirTLS

/// What a gateway is doing at one moment, for the status page.
struct GatewayState {
  var routes: [Route] = []
  /// The named upstreams.
  var endpoints: [UpstreamEndpoints] = []
  var listeners: [StatusReport.Listener] = []
  /// Certificates that listeners show, and when they end, in seconds since 1970.
  var certificates: [(listener: String, name: String, notAfter: Double)] = []
}

extension GatewayState {
  init(routes: [Route], endpoints: [UpstreamEndpoints], listeners: [GatewayListeners.Entry]) {
    self.routes = routes
    self.endpoints = endpoints
    self.listeners = listeners.map { entry in
      let counts = ListenerCounts(entry.tallies)
      return StatusReport.Listener(
        name: entry.settings.name, address: "\(entry.listener.address)", isSecure: entry.tls != nil,
        handshaking: counts.handshaking, idle: counts.idle, active: counts.active)
    }
    certificates = listeners.flatMap { entry in
      (entry.tls?.source.certificates ?? []).map { (entry.settings.name, $0.name ?? "", Double($0.notAfter)) }
    }
  }
}
