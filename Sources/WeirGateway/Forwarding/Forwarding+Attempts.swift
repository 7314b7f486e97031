import WeirCurl
import WeirHTTP
import WeirIO
import WeirMetrics
import WeirServer
import WeirTransport

// The steps in which a forwarded request differs from other exchanges.
extension Forwarding: ExchangeRun {
  func change<Answer>(_ input: (inout ExchangeMachine) -> Answer) -> Answer { input(&machine) }

  /// The present attempt waits for its credential here, as those of the client wait for adapters.
  func prepare() {
    if let outgoing, outgoing.route.hasSecrets, awaitsCredential(of: outgoing) { return }
    makePresentAttempt()
  }

  func makePresentAttempt() {
    attempt = makeAttempt(machine.present)
    perform(machine.prepared())
  }

  private func makeAttempt(_ number: Int) -> Attempt {
    let attempt = Attempt(transport: plan.transport, exchange: self, number: number)
    attempt.report(to: self)
    return attempt
  }

  func admit() { attempt?.admit() }

  /// The attempt that ends may still take bytes of the request, which the next one needs as well.
  func discardBody() {
    body.hold()
    attempt?.discardBody()
  }

  func cancelAttempt() { attempt?.cancel(attemptEnding) }

  func forgetAttempt() {
    failure = nil
    head = nil
  }

  // MARK: Retries

  /// Asks the rules.
  func askForVerdict() {
    guard let outgoing else { return }
    if let attempt, outgoing.route.hasSecrets, isRepairable(attempt), repairs(attempt) { return }
    let elsewhere = attempt?.elsewhere()
    guard let wish = elsewhere ?? outgoing.rules.map({ self.decision(of: $0, about: outgoing) }) else {
      return perform(machine.decided(nil))
    }
    judged(
      admission.verdict(on: wish, canReplayBody: canReplayBody, deadline: tally.deadline),
      dueTo: RetryReason(rawValue: failure?.label ?? String(attempt?.status ?? 0)))
  }

  private func decision(of rules: RetryRules, about outgoing: OutgoingRequest) -> RetryDecision {
    let transferFailure = failure?.transferFailure
    // An attempt that has dropped out of a race may have been sent, whatever became of the last one.
    let wasSent = attempt?.wasSent ?? false || machine.race?.granted ?? 0 > 0
    let facts = RetryRules.Failure(
      method: outgoing.method, status: attempt?.status, code: transferFailure?.code,
      isDestinationRefused: transferFailure?.isDestinationRefused ?? false,
      cause: RetryCause(transferFailure, wasSent: wasSent), isKeyed: outgoing.isKeyed,
      isElsewhere: attempt?.hasLeftEndpointOut ?? false)
    return rules.decision(
      about: facts, isRetryable: rules.isRetryable(facts),
      retryCount: machine.retries - admission.connectRetries - (credential?.repairs ?? 0),
      values: { [head] in head?.values(ofField: $0) ?? [] },
      random: .random(in: 0..<1),
      now: Timestamp.now.seconds)
  }

  /// Whether another attempt could send the same body.
  var canReplayBody: Bool { status == 0 && body.canReplay }

  // MARK: Second attempts

  var hedge: HedgePlan? { outgoing?.hedge }

  var mayRunTwice: Bool { true }

  func prepareRival() {
    // One that would have to wait comes too late.
    if let route = outgoing?.route, route.hasSecrets, !route.hasGoodCredentials(at: .now) { return }
    startRival { number, keep in keep(makeAttempt(number)) }
  }

  func abandon(_ rival: Attempt) {
    lose(rival, TransferFailure(.cancelled, "the attempt is of no use any more"))
  }

  private func lose(_ attempt: Attempt, _ failure: TransferFailure?) {
    attempt.lose()
    end(attempt, failure, announcing: failure.map { .transfer($0) })
  }

  // MARK: Time

  func wait(_ seconds: Double, for event: ExchangeTimer) {
    // From here on no attempt takes anything, so that nothing goes that the next one needs.
    if event == .retry { body.rewind() }
    exchange.loop.schedule(timer(of: event), at: MonotonicTime.now.advanced(bySeconds: seconds), handler: self)
  }

  func stopWaiting(for event: ExchangeTimer) { exchange.loop.cancel(timer(of: event)) }

  private func timer(of event: ExchangeTimer) -> LoopTimer {
    switch event {
    case .hedge: hedgeTimer
    case .retry: delayTimer
    }
  }
}

// The attempts' delegate: their questions and reports.
extension Forwarding: AttemptDelegate {
  func attemptMayStart(_ attempt: Attempt) -> Bool {
    if case .trying = machine.stage { machine.present == attempt.number } else { false }
  }

