import WeirCurl
import WeirHTTP
import WeirIO
import WeirMetrics
import WeirServer
import WeirTransport

/// One request on its way through the gateway. It is an ``ExchangeRun``, with the exchange with the client on one side and
/// the attempts at the upstream on the other, all on one loop. Confined to it.
///
/// Its properties are exempt from run-time checks of exclusive access: while one of them changes, no code is called
/// that comes back here.
///
/// The exchange keeps it alive until the exchange has ended, and its attempts until they have.
final class Forwarding {
  let exchange: Exchange
  let context: ListenerContext
  let plan: ActivePlan
  let knownMethod: KnownMethod
  let isHTTP10: Bool
  let began: MonotonicTime
  /// An index into the plan's routes; −1 before one is found.
  @exclusivity(unchecked) var route = -1
  /// The operation of the route that the request is; nil if that names none for it.
  @exclusivity(unchecked) private(set) var operation: NamedOperation?
  /// The request to the upstream; nil for a request that is not forwarded.
  @exclusivity(unchecked) var outgoing: OutgoingRequest?
  @exclusivity(unchecked) var machine = ExchangeMachine(mayRetry: false)
  @exclusivity(unchecked) var admission: ExchangeAdmission

  /// The present attempt, from its beginning on.
  @exclusivity(unchecked) var attempt: Attempt?
  /// The attempts beside the present one.
  @exclusivity(unchecked) var rivals: [Attempt] = []
  /// The reason why the request has failed, as far as it is known. Nil again when another attempt begins.
  @exclusivity(unchecked) var failure: ExchangeFailure?
  /// The head of the present attempt's response.
  @exclusivity(unchecked) var head: ResponseHead?
  /// The end of the transfer, kept while the client has not taken the whole response.
  @exclusivity(unchecked) var ending: (error: TransferError?, report: TransferReport)?
  /// The time and the attempts so far.
  @exclusivity(unchecked) var tally = UpstreamTally()
  /// Whether the upstream has no endpoint, for which the request waits.
  @exclusivity(unchecked) private var awaitsEndpoints = false
  /// The versions of the credentials that the first attempt carried.
  @exclusivity(unchecked) var firstVersions = CredentialVersions()
  /// Nil without a credential, and for a single attempt with a value that was there and was not refused.
  @exclusivity(unchecked) var credential: CredentialUse?
  /// The reason why the next attempt was granted.
  @exclusivity(unchecked) var grantedReason: RetryReason?
  /// The request's trace and identifier; nil without any.
  @exclusivity(unchecked) var ids: CorrelationIDs?
  /// The spans of the request; nil if nothing is recorded.
  @exclusivity(unchecked) var spans: RequestSpans?
  /// The address of the client, which a trusted proxy may report. Found when it is first asked for.
  private(set) lazy var client = context.client(of: exchange)
  /// Whether the route has taken the request's credentials.
  @exclusivity(unchecked) var isAuthenticated = false
  /// The name of the user that has given a right password.
  @exclusivity(unchecked) var user: [UInt8]?
  /// The version of TLS that the client speaks, for the access log.
  @exclusivity(unchecked) var tlsVersion: String?
  private(set) lazy var delayTimer = LoopTimer()
  private(set) lazy var hedgeTimer = LoopTimer()

  @exclusivity(unchecked) var body = IncomingBody()
  /// Whether more of the body may be kept than of every one.
  @exclusivity(unchecked) var keepsBody = false
  /// Codes or decodes the response's body; nil if it passes unchanged.
  @exclusivity(unchecked) var coder: BodyCoder?
  /// Set once the response has waited for its client.
  @exclusivity(unchecked) var clientWait: ClientWait?

  /// The request's permits of its route's concurrency limits.
  @exclusivity(unchecked) var permits: ConcurrencyPermits?
  /// The gate of the route's tunnels, in which a request has a place that may become one.
  @exclusivity(unchecked) var tunnelGate: Gate?
  /// The status sent to the client; 0 before it is sent.
  @exclusivity(unchecked) var status = 0
  /// The answer that the gateway gave in place of an upstream.
  @exclusivity(unchecked) var ownAnswer: GatewayAnswer?
  @exclusivity(unchecked) var isClientGone = false
  /// When the head of a response that streams went to the client; nil without one.
  @exclusivity(unchecked) var streamBegan: MonotonicTime?
  /// Whether the client has ended such a response, which is its normal end.
  @exclusivity(unchecked) var hasEndedStream = false
  @exclusivity(unchecked) var isResponseBad = false
  @exclusivity(unchecked) var isOver = false
  /// Whether the request has become a tunnel.
  @exclusivity(unchecked) var isTunnel = false

