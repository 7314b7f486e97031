import WeirCurl
import WeirExporter
import WeirHTTP
import WeirIO
import WeirOTLP
import WeirServer
import WeirTransport

/// The spans of one request: that of the request, and one of each attempt. It stands between the exchange and the plan's
/// observer, and hears all that the observer hears. Confined to the loop.
final class RequestSpans {
  /// An attempt that has begun.
  private struct Attempt {
    let number: Int
    let place: Span.Place
    let began: MonotonicTime
    /// The attempts before it, of all upstreams.
    let before: Int
    let destination: Destination?
    let method: String
    let operation: NamedOperation?
    /// The upstream's URL, and the target that was asked for.
    let origin: String
    let target: String
    /// Why it was granted; nil for the first, and for hedges.
    let reason: RetryReason?
    let endpoint: String?
    /// The one that began before it, if any did.
    let previous: Span.Place?
    var isHedge = false
  }

  /// An attempt that is over. Its span is made once it is known to be wanted.
  private struct Ended {
    let attempt: Attempt
    let report: AttemptReport
    let error: String?
    let time: MonotonicTime

    /// The value of `error.type`; nil without a failure.
    var failure: String? { error ?? report.statusCode.flatMap { $0 >= 400 ? String($0) : nil } }

    /// Whether its failure is not the caller's mistake.
    var isFault: Bool { error != nil || report.statusCode ?? 0 >= 500 }
  }

  private let trace: TraceContext
  private let isRoot: Bool
  private let isRecorded: Bool
  private let settings: SpanSettings
  private let plan: ActivePlan
  private let began: MonotonicTime
  private let place: Span.Place
  /// The difference to add to a monotonic time for the nanoseconds since 1970.
  private let clock = Timestamp.nanoseconds - MonotonicTime.now.nanoseconds
  private var open: [Attempt] = []
  private var ended: [Ended] = []
  private var waits: [Span] = []
  private var events: [Span.Event] = []
  private var count = 0
  private var last: Span.Place?
  private var reason: RetryReason?
  /// Whether the request has failed on the way, whatever its end.
  private var isTroubled = false
  /// Whether attempts have run beside each other.
  private var hasRaced = false

  /// The spans of a request; nil if none of them can be wanted.
  static func make(
    _ ids: CorrelationIDs?, _ settings: SpanSettings, _ plan: ActivePlan, began: MonotonicTime
  ) -> RequestSpans? {
    guard let ids, ids.isRecorded || settings.keepsFailures, let trace = ids.trace else { return nil }
    return RequestSpans(trace, ids, settings, plan, began: began)
  }

  private init(
    _ trace: TraceContext, _ ids: CorrelationIDs, _ settings: SpanSettings, _ plan: ActivePlan, began: MonotonicTime
  ) {
    self.trace = trace
    (isRoot, isRecorded) = (ids.isRoot, ids.isRecorded)
    (self.settings, self.plan, self.began) = (settings, plan, began)
    place = trace.place(isRoot ? trace.parent : plan.traceIDs.parent())
  }

  /// The identifier of the request's span.
  var id: UInt64 { place.id }

  /// The same: 16 lower-case hexadecimal digits.
  var idText: String { trace.child(parent: place.id).parentID }

  /// The position of an attempt in the trace, as its fields have it; nil if the attempt is not recorded.
  func context(of number: Int) -> TraceContext? {
    guard isRecorded, let attempt = open.last(where: { $0.number == number }) else { return nil }
    return trace.recordedChild(parent: attempt.place.id)
  }

  /// The flags of spans: those that are recorded are sampled, whatever the caller says.
  private var flags: UInt8 { isRecorded ? trace.recordedChild(parent: place.id).flags : trace.flags }

  private func time(_ moment: MonotonicTime) -> UInt64 { UInt64(clamping: moment.nanoseconds &+ clock) }

  private func note(_ event: (_ time: UInt64) -> Span.Event) { events.append(event(time(.now))) }
}

// MARK: - What it hears

extension RequestSpans: TransportObserver {
  var transportInterests: TransportInterests { [] }

  func connection(_ event: ConnectionEvent) {}
  func destination(_ destination: Destination, availableRetries: Double) {}
  func destination(_ destination: Destination, entered state: CircuitState) {}
  func destination(_ destination: Destination, entered state: OverloadState) {}
  func destination(_ destination: Destination, overload report: OverloadReport) {}
  func destination(_ destination: Destination, pause report: PauseReport) {}
  func destination(_ destination: Destination, endpoint event: EndpointEvent) {}

  func exchangeBegan(_ exchange: any TransportExchange) { plan.observer?.exchangeBegan(exchange) }

  func exchange(
    _ exchange: any TransportExchange, didAdaptUsing name: String, duration: Double, failed: AdaptationFailure?
  ) {
    // The token is fetched once for all who wait.
    let now = time(.now)
    var span = Span(
      "oauth2.token", .client, at: trace.place(plan.traceIDs.parent()), from: now &- UInt64(max(0, duration) * 1e9),
      to: now)
    (span.parent, span.flags, span.traceState) = (place.id, flags, trace.traceState)
    span.attributes = [Attribute("weir.credential", name)]
    if let failed {
      span.isError = true
      span.attributes.append(Attribute("error.type", failed.rawValue))
    }
    waits.append(span)
    plan.observer?.exchange(exchange, didAdaptUsing: name, duration: duration, failed: failed)
  }