  func attempt(_ attempt: Attempt, wasRejected reason: Rejection) {
    failure = .rejected(reason)
    attempt.end(status: nil, nil)
    tally.lastStatus = nil
    perform(machine.rejected())
  }

  func attemptIsDue(_ attempt: Attempt) {
    guard let outgoing else { return }
    if let choice = plan.choice(for: outgoing.route), let destination {
      let key = hash(by: outgoing.route.balanceKey)
      guard attempt.findEndpoint(by: choice, at: destination, key: key) else { return withoutEndpoint(attempt) }
    }
    if let seconds = outgoing.route.attemptTimeout { attempt.limit(to: seconds) }
    attempt.hopStarts()
    if case .none = outgoing.body {
    } else if !attemptRewindsBody(attempt) {
      return ended(attempt, TransferFailure(.requestBodyStreamExhausted, "the request's body can't be sent again"))
    }
    do {
      try attempt.send(outgoing.spec, headers: headers(of: outgoing, for: attempt))
    } catch {
      ended(attempt, TransferFailure(.cannotLoadFromNetwork, "libcurl could not be started: \(error)"))
    }
  }

  /// The fields of an attempt. One that is recorded has a place of its own in the trace.
  private func headers(of outgoing: OutgoingRequest, for attempt: Attempt) -> PreparedHeaders {
    let trace = ids.flatMap { $0.passesTraceOn ? nil : spans?.context(of: attempt.number) ?? $0.trace }
    guard outgoing.route.hasSecrets, let secrets = plan.secretFields(of: outgoing.route) else {
      return outgoing.headers(retries: machine.retries, trace: trace)
    }
    refresh(secrets, for: attempt)
    return outgoing.headers(retries: machine.retries, trace: trace, secrets: secrets)
  }

  /// There is no endpoint for the attempt. One beside another just ends.
  private func withoutEndpoint(_ attempt: Attempt) {
    if attempt === self.attempt, rivals.isEmpty { return self.attempt(attempt, wasRejected: .noEndpoint) }
    ended(attempt, TransferFailure(.cancelled, "the upstream has no endpoint"))
  }

  func attemptBegan(_ attempt: Attempt) {
    tally.startsAttempt()
    wentOnWire(attempt)
  }

  /// Passes an interim head on. A 100 is not the upstream's to give: the gateway itself has asked the client for its body.
  func attempt(_ attempt: Attempt, didReceiveInterim head: ResponseHead) {
    guard head.status != 100, !isHTTP10, machine.passesInterim(attempt.number), let outgoing else { return }
    var fields = WeirServer.ResponseFields()
    _ = outgoing.route.headers.response(head, isHTTP10: head.version == .http1_0, to: &fields)
    exchange.sendInterim(status: head.status, fields: fields)
  }

  func attempt(_ attempt: Attempt, didReceiveHead head: ResponseHead) -> Flow {
    if machine.stage.isEnding { return .stop }
    attempt.noteLatency()
    let switches = tunnelGate != nil && attempt.hasSwitched
    // A switch that was asked for is a success.
    attempt.answered(switches ? 200 : head.status, head)
    if head.status == 429, let destination { plan.log.limited(destination) }
    let isRepairable = head.status == 401 && isRepairable(attempt)
    // In a race it is no better than a failure.
    guard goesOn(attempt, status: isRepairable ? 503 : head.status) else {
      if isRepairable { wasRefused(attempt) }
      lose(attempt, nil)
      return .stop
    }
    self.head = head
    if switches { return openTunnel(attempt, head) }
    let isRetryable = isRepairable || outgoing?.rules?.statusCodes.contains(head.status) ?? false
    perform(machine.headArrived(isRetryable: isRetryable))
    return isResponseBad ? .stop : .proceed
  }

  /// Passes the head on to the client, if it can be.
  func passOn() {
    guard let head, let outgoing else { return }
    var fields = WeirServer.ResponseFields(reservingBytes: 512)
    let framing: Reframing
    if let coding = outgoing.route.coding {
      framing = codedHead(head, by: coding, outgoing.route.headers, to: &fields)
    } else {
      framing = outgoing.route.headers.response(head, isHTTP10: head.version == .http1_0, to: &fields)
    }
    // An upstream that switches protocols without having been asked violates HTTP.
    guard head.status >= 200, let length = framing.bodyLength(status: head.status, isHead: isHead) else {
      isResponseBad = true
      let text = "the upstream has switched protocols, or its response has two lengths"
      return fail(.transfer(TransferFailure(.badServerResponse, text)))
    }
    complete(&fields, of: head, by: outgoing.route.headers)
    status = head.status
    if outgoing.route.hasSecrets { outgoing.route.credential?.noteAnswer(status) }
    if outgoing.route.route.streaming ?? framing.isEventStream { streamBegins(by: outgoing.route) }
    exchange.begin(status: status, fields: fields, length: isRecoded ? .chunked : length)
    // The head is sent at the end of the turn.
    if keepsBody { exchange.loop.atEndOfTurn { [self] in keepNoMore() } }
  }