  private init(_ exchange: Exchange, from context: ListenerContext, method: String, plan: ActivePlan) {
    self.exchange = exchange
    self.context = context
    self.plan = plan
    knownMethod = KnownMethod(method)
    isHTTP10 = exchange.head.version == .http10
    admission = plan.noAdmission
    // The turn's time, since a request that waits behind others of its turn is already under way.
    began = exchange.loop.turnTime
    if let settings = plan.plan.idSettings {
      ids = plan.ids(of: exchange.head.fields)
      if let rules = settings.spans { spans = RequestSpans.make(ids, rules, plan, began: began) }
    }
    if plan.accessNames != nil { tlsVersion = context.tlsVersion(of: exchange) }
  }

  /// Forwards or answers the request of an exchange.
  static func start(_ exchange: Exchange, from context: ListenerContext, plan: ActivePlan) {
    let method = exchange.head.method
    let forwarding = Forwarding(exchange, from: context, method: method, plan: plan)
    plan.began(forwarding.knownMethod, isSecure: context.isSecure)
    forwarding.start(method: method)
  }

  func start(method name: String) {
    guard isAllowed(by: context.clients), makesTunnels(name) else { return }
    let bodyLength = exchange.head.bodyLength
    exchange.head.withAuthorityBytes { authority in
      if !context.serves(authority, exchange) { return answer(.misdirected, as: .refused) }
      switch decision(authority) {
      case .noRoute: answer(.noRoute, as: .unrouted)
      case .badTarget(let reason): answer(.badTarget(reason), as: .refused)
      case .redirect(let index, let location):
        if enters(index) { answer(byRoute: index, location: location) }
      case .connect(let index):
        if enters(index), let route = routePlan(index) { connect(by: route) }
      case .respond(let index):
        if enters(index) { answer(byRoute: index) }
      case .forward(let index, let target, let operation):
        if let operation { self.operation = operation }
        guard enters(index), let route = routePlan(index) else { return }
        if let coding = route.coding, !decodesBody(by: coding) { return }
        switch fields(authority, by: route) {
        case .loop: answer(.loop, as: .loop)
        case .finalRecipient: answer(.finalRecipient(isTrace: knownMethod == .trace), as: .answered)
        case .forward(let fields, let retries, let hints):
          forward(
            OutgoingRequest(
              route: route, method: name, target: target, fields: fields,
              body: body.isDecoded ? .chunked : bodyLength, retriesBefore: retries,
              upgrade: upgrade(by: route)), hints)
        }
      }
    }
  }

  /// The plan by which a request of a route is forwarded. Nil if there is none, of which the client has been told.
  private func routePlan(_ index: Int) -> RoutePlan? {
    switch plan.plan.work[index] {
    case .forward(let route): return route
    case .split(let split, let routes):
      return routes[hash(by: split.key).map(split.part(ofHash:)) ?? split.part(at: plan.random.next())]
    case .requested(let route): return requestedPlan(of: route)
    case .answer: return nil
    }
  }

  /// The hash of the request's part that a key names; nil without one.
  func hash(by key: RequestKey?) -> UInt64? {
    key?.hash(exchange.head.fields, client: clientText)
  }

  /// The address of the client, which a trusted proxy may report; empty if there is none.
  var clientText: [UInt8] {
    context.reportedClient(of: exchange).map { Array("\($0)".utf8) } ?? plan.text(of: exchange.peer)
  }

  private func decision(_ authority: UnsafeRawBufferPointer) -> RouteTable.Decision {
    exchange.head.withComponents { components in
      plan.plan.table.decide(
        method: components.method.bindMemory(to: UInt8.self).span, host: authority.bindMemory(to: UInt8.self).span,
        target: components.target.bindMemory(to: UInt8.self).span, fields: exchange.head.fields, from: self)
    }
  }

