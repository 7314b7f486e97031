import WeirCurl
import WeirHTTP
import WeirIO
import WeirServer
import WeirTransport

/// One request on its way through the gateway: the shell of a ``ForwardMachine``, with the exchange with the client on one
/// side and the attempts at the upstream on the other, all on one loop. Confined to it.
///
/// Its properties are exempt from run-time checks of exclusive access: while one of them is changed, nothing is called that
/// comes back here.
///
/// Kept alive by the exchange until that has ended, and by its attempts until they have.
final class Forwarding: TransportExchange {
  let exchange: Exchange
  let plan: ActivePlan
  private let knownMethod: KnownMethod
  private let isHTTP10: Bool
  private let began: MonotonicTime
  /// An index into the plan's routes; −1 before one is found.
  @exclusivity(unchecked) private var route = -1
  /// What goes to the upstream; nil for a request that is not forwarded.
  @exclusivity(unchecked) private(set) var outgoing: OutgoingRequest?
  @exclusivity(unchecked) var machine = ForwardMachine(mayRetry: false)
  @exclusivity(unchecked) private(set) var terms: DestinationTerms

  /// The present attempt, from its beginning on.
  @exclusivity(unchecked) var attempt: Attempt?
  /// Those beside it.
  @exclusivity(unchecked) var rivals: [Attempt] = []
  /// Why the request has failed, as far as is known; nil again when another attempt begins.
  @exclusivity(unchecked) var failure: ExchangeFailure?
  /// The head of the present attempt's response.
  @exclusivity(unchecked) var head: ResponseHead?
  /// The end of the transfer, while the client has not taken all.
  @exclusivity(unchecked) var ending: (error: TransferError?, report: TransferReport)?
  /// The status of the last attempt that has ended.
  @exclusivity(unchecked) var lastStatus: Int?
  /// Attempts that were put on the wire.
  @exclusivity(unchecked) var startedCount = 0
  /// Why the next attempt was granted.
  @exclusivity(unchecked) var grantedReason: RetryReason?
  /// When the request to the upstream began, and when it has to be over.
  @exclusivity(unchecked) private var forwardBegan = MonotonicTime(nanoseconds: 0)
  @exclusivity(unchecked) private(set) var deadline = MonotonicTime.distantFuture
  private let deadlineTimer = LoopTimer()
  private(set) lazy var delayTimer = LoopTimer()
  private(set) lazy var hedgeTimer = LoopTimer()

  @exclusivity(unchecked) var buffer = ReplayBuffer()
  /// Whether the sending side found the buffer empty and waits.
  @exclusivity(unchecked) var wantsBytes = false
  /// Whether the receiving side found it full and waits.
  var isBufferFull = false
  @exclusivity(unchecked) var intake = BodyIntake()
  /// For the body's time, while it comes.
  @exclusivity(unchecked) var bodyTimer: LoopTimer?
  /// The gate that the body has entered, while it streams.
  @exclusivity(unchecked) var gate: UploadGate?

  /// The status that went to the client; 0 before.
  @exclusivity(unchecked) var status = 0
  /// The answer that the gateway gave in place of an upstream.
  @exclusivity(unchecked) private var ownAnswer: GatewayAnswer?
  @exclusivity(unchecked) private var isClientGone = false
  @exclusivity(unchecked) var isResponseBad = false
  @exclusivity(unchecked) private var isBodyTooSlow = false
  @exclusivity(unchecked) private var isOver = false

  private init(_ exchange: Exchange, method: String, plan: ActivePlan) {
    self.exchange = exchange
    self.plan = plan
    knownMethod = KnownMethod(method)
    isHTTP10 = exchange.head.version == .http10
    terms = plan.noTerms
    // The turn's: a request that waits behind others of its turn is under way.
    began = exchange.loop.turnTime
  }

  /// Takes an exchange up.
  static func start(_ exchange: Exchange, plan: ActivePlan) {
    let method = exchange.head.method
    let forwarding = Forwarding(exchange, method: method, plan: plan)
    plan.began(forwarding.knownMethod)
    forwarding.start(method: method)
  }

