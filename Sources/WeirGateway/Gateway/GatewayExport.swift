import Synchronization
import Weir
import WeirExporter
import WeirMetrics
import WeirOTLP

/// The export of a gateway's spans and metrics, through all of its configurations.
final class GatewayExport: Sendable {
  /// An exporter, and what it was made by.
  struct Change: Sendable {
    fileprivate let settings: GatewayTelemetry?
    /// The credential and that of the proxy: another value of the configuration is another object.
    fileprivate let credentials: [OutboundCredential?]
    fileprivate let exporter: TelemetryExporter?
    /// Takes the spans of requests; nil if none are recorded.
    let spans: (any SpanSink)?
  }

  private let registry: Registry
  private let credentials: CredentialRegistry
  private let sink: (any SpanSink)?
  private let log: Logger
  private let present = Mutex<Change?>(nil)
  private let relay = SpanRelay()
  /// The exporters before, while they send what they have.
  private let ending = Mutex<[Task<Void, Never>]>([])

  /// - Parameter sink: Takes spans in place of an exporter's queue.
  init(of registry: Registry, credentials: CredentialRegistry, sink: (any SpanSink)?, log: Logger) {
    (self.registry, self.credentials, self.sink, self.log) = (registry, credentials, sink, log)
  }

  /// Makes the exporter of a configuration, unless the present one does the same.
  func prepare(_ settings: GatewayTelemetry?) throws -> Change {
    let used = [credentials[settings?.credential], credentials[settings?.proxy.credential]]
    if let present = present.withLock({ $0 }), present.settings == settings,
      zip(present.credentials, used).allSatisfy({ $0 === $1 })
    {
      return present
    }
    let exporter = try settings.map {
      try TelemetryExporter($0, of: registry, credentials: credentials, log: log)
    }
    let exportsSpans = settings?.settings.url(of: .traces) != nil
    return Change(
      settings: settings, credentials: used, exporter: exporter, spans: sink ?? (exportsSpans ? relay : nil))
  }

  /// Exports by the prepared exporter from now on. The one before sends what it has.
  func commit(_ change: Change) {
    let before = present.withLock { present in
      defer { present = change }
      return present?.exporter
    }
    if change.exporter === before { return }
    relay.lead(to: change.exporter?.spans)
    guard let before else { return }
    ending.withLock { $0.append(Task { await before.finish(within: 5) }) }
  }

  /// Sends what waits, for at most so many seconds.
  func finish(within seconds: Double) async {
    await present.withLock { $0?.exporter }?.finish(within: seconds)
    for task in ending.withLock({ $0 }) { await task.value }
  }
}

/// Leads the spans of all configurations' requests to the present exporter: a request may end after its configuration has.
private final class SpanRelay: SpanSink {
  private let queue = Mutex<SpanQueue?>(nil)

  func lead(to next: SpanQueue?) { queue.withLock { $0 = next } }

  func add(_ spans: [Span]) { queue.withLock { $0 }?.add(spans) }
}

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
      case .remark: log.warn("collector remarks", fields)
      case .dropped: log.warn("telemetry is lost", fields)
      case .recovered: log.info("telemetry is exported again", fields)
      }
    }
    if telemetry.settings.hasExponentialHistograms, registry.nativeHistograms == .none {
      log.warn(
        "exponential histograms are wanted, and no histogram is native",
        ["flag": .string("--metrics.native-histograms")])
    }
    try self.init(telemetry.settings, of: registry, options)
  }
}