  func fields(
    _ authority: UnsafeRawBufferPointer, by route: RoutePlan
  ) -> HeaderPolicy.Verdict {
    plan.text(of: exchange.peer).withUnsafeBytes { address in
      let client = HeaderPolicy.Client(
        address: address, authority: authority, trust: context.trust(in: exchange.peer),
        facts: context.facts(of: exchange), listener: context.name, isHTTP10: isHTTP10, ids: ids,
        countsForwards: knownMethod == .trace || knownMethod == .options)
      if body.isDecoded { return route.headers.request(DecodedRequest(head: exchange.head.fields), from: client) }
      return route.headers.request(exchange.head.fields, from: client)
    }
  }

  func forward(_ request: OutgoingRequest, _ hints: SchedulingHints) {
    if request.retriesBefore > 0 { plan.series[route].retried.increment() }
    guard takesTunnelPlace(request) else { return }
    outgoing = request
    admission = ExchangeAdmission(
      request.route.controls, state: plan.state(of: request.route), earnsRetryBudget: request.retriesBefore == 0,
      priority: hints.urgency, callerLeaves: hints.timeout.map { began.advanced(bySeconds: $0) })
    machine.mayRetry = request.mayRetry
    exchange.onAbort = { [self] in clientLeft() }
    if case .none = request.body { begin() } else { takeBody(within: request.route.timeout) }
  }

  /// The facts about the request that a route's rules may put into fields.
  func withFacts<Result>(_ body: (FieldTemplate.Facts) -> Result) -> Result {
    exchange.head.withAuthorityBytes { authority in
      plan.text(of: exchange.peer).withUnsafeBytes { address in
        body(
          FieldTemplate.Facts(
            address: address, authority: authority, listener: context.name, isSecure: context.isSecure))
      }
    }
  }

  /// Whether the request's method is HEAD, whose responses have no body.
  var isHead: Bool { knownMethod == .head }

  // MARK: Facts for observers

  var method: String? { outgoing?.method }

  var path: String? { shownPath }

  var observer: (any TransportObserver)? { spans ?? plan.observer }

  var sampledTrace: TraceContext? { ids?.shownTrace }

  var recordedSpan: UInt64? { ids?.isRecorded == true ? spans?.id : nil }

  // MARK: The beginning and the end

  /// Begins the attempts. The request is there, or as much of it as may wait here.
  func begin() {
    guard let outgoing else { return }
    tally.begins(at: .now)
    tally.deadline = tally.began.advanced(bySeconds: outgoing.route.timeout)
    beginExchange(by: outgoing.route)
  }

  func beginExchange(by route: RoutePlan) {
    exchange.limit(to: tally.deadline) { [self] in deadlineIsOver() }
    if route.controls.pace != nil { admission.limitWaits(to: tally.deadline) }
    observer?.exchangeBegan(self)
    if !waitsForEndpoints(of: route) { perform(machine.begin()) }
  }

  /// An upstream may have no endpoint yet, because its lookups or files have not answered. Returns whether the request
  /// waits for one.
  private func waitsForEndpoints(of route: RoutePlan) -> Bool {
    guard let choice = plan.choice(for: route), choice.isEmpty else { return false }
    awaitsEndpoints = true
    choice.awaitsEndpoints(self) { [self] in endpointsAreDue() }
    let latest = MonotonicTime.now.advanced(bySeconds: route.patience)
    exchange.loop.schedule(delayTimer, at: latest, handler: self)
    return true
  }

  /// The upstream has endpoints, or has had none for too long.
  private func endpointsAreDue() {
    stopsWaitingForEndpoints()
    perform(machine.begin())
  }

  private func stopsWaitingForEndpoints() {
    guard awaitsEndpoints, let outgoing else { return }
    awaitsEndpoints = false
    exchange.loop.cancel(delayTimer)
    plan.choice(for: outgoing.route)?.stopsWaiting(self)
  }

  /// Ends the request from outside, with `reason` as its failure; nil for an end that is none.
  func fail(_ reason: ExchangeFailure?) {
    if machine.stage.isEnding { return }
    failure = reason
    if coder != nil { dropCoder() }
    dropDecoder()
    perform(machine.end())
  }

