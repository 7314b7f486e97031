import WeirCurl
import WeirExporter
import WeirIO
import WeirServer
import WeirTransport

// The end of a request: what the client gets if it is not the upstream's response, what is counted, what is logged.
extension Forwarding {
  /// Ends the exchange with the client according to the request's outcome.
  func conclude(_ outcome: RequestOutcome, at now: MonotonicTime) {
    if isClientGone {
      endWithoutClient(outcome)
    } else if isResponseBad {
      failure = nil
      answerUnlessFallback(.badResponse, as: .forwarded(.transportError))
    } else if status == 0, body.defect != nil || outcome == .cancelled && body.holdsUpstreamUp {
      body.refuse(.tooSlow)
      answerBadBody()
    } else if status == 0 {
      answerUnlessFallback(GatewayAnswer(outcome, failure), as: GatewayOutcome(outcome, failure))
    } else {
      // Before the client has the end: it may send its next request at once.
      leaveLimits()
      // A truncated response must not look like a complete one. A tunnel goes on.
      if failure != nil { exchange.abort() } else if status != 101 { exchange.end() }
      end(body.defect?.outcome ?? .forwarded(outcome), at: now)
    }
  }

  /// Ends a request whose client has left, or of whose body the server has refused the rest.
  func endWithoutClient(_ outcome: RequestOutcome) {
    exchange.abort()
    guard let refusal = exchange.refusal else { return end(.forwarded(outcome)) }
    status = refusal.status
    end(GatewayOutcome(refusal))
  }

  /// Answers the client in place of an upstream, unless the route has a better answer.
  func answerUnlessFallback(_ answer: GatewayAnswer, as outcome: GatewayOutcome) {
    if !fallsBack(from: answer, as: outcome) { self.answer(answer, as: outcome) }
  }

  /// Answers the client in place of an upstream.
  func answer(_ answer: GatewayAnswer, as outcome: GatewayOutcome) {
    leaveLimits()
    status = answer.status
    ownAnswer = answer
    var fields = WeirServer.ResponseFields()
    if let seconds = answer.retryAfter { fields.add("Retry-After", String(seconds)) }
    for challenge in answer.challenges { fields.add("WWW-Authenticate", challenge) }
    if let codings = answer.acceptedCodings { fields.add("Accept-Encoding", codings) }
    if let reason = answer.refusal {
      fields.add("X-No-Retry", ShedReason.overload.rawValue)
      // The field says that nothing was sent, which is not so if a retry was refused.
      if tally.started == 0 { fields.add("X-Weir-Refused", reason.rawValue) }
    }
    addRequestID(to: &fields)
    exchange.respond(status: answer.status, fields: fields, text: answer.text)
    end(outcome)
  }

  /// Answers by a route that forwards nothing.
  func answer(byRoute index: Int, location: String? = nil) {
    guard case .answer(let answer) = plan.plan.work[index] else { return }
    self.answer(by: answer, location: location, as: .answeredByRoute)
  }

  func answer(by answer: RouteAnswer, location: String? = nil, as outcome: GatewayOutcome) {
    leaveLimits()
    status = answer.status
    var fields = withFacts { answer.fields(location: location, $0) }
    addRequestID(to: &fields, unless: answer.rules)
    exchange.respond(status: status, fields: fields, body: answer.body)
    end(outcome)
  }

  /// Adds the request's identifier to a response, unless the route has a rule about the field.
  func addRequestID(to fields: inout WeirServer.ResponseFields, unless rules: ResponseRules? = nil) {
    guard let requestID = marks?.requestID, let name = plan.plan.marks?.header, !name.isEmpty else { return }
    name.withUnsafeBytes { name in
      if rules?.drops(name) == true { return }
      requestID.withUnsafeBytes { _ = fields.add(name: name, value: $0) }
    }
  }

  func end(_ outcome: GatewayOutcome, at now: MonotonicTime = .now) {
    guard !isOver else { return }
    isOver = true
    exchange.forgetCallbacks()
    bodyIsOver()
    if coder != nil { dropCoder() }
    body.decoding?.end(for: self)
    leaveTunnelPlace()
    leaveLimits()
    forgetClientWait()
    let seconds = now.seconds(since: began)
    // How long a stream lasts tells nothing of how fast it was answered.
    let measured = streamBegan?.seconds(since: began) ?? seconds
    plan.ended(
      SeriesCache.Key(
        route: route, method: knownMethod, isHTTP10: isHTTP10, isSecure: edge.isSecure, status: status,
        outcome: outcome),
      seconds: measured, traceID: marks?.sampledTraceID)
    noteRecent(outcome, seconds, measured)
    // A fixed response in place of a failure was logged as that (``fallsBack(from:as:)``).
    if isFailure, outcome != .answered, outcome != .answeredByRoute, !outcome.isOwnRefusal {
      logFailure(outcome, status: status, line: ownAnswer?.line)
    }
    logAccess(outcome, seconds)
    if plan.accessNames != nil, status != 101 { recordAccess(outcome.label, seconds) }
    outgoing = nil
  }

  /// Whether an operator should look at the failure: the gateway or the upstream could not do its part, and one of them
  /// says so. A client's mistakes and an application's own errors don't count.
  private var isFailure: Bool {
    // Refusals of load control have lines of their own (``UpstreamLog``).
    guard !isClientGone, body.defect == nil, ownAnswer?.refusal == nil else { return false }
    switch status {
    case 502, 503, 504, 508: return true
    default: return failure != nil && failure != .cancelled && ownAnswer == nil
    }
  }

  /// - Parameter line: The text of the gateway's own answer.
  func logFailure(_ outcome: GatewayOutcome, status: Int, line: String?) {
    let route = route < 0 ? nil : plan.plan.table.routes[route]
    let upstream = outgoing?.route.upstream ?? route?.upstream
    let text = failure?.cause ?? line ?? ""
    plan.log.failed(
      FailedRequest(
        kind: .init(route: route?.name ?? "", status: status, outcome: outcome.label), method: exchange.head.method,
        upstream: upstream?.authority ?? "", endpoint: admission.lastEndpoint,
        seconds: MonotonicTime.now.seconds(since: began), attempts: tally.started, error: failure?.label ?? "",
        text: text, traceID: marks?.trace?.traceID))
  }

  /// Logs the request without its query and header fields, since they may hold secrets.
  private func logAccess(_ outcome: GatewayOutcome, _ seconds: Double) {
    guard plan.log.log.level <= .debug else { return }
    plan.log.log.debug(
      "request",
      [
        "route": .string(route < 0 ? "" : plan.plan.table.routes[route].name),
        "method": .string(exchange.head.method), "path": .string(exchange.head.path), "status": .integer(status),
        "outcome": .string(outcome.label), "seconds": .seconds(seconds),
        "attempts": .integer(tally.started),
        "client": .string(edge.reportedClient(of: exchange).map { "\($0)" } ?? "\(exchange.peer)"),
        "error": .string(failure?.label ?? ""),
      ])
  }

  /// Notes the request for the status page if it failed or was slow.
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
    request.endpoint = admission.lastEndpoint
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