  func exchange(
    _ exchange: any TransportExchange, willRetryAfter delay: Double, source: RetryDelaySource, reason: RetryReason
  ) {
    isTroubled = true
    note { .retry(for: reason, after: delay, at: $0) }
    plan.observer?.exchange(exchange, willRetryAfter: delay, source: source, reason: reason)
  }

  func exchange(_ exchange: any TransportExchange, retriesDueTo reason: RetryReason?) {
    self.reason = reason
    plan.observer?.exchange(exchange, retriesDueTo: reason)
  }

  func exchange(_ exchange: any TransportExchange, didDenyRetry reason: RetryDenial.Reason) {
    isTroubled = true
    note { .denied(reason, at: $0) }
    plan.observer?.exchange(exchange, didDenyRetry: reason)
  }

  func exchange(_ exchange: any TransportExchange, hedge event: HedgeEvent) {
    switch event {
    case .started:
      hasRaced = true
      if !open.isEmpty { open[open.count - 1].isHedge = true }
    case .denied: note { .deniedHedge(at: $0) }
    case .won, .lost: break
    }
    plan.observer?.exchange(exchange, hedge: event)
  }

  func exchange(_ exchange: any TransportExchange, waitedForPace seconds: Double) {
    note { .paced(for: seconds, at: $0) }
    plan.observer?.exchange(exchange, waitedForPace: seconds)
  }

  func exchange(_ exchange: any TransportExchange, wasShed reason: ShedReason) {
    note { .shed(reason, at: $0) }
    plan.observer?.exchange(exchange, wasShed: reason)
  }

  func exchange(_ exchange: any TransportExchange, abandonedIn phase: AbandonedPhase) {
    note { Span.Event("abandoned", at: $0, [Attribute("weir.phase", phase.rawValue)]) }
    plan.observer?.exchange(exchange, abandonedIn: phase)
  }

  func exchange(_ exchange: any TransportExchange, didSettle end: ExchangeEnd) {
    plan.observer?.exchange(exchange, didSettle: end)
  }

  func exchange(_ exchange: any TransportExchange, didStartAttempt number: Int) {
    let place = trace.place(plan.traceIDs.parent())
    let outgoing = (exchange as? Forwarding)?.outgoing
    open.append(
      Attempt(
        number: number, place: place, began: .now, before: count, destination: exchange.destination,
        method: outgoing?.method ?? "", operation: exchange.operation, origin: outgoing?.route.upstream.origin ?? "",
        target: outgoing?.target ?? "",
        reason: reason, endpoint: exchange.admission.lastEndpoint, previous: last))
    last = place
    count += 1
    reason = nil
    plan.observer?.exchange(exchange, didStartAttempt: number)
  }

  func exchange(
    _ exchange: any TransportExchange, didEndAttempt number: Int, _ report: AttemptReport, error: (any LabelledError)?
  ) {
    if let index = open.lastIndex(where: { $0.number == number }) {
      let attempt = open.remove(at: index)
      ended.append(Ended(attempt: attempt, report: report, error: error?.label, time: .now))
    }
    plan.observer?.exchange(exchange, didEndAttempt: number, report, error: error)
  }
}

// MARK: - Spans

extension RequestSpans {
  /// Another upstream, or a fixed answer, takes the place of a failure.
  func fallsBack() { note { Span.Event("fallback", at: $0) } }

  private func span(of ended: Ended) -> Span {
    let (attempt, report) = (ended.attempt, ended.report)
    // A CONNECT only opens the way.
    let name = attempt.method == "CONNECT" ? "connect" : Span.name(of: attempt.method, attempt.operation)
    var span = Span(name, .client, at: attempt.place, from: time(attempt.began), to: time(ended.time))
    span.parent = place.id
    span.flags = flags
    span.traceState = trace.traceState
    span.links = attempt.previous.map { [$0] } ?? []
    span.events = Span.Event.phases(report.phases, from: span.start, isBroken: report.statusCode == nil)
    span.attributes.reserveCapacity(14)
    span.add(method: attempt.method)
    if let destination = attempt.destination {
      span.attributes.append(Attribute("server.address", destination.host))
      span.attributes.append(Attribute("server.port", destination.port))
      span.attributes.append(Attribute("url.scheme", destination.scheme))
      // Neither CONNECT nor a question about the whole server has a path.
      if attempt.target.utf8.first == .slash {
        let path = cut(String(attempt.target.utf8.prefix { $0 != UInt8(ascii: "?") }) ?? "")
        span.attributes.append(Attribute("url.path", path))
        span.attributes.append(Attribute("url.full", cut((String(attempt.origin.utf8.dropLast()) ?? "") + path)))
      }
    }
    span.add(operation: attempt.operation)
    if let status = report.statusCode { span.attributes.append(Attribute("http.response.status_code", status)) }
    if let address = report.remoteAddress { span.attributes.append(Attribute("network.peer.address", address)) }
    if let port = report.remotePort { span.attributes.append(Attribute("network.peer.port", port)) }
    if let name = report.networkProtocolName {
      span.attributes.append(Attribute("network.protocol.version", VersionLabel.of(name)))
    }
    if attempt.before > 0 { span.attributes.append(Attribute("http.request.resend_count", attempt.before)) }
    if let reason = attempt.reason { span.attributes.append(Attribute("weir.retry.reason", reason.rawValue)) }
    if attempt.isHedge { span.attributes.append(Attribute("weir.hedge", .boolean(true))) }
    if let seconds = report.phases[.queue] {
      span.attributes.append(Attribute("weir.queue.wait", .double(seconds)))
    }
    if let endpoint = attempt.endpoint { span.attributes.append(Attribute("weir.endpoint", endpoint)) }
    // Another attempt gave the answer.
    if isAbandoned(ended) {
      span.attributes.append(Attribute("weir.outcome", "abandoned"))
    } else if let failure = ended.failure {
      span.isError = true
      span.attributes.append(Attribute("error.type", failure))
    }
    return span
  }

