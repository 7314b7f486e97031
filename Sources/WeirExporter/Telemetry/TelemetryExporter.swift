import Synchronization
package import Weir
package import WeirCurl
import WeirIO
package import WeirMetrics
import WeirOTLP
import WeirTransport

/// Exports spans and metrics to a collector by OTLP, with a thread of its own. Any thread may use it.
///
/// Its memory is bounded whatever the collector does: by the queue of spans, and one message of each signal. Its requests
/// are neither traced nor measured like others.
package final class TelemetryExporter: Sendable {
  /// The options beside the settings.
  package struct Options: Sendable {
    /// The service's name and version; nil for `unknown_service`.
    package var service: (name: String, version: String)?
    /// The way to the collector.
    package var proxy = ProxyOptions.none
    /// Writes a credential into each attempt, and renews it after refusals; nil for none.
    package var credential: (any RequestInterceptor)?
    /// Called for what belongs into a log, on the exporter's thread; must not block.
    package var note: @Sendable (TelemetryNotice) -> Void = { _ in }

    package init() {}
  }

  private let signals: LoopBound<[SignalExporter]>
  private let sessions: [Session]
  /// Takes spans; nil if no traces are exported.
  package let spans: SpanQueue?

  /// Begins to export.
  ///
  /// - Parameters:
  ///   - registry: The registry whose metrics are exported, and which gets the exporter's own.
  ///   - encoder: Returns the encoder of a signal; nil for the one that the settings name.
  /// - Throws: An `Errno` if there is no thread, or a `RegistryError`.
  package init(
    _ settings: TelemetrySettings, of registry: Registry, _ options: Options = Options(),
    encoder: ((TelemetrySignal) -> any TelemetryEncoder)? = nil
  ) throws {
    let metrics = try TelemetryMetrics(registry)
    let loop = try EventLoop(name: "weir.telemetry")
    let parts = SignalExporter.Parts(
      loop: loop, resource: TelemetryResource.attributes(settings, service: options.service), metrics: metrics,
      credential: options.credential, note: options.note)
    let table = DestinationTable()
    var exporters: [SignalExporter] = []
    var sessions: [Session] = []
    var queue: SpanQueue?
    let bell = LoopBound(Bell(), on: loop)
    for signal in TelemetrySignal.allCases {
      guard let url = settings.url(of: signal) else { continue }
      metrics.prepare(signal)
      var configuration = SessionConfiguration.telemetry(settings[signal].endpoint)
      configuration.proxyOptions = options.proxy
      let session = Session(loop: loop, shared: table, configuration: configuration)
      sessions.append(session)
      var source = SignalExporter.Source.metrics
      if signal == .traces {
        let made = SpanQueue(
          limit: settings.queue, batch: settings.batch, dropped: metrics.dropped(.traces, .queueFull),
          late: metrics.dropped(.traces, .shutdown)
        ) { bell.loop.post { bell.value.exporter?.look() } }
        queue = made
        source = .spans(made)
      }
      let encoder: any TelemetryEncoder =
        encoder?(signal)
        ?? OTLPEncoder(
          settings[signal].endpoint.encoding, of: registry, hasExponential: settings.hasExponentialHistograms)
      exporters.append(SignalExporter(signal, to: url, settings[signal], by: encoder, session, source, parts))
    }
    (self.sessions, spans) = (sessions, queue)
    signals = LoopBound(exporters, on: loop)
    if let queue { metrics.show(queue) }
    loop.post { [signals] in
      for signal in signals.value {
        if signal.signal == .traces { bell.value.exporter = signal }
        signal.look()
      }
    }
  }

  deinit {
    // The loop keeps what has a timer.
    signals.loop.post { [signals] in for signal in signals.value { signal.stop() } }
    for session in sessions { session.invalidateAndCancel() }
  }

  /// Tells the exporter of spans that a batch waits.
  private struct Bell {
    weak var exporter: SignalExporter?
  }

  /// Exports what waits, and takes nothing more. Returns once that is done, or after so many seconds.
  package func finish(within seconds: Double) async {
    let end = MonotonicTime.now.advanced(bySeconds: seconds)
    await withCheckedContinuation { continuation in
      signals.loop.post { [signals] in
        var left = signals.value.count
        if left == 0 { return continuation.resume() }
        for signal in signals.value {
          signal.finish(by: end) {
            left -= 1
            if left == 0 { continuation.resume() }
          }
        }
      }
    }
  }
}