  private func start(method name: String) {
    if knownMethod.isConnect(name) { return answer(.connectRefused, as: .refused) }
    exchange.head.withAuthorityBytes { authority in
      switch decision(authority) {
      case .noRoute: answer(.noRoute, as: .unrouted)
      case .badTarget(let reason): answer(.badTarget(reason), as: .refused)
      case .forward(let index, let target):
        route = index
        let route = plan.plan.routes[index]
        switch fields(authority, by: route) {
        case .loop: answer(.loop, as: .loop)
        case .finalRecipient: answer(.finalRecipient(isTrace: knownMethod == .trace), as: .answered)
        case .forward(let fields, let retries):
          forward(
            OutgoingRequest(
              route: route, method: name, target: target, fields: fields, body: exchange.head.bodyLength,
              retriesBefore: retries))
        }
      }
    }
  }

  private func decision(_ authority: UnsafeRawBufferPointer) -> RouteTable.Decision {
    exchange.head.withTargetBytes { target in
      plan.plan.table.decide(
        host: authority.bindMemory(to: UInt8.self).span, target: target.bindMemory(to: UInt8.self).span,
        isOptions: knownMethod == .options)
    }
  }

  private func fields(
    _ authority: UnsafeRawBufferPointer, by route: ForwardingPlan.RoutePlan
  ) -> HeaderPolicy.Verdict {
    plan.text(of: exchange.peer).withUnsafeBytes { address in
      let client = HeaderPolicy.Client(
        address: address, authority: authority, isHTTP10: isHTTP10,
        countsForwards: knownMethod == .trace || knownMethod == .options)
      return route.headers.request(exchange.head.fields, from: client)
    }
  }

  private func forward(_ request: OutgoingRequest) {
    if request.retriesBefore > 0 { plan.countRetried(route) }
    outgoing = request
    terms = DestinationTerms(
      request.route.controls, state: plan.state(ofRoute: route), earnsRetryBudget: request.retriesBefore == 0)
    machine = ForwardMachine(mayRetry: request.rules != nil, hedges: request.hedges)
    exchange.onAbort = { [self] in clientLeft() }
    if case .none = request.body { begin() } else { takeBody(within: request.route.timeout) }
  }

  /// The gate of the route's upstream for bodies that stream.
  var uploads: UploadGate { plan.plan.routes[route].uploads }

  /// Whether the request's method is HEAD, whose responses have no body.
  var isHead: Bool { knownMethod == .head }

  // MARK: What is told

  var method: String? { outgoing?.method }

  var observer: (any TransportObserver)? { plan.observer }

  // MARK: The beginning and the end

  /// The request is there, or as much of it as is kept: its attempts may begin.
  func begin() {
    guard let outgoing else { return }
    forwardBegan = .now
    deadline = forwardBegan.advanced(bySeconds: outgoing.route.timeout)
    exchange.loop.schedule(deadlineTimer, at: deadline, handler: self)
    observer?.exchangeBegan(self)
    perform(machine.begin())
  }

  /// Ends the request from outside, for this reason.
  func fail(_ reason: ExchangeFailure) {
    if machine.isEnding { return }
    failure = reason
    perform(machine.end())
  }

  /// The attempts are over.
  func settle() {
    stopTimers()
    let now = MonotonicTime.now
    let outcome = RequestOutcome(failure, status: attempt?.status)
    attempt = nil
    observer?.exchange(
      self,
      didSettle: ExchangeEnd(
        outcome: outcome, isDestinationsFault: outcome.isDestinationsFault(status: lastStatus), attempts: startedCount,
        duration: now.seconds(since: forwardBegan)))
    conclude(outcome, at: now)
  }

  private func stopTimers() {
    exchange.loop.cancel(deadlineTimer)
    if grantedReason != nil { exchange.loop.cancel(delayTimer) }
    if machine.race != nil { exchange.loop.cancel(hedgeTimer) }
  }

  /// Ends the exchange with the client as the request came out.
  private func conclude(_ outcome: RequestOutcome, at now: MonotonicTime) {
    if isClientGone {
      exchange.abort()
      end(.forwarded(outcome))
    } else if isResponseBad {
      failure = nil
      answer(.badResponse, as: .forwarded(.transportError))
    } else if status == 0, isBodyTooSlow || outcome == .cancelled && waitsForClient {
      isBodyTooSlow = true
      answerSlowBody()
    } else if status == 0 {
      answer(GatewayAnswer(outcome, failure), as: .forwarded(outcome))
    } else {
      // A response that stops in the middle must not look like a whole one.
      if failure == nil { exchange.end() } else { exchange.abort() }
      end(isBodyTooSlow ? .bodyTimeout : .forwarded(outcome), at: now)
    }
  }