  /// Called when the attempts are over.
  func settle() {
    stopTimers()
    let now = MonotonicTime.now
    let outcome = RequestOutcome(failure, status: attempt?.status)
    attempt = nil
    tally.ends(at: now)
    observer?.exchange(
      self,
      didSettle: ExchangeEnd(
        outcome: outcome,
        isDestinationsFault: outcome.isDestinationsFault(status: tally.lastStatus) && !isForbidden && !isOfProxy,
        attempts: tally.startedHere, duration: (streamBegan ?? now).seconds(since: tally.began)))
    conclude(outcome, at: now)
  }

  private func stopTimers() {
    exchange.endLimit()
    stopsWaitingForEndpoints()
    if credential != nil { endCredentialWait() }
    if grantedReason != nil { stopWaiting(for: .retry) }
    if machine.race != nil { stopWaiting(for: .hedge) }
  }

  // MARK: The time limit, which the head of a response that streams ends

  /// The head of a response that streams goes to the client: only its gaps are bounded from now on.
  func streamBegins(by route: RoutePlan) {
    streamBegan = .now
    attempt?.limitSilence(to: route.streamSilence)
  }

  /// Whether the client ends a stream by leaving now. It does not if it leaves with a part of what it was promised, or
  /// has not sent its whole request.
  var endsStream: Bool {
    streamBegan != nil && exchange.hasClientLeft && body.timer == nil
      && (isRecoded || head?.value(forField: "Content-Length") == nil)
  }

  /// The deadline has passed. If the upstream waits only for the client's body, or the response for its client, the
  /// upstream was not slow.
  func deadlineIsOver() {
    // The timer stays armed at a stream's head, since the response may still be taken back.
    if streamBegan != nil { return }
    if credential?.wait?.isRepair == false { return credentialIsLate() }
    if body.isAwaited && machine.stage != .passing || clientWait?.since != nil { return fail(.cancelled) }
    let seconds = outgoing?.route.timeout ?? 0
    fail(.transfer(TransferFailure(.timedOut, "the request took longer than its route allows (timeout: \(seconds) s)")))
  }

  // MARK: Ends from outside

  private func clientLeft() {
    isClientGone = true
    if body.isGathering, body.timer != nil {
      endWithoutClient(.cancelled)
    } else if endsStream, !machine.stage.isEnding {
      hasEndedStream = true
      fail(nil)
    } else {
      noteAbandoned()
      fail(.cancelled)
    }
  }

  /// Whether the client has given up its wait for the upstream. It has not if the upstream still waits for the rest of
  /// the request, or if the server has ended the connection.
  private var hasGivenUp: Bool { isClientGone && exchange.hasClientLeft && !body.holdsUpstreamUp }

  private func noteAbandoned() {
    guard hasGivenUp, !machine.stage.isEnding, attempt != nil || awaitsEndpoints || isWaitingForCredential,
      let destination
    else { return }
    let phase = machine.stage == .delaying ? .queue : attempt?.abandonedPhase ?? .queue
    observer?.exchange(self, abandonedIn: phase)
    plan.series[route].abandoned.increment()
    plan.log.abandoned(destination, in: phase, after: MonotonicTime.now.seconds(since: tally.began))
  }

  /// Why the present attempt is ended from outside.
  var attemptEnding: AttemptEnding {
    if hasGivenUp { return .callerGaveUp }
    return failure?.transferFailure?.code == .timedOut ? .timedOut : .withdrawn
  }
}

extension Forwarding: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if timer === body.timer {
      bodyTimeIsOver()
    } else if timer === hedgeTimer {
      hedgeIsDue()
    } else if let coder, timer === coder.turnTimer || timer === coder.flushTimer {
      coderIsDue(coder, isForTurn: timer === coder.turnTimer)
    } else if timer === body.decoder?.turnTimer {
      decodeMore()
    } else if let clientWait, timer === clientWait.timer {
      clientWaitIsOver(clientWait, at: now)
    } else if awaitsEndpoints {
      endpointsAreDue()
    } else if isWaitingForCredential {
      credentialIsLate()
    } else {
      retryIsDue()
    }
  }
}