  private func isAbandoned(_ ended: Ended) -> Bool { hasRaced && ended.error == FailureCode.cancelled.label }

  /// Hands the spans on, if they are wanted.
  func end(_ request: Forwarding, _ outcome: GatewayOutcome, at now: MonotonicTime) {
    let status = request.status
    let failure = outcome.errorType(status: status)
    let isWanted =
      isRecorded || !failure.isEmpty || isTroubled || count > 1 || ended.contains { $0.isFault }
      || settings.slow.map { now.seconds(since: began) >= $0 } ?? false
    guard isWanted else { return }
    let head = request.exchange.head
    let (method, route) = (head.method, request.routeName)
    let word = Span.name(of: method)
    var span = Span(
      route.isEmpty ? word : "\(word) \(route)", .server, at: place, from: time(began), to: time(now))
    span.parent = isRoot ? 0 : trace.parent
    span.hasRemoteParent = !isRoot
    span.flags = flags
    span.traceState = trace.traceState
    span.events = events
    span.attributes.reserveCapacity(14)
    span.add(method: method)
    // The target of CONNECT is no path.
    if method != "CONNECT" { span.attributes.append(Attribute("url.path", cut(request.shownPath))) }
    span.attributes.append(Attribute("url.scheme", request.context.isSecure ? "https" : "http"))
    span.attributes.append(Attribute("network.protocol.version", request.isHTTP10 ? "1.0" : "1.1"))
    if !route.isEmpty { span.attributes.append(Attribute("http.route", route)) }
    if status != 0 { span.attributes.append(Attribute("http.response.status_code", status)) }
    let client = String(decoding: request.clientText, as: UTF8.self)
    if !client.isEmpty { span.attributes.append(Attribute("client.address", client)) }
    head.withAuthorityBytes { addServer($0, isSecure: request.context.isSecure, to: &span.attributes) }
    if let agent = head.fields["user-agent"] {
      span.attributes.append(Attribute("user_agent.original", cut(agent)))
    }
    span.attributes.append(Attribute("weir.outcome", outcome.label))
    if !failure.isEmpty {
      span.isError = true
      let label = request.errorLabel
      span.attributes.append(Attribute("error.type", label.isEmpty ? failure : label))
    }
    var spans: [Span] = []
    spans.reserveCapacity(1 + ended.count + waits.count)
    spans.append(span)
    for attempt in ended { spans.append(self.span(of: attempt)) }
    spans += waits
    settings.sink.add(spans)
  }

  /// The beginning of a text that others have chosen: the queue of spans is bounded by their number alone.
  private func cut(_ text: String) -> String { text.cut(after: Self.longest) }

  private static let longest = 512

  /// Adds the host and port that a client has asked for.
  private func addServer(_ authority: UnsafeRawBufferPointer, isSecure: Bool, to attributes: inout [Attribute]) {
    guard !authority.isEmpty else { return }
    let octets = authority.bindMemory(to: UInt8.self).span
    var host = authority[..<RequestAuthority.hostLength(octets)]
    if host.first == UInt8(ascii: "["), host.last == UInt8(ascii: "]") { host = host.dropFirst().dropLast() }
    let port = UnsafeRawBufferPointer(rebasing: authority[RequestAuthority.port(octets)].dropFirst()).decimal
    attributes.append(Attribute("server.address", cut(String(decoding: host, as: UTF8.self))))
    // A number that is no port counts as none.
    let named = port.flatMap { (1...65_535).contains($0) ? Int($0) : nil }
    attributes.append(Attribute("server.port", named ?? (isSecure ? 443 : 80)))
  }
}

extension TraceContext {
  /// A span of the trace.
  func place(_ id: UInt64) -> Span.Place { Span.Place(high: high, low: low, id: id) }
}
