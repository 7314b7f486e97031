import Weir
import WeirExporter
import WeirMetrics

extension TelemetryExporter {
  /// Begins to export as a configuration says.
  ///
  /// - Parameter credentials: Has the credentials that the configuration names.
  convenience init(
    _ telemetry: GatewayTelemetry, of registry: Registry, credentials: CredentialRegistry, log: Logger
  ) throws {
    var options = Options()
    options.service = ("weir", WeirInfo.version)
    options.proxy = telemetry.proxy.options { credentials[$0] }
    options.credential = credentials[telemetry.credential].map { CredentialInterceptor($0) }
    options.note = { notice in
      let fields: LogFields = [
        "signal": .string(notice.signal.rawValue), "reason": .string(notice.text), "count": .integer(notice.count),
      ]
      switch notice.kind {
      case .trouble: log.warn("telemetry is not exported", fields)
      case .dropped: log.warn("telemetry is lost", fields)
      case .recovered: log.info("telemetry is exported again", fields)
      }
    }
    try self.init(telemetry.settings, of: registry, options)
  }
}
