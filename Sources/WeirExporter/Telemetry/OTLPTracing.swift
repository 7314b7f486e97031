public import Foundation
import Synchronization
public import Weir
import WeirCurl
public import WeirMetrics
import WeirOTLP

/// Exports spans of a session's requests by OpenTelemetry's protocol. Add it to `eventMonitors`; one monitor may serve
/// several sessions.
///
/// Each attempt is a span of the kind `CLIENT`, by the conventions for HTTP; redirects within it are events. If
/// `SessionConfiguration.traceContext` gives a context, attempts are its children. Otherwise the request itself is a
/// span of the kind `INTERNAL`, with which a trace begins. Retries, and what a request waits for, are events.
///
/// It is called in line on the event loop, and costs what a span takes to be made. Requests that are not sampled cost a
/// record of each attempt.
public final class OTLPTracing: InlineEventMonitor {
  /// Decides which requests are recorded.
  public let traceSampler: TraceSampler?
  private let sink: any SpanSink
  /// Sends what the sink takes; nil if another one does.
  private let exporter: TelemetryExporter?
  /// The spans of the requests under way that are recorded.
  private let pending = Mutex<[ObjectIdentifier: PendingSpans]>([:])

  /// Begins to export to a collector: in batches of 512, or every five seconds. At most 2,048 spans wait; others are
  /// dropped, and counted as `weir_telemetry_dropped_total`.
  ///
  /// - `resource`: Attributes that tell what the spans are of. `service.name` is `unknown_service` and the program's name
  ///   unless it is among them; host, process and an identifier of the instance are there in any case.
  /// - `sampler`: Decides which requests are recorded; by default all, as far as the caller's context is sampled.
  /// - `registry`: Gets the metrics of the export; by default one that nobody reads.
  /// - Throws: An error of the system if there is no thread for the export, or a `RegistryError`.
  public convenience init(
    endpoint: OTLPEndpoint, resource: [String: String] = [:], sampler: TraceSampler = TraceSampler(),
    registry: Registry = Registry()
  ) throws {
    var settings = TelemetrySettings()
    settings.traces.endpoint = endpoint
    settings.resource = resource
    let exporter = try TelemetryExporter(settings, of: registry)
    self.init(sink: exporter.spans ?? NoSpans(), sampler: sampler, exporter: exporter)
  }

  init(sink: any SpanSink, sampler: TraceSampler = TraceSampler(), exporter: TelemetryExporter? = nil) {
    self.sink = sink
    self.exporter = exporter
    traceSampler = sampler
  }

  /// Exports what waits, and takes no more spans. Returns once that is done, or after so many seconds.
  public func finish(within seconds: Double = 5) async { await exporter?.finish(within: seconds) }

  public var interests: EventInterests { [.records, .attempts] }

  public func request(_ request: Request, didRecordAttempt record: AttemptRecord) {
    guard let trace = request.recordedTrace, let span = Span(record) else { return }
    let finished = change(request, trace) { $0.attemptEnded(span) }
    if let finished { sink.add([finished]) }
  }

  public func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {
    note(request) { .retry(for: reason, after: delay, at: $0) }
  }

  public func request(_ request: Request, didDenyRetry denial: RetryDenial) {
    guard let trace = request.recordedTrace else { return }
    change(request, trace) {
      $0.deny(denial.reason.rawValue)
      $0.add(.denied(denial.reason, at: Self.now))
    }
  }

  public func request(_ request: Request, hedge event: HedgeEvent) {
    if event == .denied { note(request) { .deniedHedge(at: $0) } }
  }

  public func request(_ request: Request, waitedForPace seconds: TimeInterval) {
    note(request) { .paced(for: seconds, at: $0) }
  }

  public func request(_ request: Request, wasShed reason: ShedReason) {
    note(request) { .shed(reason, at: $0) }
  }

  public func request(
    _ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?
  ) {
    note(request) { .adapted(by: name, for: duration, failed: error.map(AdaptationFailure.init), at: $0) }
  }

  public func requestDidSettle(_ request: Request, outcome: RequestOutcome) {
    guard let trace = request.recordedTrace else { return }
    let spans = pending.withLock { $0.removeValue(forKey: ObjectIdentifier(request)) }
    let root = trace.isRoot ? Span(of: request, trace, outcome) : nil
    let finished = (spans ?? PendingSpans(hasRoot: trace.isRoot)).settled(root)
    if !finished.isEmpty { sink.add(finished) }
  }

  // MARK: Requests under way

  private static var now: UInt64 { UInt64(nanosecondsOf: Date()) }

  /// Adds an event to a request that is recorded.
  private func note(_ request: Request, _ event: (_ time: UInt64) -> Span.Event?) {
    guard let trace = request.recordedTrace, let event = event(Self.now) else { return }
    change(request, trace) { $0.add(event) }
  }

  @discardableResult
  private func change<Result: Sendable>(
    _ request: Request, _ trace: RecordedTrace, _ change: (inout PendingSpans) -> Result
  ) -> Result {
    pending.withLock { change(&$0[ObjectIdentifier(request), default: PendingSpans(hasRoot: trace.isRoot)]) }
  }
}

/// Takes spans that nobody wants.
private struct NoSpans: SpanSink {
  func add(_ spans: [Span]) {}
}

extension Span {
  /// The span of a request that has settled.
  fileprivate init(of request: Request, _ trace: RecordedTrace, _ outcome: RequestOutcome) {
    self.init(
      ofRequest: trace, method: request.method, operation: request.operation.map(NamedOperation.init),
      destination: request.destination, outcome: outcome, status: request.metrics?.statusCode, error: request.error,
      duration: request.duration ?? 0)
  }
}
