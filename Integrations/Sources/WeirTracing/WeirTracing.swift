import Synchronization
public import Tracing
public import Weir

extension Request {
  /// Makes each attempt of the request a span of the tracer that `InstrumentationSystem` has.
  ///
  /// The attempt carries the span's context in the header fields of the tracer's propagator. The span begins when the
  /// attempt is adapted, so it includes the wait for a place at the destination, and ends with the attempt. An attempt
  /// that was never sent is a span too; it ends with the request. Don't also set `SessionConfiguration.traceContext` or
  /// add `OTLPTracing`: they make fields and spans of their own.
  ///
  /// Call it before the request is resumed.
  ///
  /// - Parameter context: The parent of the spans: by default the calling task's. Nil: each attempt begins a trace.
  @discardableResult
  public func traced(in context: ServiceContext? = .current) -> Self {
    let spans = AttemptSpans(parent: context ?? .topLevel)
    return eventMonitor(spans).adapt(using: spans)
  }
}

/// The spans of one request.
private final class AttemptSpans: RequestAdapter, InlineEventMonitor {
  private let parent: ServiceContext
  private let state = Mutex(State())

  private struct State {
    /// The spans that have begun, by the numbers of their attempts.
    var spans: [Int: any Tracing.Span] = [:]
    var isSettled = false
  }

  init(parent: ServiceContext) {
    self.parent = parent
  }

  func adapt(
    _ urlRequest: URLRequest, using state: RequestAdapterState,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    let span: any Tracing.Span = InstrumentationSystem.tracer.startSpan(
      urlRequest.httpMethod ?? "GET", context: parent, ofKind: .client)
    var adapted = urlRequest
    InstrumentationSystem.instrument.inject(span.context, into: &adapted, using: HeaderFields())
    // A request may settle while its adapters run.
    let unused = self.state.withLock { $0.isSettled ? span : $0.spans.updateValue(span, forKey: state.attempt) }
    unused?.end()
    completion(.success(adapted))
  }

  var interests: EventInterests { [.records, .attempts] }

  func request(_ request: Request, didRecordAttempt record: AttemptRecord) {
    guard let span = state.withLock({ $0.spans.removeValue(forKey: record.number) }) else { return }
    span.describe(record)
    span.end()
  }

  func requestDidSettle(_ request: Request, outcome: RequestOutcome) {
    let unsent = state.withLock { state in
      state.isSettled = true
      defer { state.spans = [:] }
      return state.spans.values
    }
    for span in unsent {
      // A response from the cache, or one that came in time after all, needs no attempt.
      span.attributes["weir.outcome"] = "not_sent"
      if outcome != .success {
        span.attributes["error.type"] = outcome.rawValue
        span.setStatus(SpanStatus(code: .error, message: "The attempt was not sent."))
      }
      span.end()
    }
  }
}

extension Tracing.Span {
  /// Sets what is known of an attempt, by OpenTelemetry's conventions for HTTP clients.
  fileprivate func describe(_ record: AttemptRecord) {
    let method = record.method.rawValue
    if let operation = record.operation {
      operationName = operation.hasPrefix("\(method) ") ? operation : "\(method) \(operation)"
    }
    updateAttributes { attributes in
      attributes["http.request.method"] = method
      attributes["url.full"] = record.url
      attributes["server.address"] = record.destination?.host
      attributes["server.port"] = record.destination?.port
      attributes["network.peer.address"] = record.metrics.remoteAddress
      attributes["network.peer.port"] = record.metrics.remotePort
      attributes["http.response.status_code"] = record.metrics.statusCode
      if record.number > 1 { attributes["http.request.resend_count"] = record.number - 1 }
      attributes["weir.retry.reason"] = record.retryReason?.rawValue
      attributes["weir.queue.wait"] = record.metrics.queue
      if record.isHedge { attributes["weir.hedge"] = true }
      if record.isAbandoned { attributes["weir.outcome"] = "abandoned" }
    }
    // The end of an attempt whose answer another one gave is no failure.
    if record.isAbandoned { return }
    let status = record.metrics.statusCode.flatMap { $0 < 400 ? nil : "\($0)" }
    guard let failure = status ?? record.errorLabel else { return }
    attributes["error.type"] = failure
    setStatus(SpanStatus(code: .error))
  }
}

/// Writes a context into the header fields of a request.
private struct HeaderFields: Injector {
  func inject(_ value: String, forKey key: String, into carrier: inout URLRequest) {
    carrier.setValue(value, forHTTPHeaderField: key)
  }
}
