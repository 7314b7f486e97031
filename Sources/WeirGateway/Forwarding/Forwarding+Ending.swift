import WeirCurl
import WeirExporter
import WeirHTTP
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
      if !answersRequested(outcome) {
        answerUnlessFallback(GatewayAnswer(outcome, failure), as: GatewayOutcome(outcome, failure))
      }
    } else {
      // Before the client has the end: it may send its next request at once.
      releasePermits()
      // A truncated response must not look like a complete one. A tunnel goes on.
      if failure != nil { exchange.abort() } else if !isTunnel { exchange.end() }
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
    releasePermits()
    status = answer.status
    ownAnswer = answer
    var fields = WeirServer.ResponseFields()
    if let seconds = answer.retryAfter { fields.add("Retry-After", String(seconds)) }
    let challengeName = answer.status == 407 ? "Proxy-Authenticate" : "WWW-Authenticate"
    for challenge in answer.challenges { fields.add(challengeName, challenge) }
    if let codings = answer.acceptedCodings { fields.add("Accept-Encoding", codings) }
    if let refusal = answer.refusal {
      fields.add("X-No-Retry", refusal.kind)
      // The field says that nothing was sent, which is not so if a retry was refused.
      if tally.started == 0 { fields.add("X-Weir-Refused", refusal.reason) }
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
    releasePermits()
    status = answer.status
    var fields = withFacts { answer.fields(location: location, $0) }
    addRequestID(to: &fields, unless: answer.rules)
    exchange.respond(status: status, fields: fields, body: answer.body)
    end(outcome)
  }

  /// Adds the request's identifier to a response, unless the route has a rule about the field.
  func addRequestID(to fields: inout WeirServer.ResponseFields, unless rules: ResponseRules? = nil) {
    guard let requestID = ids?.requestID, let name = plan.plan.idSettings?.header, !name.isEmpty else { return }
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
    if keepsBody { body.drop() }
    if coder != nil { dropCoder() }
    dropDecoder()
    leaveTunnelPlace()
    releasePermits()
    forgetClientWait()
    let seconds = now.seconds(since: began)
    // How long a stream lasts tells nothing of how fast it was answered.
    let measured = streamBegan?.seconds(since: began) ?? seconds
    plan.ended(
      SeriesCache.Key(
        route: route, method: knownMethod, isHTTP10: isHTTP10, isSecure: context.isSecure, status: status,
        outcome: outcome),
      seconds: measured, trace: ids?.shownTrace, span: recordedSpan)
    noteRecent(outcome, seconds, measured)
    // A fixed response in place of a failure was logged as that (``fallsBack(from:as:)``).
    if isFailure, outcome != .answered, outcome != .answeredByRoute, !outcome.isOwnRefusal {
      logFailure(outcome, status: status, line: ownAnswer?.line)
    }
    logAccess(outcome, seconds)
    spans?.end(self, outcome, at: now)
    if plan.accessNames != nil, !isTunnel { recordAccess(outcome.label, seconds) }
    outgoing = nil
  }

  /// Whether an operator should look at the failure: the gateway or the upstream could not do its part, and one of them
  /// says so. A client's mistakes and an application's own errors don't count.
  private var isFailure: Bool {
    // Refusals have lines of their own (``UpstreamLog``, ``CredentialEvents``).
    guard !isClientGone, body.defect == nil, ownAnswer?.refusal == nil else { return false }
    switch status {
    case 502, 503, 504, 508: return true
    default: return failure != nil && failure != .cancelled && ownAnswer == nil
    }
  }

  /// The name of the route that was found; empty without one.
  var routeName: String { route < 0 ? "" : plan.plan.table.routes[route].name }

  /// The label of the failure; empty without one.
  var errorLabel: String { failure?.label ?? "" }

  /// - Parameter line: The text of the gateway's own answer.
  func logFailure(_ outcome: GatewayOutcome, status: Int, line: String?) {
    let upstream = outgoing?.route.upstream ?? (route < 0 ? nil : plan.plan.table.routes[route].upstream)
    let text = failure?.cause ?? line ?? ""
    plan.log.failed(
      FailedRequest(
        kind: .init(route: routeName, status: status, outcome: outcome.label), method: exchange.head.method,
        upstream: upstream?.authority ?? "", endpoint: admission.lastEndpoint,
        seconds: MonotonicTime.now.seconds(since: began), attempts: tally.started, error: errorLabel, text: text,
        traceID: ids?.trace?.traceID, spanID: spans?.idText))
  }

  /// Logs the request without its query and header fields, since they may hold secrets.
  private func logAccess(_ outcome: GatewayOutcome, _ seconds: Double) {
    guard plan.log.log.level <= .debug else { return }
    plan.log.log.debug(
      "request",
      [
        "route": .string(routeName),
        "method": .string(exchange.head.method), "path": .string(shownPath), "status": .integer(status),
        "outcome": .string(outcome.label), "seconds": .seconds(seconds),
        "attempts": .integer(tally.started),
        "client": .string(context.reportedClient(of: exchange).map { "\($0)" } ?? "\(exchange.peer)"),
        "error": .string(errorLabel),
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
    var request = RecentRequest(time: Timestamp.now.seconds)
    request.route = routeName
    if let destination = destination {
      request.upstream = StatusReport.Upstream.name(host: destination.host, port: String(destination.port))
    }
    request.endpoint = admission.lastEndpoint
    request.method = exchange.head.method
    request.path = RecentRequest.shown(path: shownPath)
    request.status = status
    request.outcome = outcome.label
    request.error = errorLabel
    request.seconds = seconds
    request.attempts = tally.started
    request.traceID = ids?.trace?.traceID
    if isFailure { recent.noteFailure(request) }
    request.seconds = measured
    if isSlow { recent.noteSlow(request) }
  }
}

// Another upstream, or a fixed response, in place of a failure of the gateway's own.
extension Forwarding {
  /// Replaces an answer of the gateway's own as the route says. Returns false if the route leaves it as it is.
  ///
  /// - Parameter outcome: The one that the answer would have.
  func fallsBack(from answer: GatewayAnswer, as outcome: GatewayOutcome) -> Bool {
    guard let request = outgoing, let fallback = request.route.fallback,
      fallback.statusCodes.contains(answer.status), failure != .cancelled, failure != .ended
    else { return false }
    switch fallback.action {
    case .answer(let replacement):
      spans?.fallsBack()
      logHidden(answer, outcome)
      self.answer(by: replacement, as: .answered)
      return true
    case .forward(let route): return forwards(request, by: route, from: answer, as: outcome)
    }
  }

  /// Sends the request to another upstream, once, if a retry of it could be sent there.
  private func forwards(
    _ request: OutgoingRequest, by route: RoutePlan, from answer: GatewayAnswer, as outcome: GatewayOutcome
  ) -> Bool {
    let now = MonotonicTime.now
    guard request.maySendAgain,
      case .forward(let fields, _, _) = exchange.head.withAuthorityBytes({ self.fields($0, by: route) })
    else { return false }
    let next = ExchangeAdmission(
      route.controls, state: plan.state(of: route), earnsRetryBudget: false, priority: admission.priority,
      callerLeaves: admission.callerLeaves)
    let verdict = next.verdict(
      on: .retry(after: 0, source: .backoff), canReplayBody: canReplayBody, deadline: tally.deadline,
      at: now)
    if case .deny(let reason) = verdict {
      denyFallback(by: next, reason)
      return false
    }
    spans?.fallsBack()
    logHidden(answer, outcome)
    admission = next
    outgoing = request.fallback(to: route, after: machine.retries, fields: fields)
    machine = ExchangeMachine(mayRetry: route.mayConnectElsewhere || route.credential != nil)
    (failure, head, ending, grantedReason) = (nil, nil, nil, nil)
    (credential, firstVersions) = (nil, CredentialVersions())
    isResponseBad = false
    // It may wait before it begins.
    body.rewind()
    tally.begins(at: now)
    beginExchange(by: route)
    return true
  }

  /// Logs the failure that a fallback hides. Refusals have lines of their own.
  private func logHidden(_ answer: GatewayAnswer, _ outcome: GatewayOutcome) {
    if answer.refusal == nil { logFailure(outcome, status: answer.status, line: answer.line) }
  }

  /// Tells the observer that the other upstream refuses the request, as it refuses a retry.
  private func denyFallback(by next: ExchangeAdmission, _ reason: RetryDenial.Reason) {
    let own = admission
    admission = next
    observer?.exchange(self, didDenyRetry: reason)
    admission = own
  }
}