  private func clientLeft() {
    isClientGone = true
    if intake.stage == .gathering, bodyTimer != nil {
      exchange.abort()
      end(.forwarded(.cancelled))
    } else {
      fail(.cancelled)
    }
  }

  /// Whether the time that is over was spent in waiting for the client's body: the upstream has taken all that came.
  private var waitsForClient: Bool { intake.stage == .streaming && wantsBytes }

  /// The deadline has passed. While the upstream waits for nothing but the client's body, it was not slow.
  private func deadlineIsOver() {
    if wantsBytes, !machine.isPassing { return fail(.cancelled) }
    let seconds = outgoing?.route.timeout ?? 0
    fail(.transfer(TransferFailure(.timedOut, "the request took longer than its deadline, \(seconds) s")))
  }

  /// The body does not come as fast as it must.
  func bodyIsTooSlow() {
    if intake.stage == .gathering { return answerSlowBody() }
    isBodyTooSlow = true
    fail(.cancelled)
  }

  private func answerSlowBody() {
    exchange.closeAfterResponse()
    answer(.slowBody, as: .bodyTimeout)
  }

  /// There are too many that stream a body.
  func uploadIsRefused() {
    exchange.closeAfterResponse()
    answer(.tooManyUploads, as: .forwarded(.rejected))
  }

  /// Answers in place of an upstream.
  private func answer(_ answer: GatewayAnswer, as outcome: GatewayOutcome) {
    status = answer.status
    ownAnswer = answer
    var fields = WeirServer.ResponseFields()
    if let seconds = answer.retryAfter { fields.add("Retry-After", String(seconds)) }
    exchange.respond(status: answer.status, fields: fields, text: answer.text)
    end(outcome)
  }

  private func end(_ outcome: GatewayOutcome, at now: MonotonicTime = .now) {
    guard !isOver else { return }
    isOver = true
    exchange.forgetCallbacks()
    bodyIsOver()
    let seconds = now.seconds(since: began)
    plan.ended(
      SeriesCache.Key(route: route, method: knownMethod, isHTTP10: isHTTP10, status: status, outcome: outcome),
      seconds: seconds)
    if isFailure { logFailure(outcome, seconds) }
    logAccess(outcome, seconds)
    outgoing = nil
  }

  /// Whether somebody should look at it: the gateway or the upstream could not do its part, as either of them says; not
  /// for what a client did wrong, nor for an application's own errors.
  private var isFailure: Bool {
    guard !isClientGone, !isBodyTooSlow else { return false }
    switch status {
    case 502, 503, 504, 508: return true
    default: return failure != nil && ownAnswer == nil
    }
  }

  private func logFailure(_ outcome: GatewayOutcome, _ seconds: Double) {
    let route = route < 0 ? nil : plan.plan.routes[route].route
    let text = failure?.cause ?? ownAnswer?.line ?? ""
    plan.log.failed(
      FailedRequest(
        kind: .init(route: route?.name ?? "", status: status, outcome: outcome.label), method: exchange.head.method,
        upstream: route?.upstream.authority ?? "", seconds: seconds, attempts: startedCount,
        error: failure?.label ?? "", text: text))
  }

  /// Without the query and the fields: secrets travel there.
  private func logAccess(_ outcome: GatewayOutcome, _ seconds: Double) {
    guard plan.log.log.level <= .debug else { return }
    plan.log.log.debug(
      "request",
      [
        "route": .string(route < 0 ? "" : plan.plan.routes[route].route.name),
        "method": .string(exchange.head.method), "path": .string(exchange.head.path), "status": .integer(status),
        "outcome": .string(outcome.label), "seconds": .seconds(seconds),
        "attempts": .integer(startedCount), "client": .string("\(exchange.peer)"),
        "error": .string(failure?.label ?? ""),
      ])
  }
}

extension Forwarding: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if timer === deadlineTimer {
      deadlineIsOver()
    } else if timer === bodyTimer {
      bodyTimeIsOver()
    } else if timer === hedgeTimer {
      hedgeIsDue()
    } else {
      perform(machine.delayElapsed())
    }
  }
}