  /// Adds the fields that end a response's head: those of the route's rules, and those that a status asks for.
  func complete(_ fields: inout WeirServer.ResponseFields, of head: ResponseHead, by policy: HeaderPolicy) {
    if head.status == 101 || head.status == 426 { policy.addUpgrade(of: head, to: &fields) }
    let rules = policy.responseRules
    if rules.adds { withFacts { rules.add(to: &fields, $0) } }
    addRequestID(to: &fields, unless: rules)
    if fields.isRepaired { plan.series[route].repaired.increment() }
  }

  func attempt(_ attempt: Attempt, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow {
    if machine.stage.isEnding { return .stop }
    if keepsBody { keepNoMore() }
    if let coder { return code(bytes, by: coder, attempt) }
    attempt.handedOn(bytes.count)
    if !exchange.write(bytes) { awaitClient(attempt) }
    return .proceed
  }

  func attempt(_ attempt: Attempt, didFinish error: TransferError?, _ report: TransferReport) {
    if attempt.awaitsEnd(failed: error != nil) {
      ending = (error, report)
      // The upstream has done its part.
      attempt.vacate()
    } else {
      finish(attempt, error, report)
    }
  }

  func attemptConcludes(_ attempt: Attempt) {
    guard let (error, report) = ending else { return }
    ending = nil
    if !machine.stage.isEnding { return finish(attempt, error, report) }
    attempt.measured(report)
    attemptWasCancelled(attempt)
  }

  private func finish(_ attempt: Attempt, _ error: TransferError?, _ report: TransferReport) {
    attempt.measured(report)
    if error?.kind == .proxyUnauthorized { wasRefusedByProxy(attempt) }
    var failure = attempt.judged(error).map {
      let rules = outgoing?.route.spec.rules
      let advice = TransferAdvice(options: plan.transport.options, rules: rules, naming: .upstream)
      return TransferFailure($0, advice: advice)
    }
    if let coder, failure == nil { failure = finish(coder) }
    ended(attempt, failure, hasBroken: error != nil)
  }

  func attemptWasCancelled(_ attempt: Attempt) {
    ended(attempt, TransferFailure(.cancelled, "the task was cancelled"))
  }

  /// Handles the end of an attempt.
  private func ended(_ attempt: Attempt, _ failure: TransferFailure?, hasBroken: Bool = false) {
    guard endsWith(attempt) else { return lose(attempt, failure) }
    if let failure, !machine.stage.isEnding { self.failure = .transfer(failure) }
    if failure != nil { takeBack() }
    end(attempt, failure, announcing: self.failure, isIdle: failure == nil && !hasBroken)
    perform(machine.attemptEnded(failed: self.failure != nil))
  }

  /// Tells the destination, the connection and the observer of an attempt's end.
  ///
  /// - Parameter isIdle: Whether the connection can be used again.
  func end(
    _ attempt: Attempt, _ failure: TransferFailure? = nil, announcing announced: ExchangeFailure? = nil,
    isIdle: Bool = false
  ) {
    tally.lastStatus = attempt.status
    let report = attempt.end(status: attempt.status, attemptFailure(failure))
    attempt.connectionUsed(isIdle: isIdle)
    attempt.announceEnd(report, announced)
  }

  /// The failure to report for the upstream if there was no final head; nil if that says nothing about the upstream.
  private func attemptFailure(_ failure: TransferFailure?) -> Attempt.Failure? {
    guard let failure, self.failure != .cancelled, !failure.isDestinationRefused, !failure.isOwnDefect,
      !failure.isOfProxy
    else { return nil }
    let outcome = RequestOutcome(self.failure ?? .transfer(failure), status: nil)
    return (outcome, isSilence: failure.code == .timedOut)
  }

  /// The attempt has failed after its head was passed on. Unless the client may have got some of it, another attempt
  /// may follow.
  private func takeBack() {
    if coder != nil { dropCoder() }
    guard status != 0, !hasEndedStream, exchange.retract() else { return }
    status = 0
    streamBegan = nil
    exchange.onWritable = nil
    forgetClientWait()
  }
}
