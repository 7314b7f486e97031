import Foundation
import Weir
import WeirCurl
import WeirHTTP
import WeirIO
import WeirServer

/// One request on its way through the gateway: an exchange with the client on one side, a `ForwardRequest` on the other,
/// both on the same loop. Confined to it.
///
/// Kept alive by the exchange until that has ended, and by the forwarded request until that has settled.
final class Forwarding {
  let exchange: Exchange
  private let plan: ActivePlan
  private let log: RequestLog
  private let method: KnownMethod
  private let isHTTP10: Bool
  private let began: MonotonicTime
  /// An index into the plan's routes; −1 before one is found.
  private var route = -1
  private(set) var request: ForwardRequest?
  var intake = BodyIntake()
  /// Of the body's time, while it comes.
  var bodyTimer: LoopTimer?
  /// What the body has entered, while it streams.
  var gate: UploadGate?
  /// The status that went to the client; 0 before.
  private var status = 0
  /// What the gateway said in place of an upstream.
  private var ownAnswer: GatewayAnswer?
  private var isClientGone = false
  private var isResponseBad = false
  private var isBodyTooSlow = false
  private var isOver = false

  private init(_ exchange: Exchange, _ head: RequestHead, method: String, plan: ActivePlan, log: RequestLog) {
    self.exchange = exchange
    self.plan = plan
    self.log = log
    self.method = KnownMethod(method)
    isHTTP10 = head.version == .http10
    // The turn's: a request that waits behind others of its turn is under way.
    began = exchange.loop.turnTime
  }

  /// Takes an exchange up.
  static func start(_ exchange: Exchange, plan: ActivePlan, session: Session, log: RequestLog) {
    let head = exchange.head
    let method = head.method
    let forwarding = Forwarding(exchange, head, method: method, plan: plan, log: log)
    plan.began(forwarding.method)
    forwarding.start(head, method: method, session)
  }

  private func start(_ head: RequestHead, method name: String, _ session: Session) {
    if method.isConnect(name) { return answer(.connectRefused, as: .refused) }
    head.withAuthorityBytes { authority in
      switch decision(head, authority) {
      case .noRoute: answer(.noRoute, as: .unrouted)
      case .badTarget(let reason): answer(.badTarget(reason), as: .refused)
      case .forward(let index, let target):
        route = index
        let route = plan.plan.routes[index]
        switch fields(head, authority, by: route) {
        case .loop: answer(.loop, as: .loop)
        case .finalRecipient: answer(.finalRecipient(isTrace: method == .trace), as: .answered)
        case .forward(let fields, let retries):
          var head = ForwardRequest.Head(
            origin: route.origin, target: target, method: name, fields: fields, body: .init(head.bodyLength))
          head.retriesBefore = retries
          head.destinationPolicy = route.route.destinationPolicy
          head.trust = route.trust
          head.announcesRetries = route.headers.announcesRetries
          forward(head, by: route, session)
        }
      }
    }
  }

  private func decision(_ head: RequestHead, _ authority: UnsafeRawBufferPointer) -> RouteTable.Decision {
    head.withTargetBytes { target in
      plan.plan.table.decide(
        host: authority.bindMemory(to: UInt8.self).span, target: target.bindMemory(to: UInt8.self).span,
        isOptions: method == .options)
    }
  }

  private func fields(
    _ head: RequestHead, _ authority: UnsafeRawBufferPointer, by route: ForwardingPlan.RoutePlan
  ) -> HeaderPolicy.Verdict {
    plan.text(of: exchange.peer).withUnsafeBytes { address in
      let client = HeaderPolicy.Client(
        address: address, authority: authority, isHTTP10: isHTTP10,
        countsForwards: method == .trace || method == .options)
      return route.headers.request(head.fields, from: client)
    }
  }

  private func forward(_ head: ForwardRequest.Head, by route: ForwardingPlan.RoutePlan, _ session: Session) {
    let isRetry = head.retriesBefore > 0
    if isRetry { plan.countRetried(self.route) }
    let isLeftAlone = isRetry && route.leavesRetriesAlone
    let request = ForwardRequest(
      session: session, head: head, interceptor: isLeftAlone ? nil : route.interceptor,
      retryableStatusCodes: isLeftAlone ? [] : route.retryableStatusCodes, controls: route.controls, sink: self)
    self.request = request
    exchange.onAbort = { [self] in clientLeft() }
    request.deadline(route.timeout)
    if let hedge = route.route.hedge, !isLeftAlone { request.hedge(after: hedge.delay, limit: hedge.limit) }
    if case .none = head.body { request.resume() } else { takeBody(within: route.timeout) }
  }

  /// Who may stream a body to the route's upstream.
  var uploads: UploadGate { plan.plan.routes[route].uploads }

  // MARK: The end

  private func clientLeft() {
    isClientGone = true
    if intake.stage == .gathering, bodyTimer != nil {
      exchange.abort()
      end(.forwarded(.cancelled))
    } else {
      request?.cancel()
    }
  }

  /// The body does not come as fast as it must.
  func bodyIsTooSlow() {
    if intake.stage == .gathering { return answerSlowBody() }
    isBodyTooSlow = true
    request?.cancel()
  }

  private func answerSlowBody(_ error: WeirError? = nil) {
    exchange.closeAfterResponse()
    answer(.slowBody, as: .bodyTimeout, error)
  }

  /// There are too many that stream a body.
  func uploadIsRefused() {
    exchange.closeAfterResponse()
    answer(.tooManyUploads, as: .forwarded(.rejected))
  }

  /// Answers in place of an upstream.
  private func answer(_ answer: GatewayAnswer, as outcome: GatewayOutcome, _ error: WeirError? = nil) {
    status = answer.status
    ownAnswer = answer
    var fields = WeirServer.ResponseFields()
    if let seconds = answer.retryAfter { fields.add("Retry-After", String(seconds)) }
    exchange.respond(status: answer.status, fields: fields, text: answer.text)
    end(outcome, error)
  }

  private func end(_ outcome: GatewayOutcome, _ error: WeirError? = nil) {
    guard !isOver else { return }
    isOver = true
    exchange.onAbort = nil
    exchange.onWritable = nil
    bodyIsOver()
    let seconds = MonotonicTime.now.seconds(since: began)
    plan.ended(
      SeriesCache.Key(route: route, method: method, isHTTP10: isHTTP10, status: status, outcome: outcome),
      seconds: seconds)
    if isFailure(error) { logFailure(outcome, error, seconds) }
    logAccess(outcome, error, seconds)
    request = nil
  }

  /// Whether somebody should look at it: the gateway or the upstream could not do its part, as either of them says; not
  /// for what a client did wrong, nor for an application's own errors.
  private func isFailure(_ error: WeirError?) -> Bool {
    guard !isClientGone, !isBodyTooSlow else { return false }
    switch status {
    case 502, 503, 504, 508: return true
    default: return error != nil && ownAnswer == nil
    }
  }

  private func logFailure(_ outcome: GatewayOutcome, _ error: WeirError?, _ seconds: Double) {
    let route = route < 0 ? nil : plan.plan.routes[route].route
    let text = error?.cause ?? ownAnswer?.text.trimmingCharacters(in: .newlines) ?? ""
    log.failed(
      FailedRequest(
        kind: .init(route: route?.name ?? "", status: status, outcome: outcome.label), method: exchange.head.method,
        upstream: route?.upstream.authority ?? "", seconds: seconds, attempts: request?.attemptCount ?? 0,
        error: error?.label ?? "", text: text))
  }

  /// Without the query and the fields: secrets travel there.
  private func logAccess(_ outcome: GatewayOutcome, _ error: WeirError?, _ seconds: Double) {
    guard log.log.level <= .debug else { return }
    log.log.debug(
      "request",
      [
        "route": .string(route < 0 ? "" : plan.plan.routes[route].route.name),
        "method": .string(exchange.head.method), "path": .string(exchange.head.path), "status": .integer(status),
        "outcome": .string(outcome.label), "seconds": .seconds(seconds),
        "attempts": .integer(request?.attemptCount ?? 0), "client": .string("\(exchange.peer)"),
        "error": .string(error?.label ?? ""),
      ])
  }
}

extension Forwarding: ForwardSink {
  func forward(_ request: ForwardRequest, didReceive response: LazyHTTPResponse) -> Weir.BodyFlow {
    var fields = WeirServer.ResponseFields(reservingBytes: 512)
    let framing = plan.plan.routes[route].headers.response(
      response.head, isHTTP10: response.head.version == .http1_0, to: &fields)
    // An upstream that switches protocols does so on its own: Upgrade ends here, so nobody asked for it.
    guard response.statusCode >= 200,
      let length = framing.bodyLength(status: response.statusCode, isHead: method == .head)
    else {
      isResponseBad = true
      request.cancel()
      return .stop
    }
    status = response.statusCode
    exchange.begin(status: status, fields: fields, length: length)
    return .proceed
  }

  func forward(_ request: ForwardRequest, didReceive bytes: UnsafeRawBufferPointer) -> Weir.BodyFlow {
    if exchange.write(bytes) { return .proceed }
    if exchange.onWritable == nil { exchange.onWritable = { [self] in self.request?.resumeReceiving() } }
    return .pause
  }

  func forwardTakesBack(_ request: ForwardRequest) -> Bool {
    guard exchange.retract() else { return false }
    status = 0
    exchange.onWritable = nil
    return true
  }

  func forwardWantsBody(_ request: ForwardRequest) {
    exchange.resumeReading()
  }

  func forward(_ request: ForwardRequest, didSettle outcome: RequestOutcome, error: WeirError?) {
    if isClientGone {
      exchange.abort()
      end(.forwarded(outcome), error)
    } else if isResponseBad {
      answer(.badResponse, as: .forwarded(.transportError))
    } else if status == 0, isBodyTooSlow || outcome == .cancelled && waitsForClient(request) {
      isBodyTooSlow = true
      answerSlowBody(error)
    } else if status == 0 {
      answer(GatewayAnswer(outcome, error), as: .forwarded(outcome), error)
    } else {
      // A response that stops in the middle must not look like a whole one.
      if error == nil { exchange.end() } else { exchange.abort() }
      end(isBodyTooSlow ? .bodyTimeout : .forwarded(outcome), error)
    }
  }
}

extension Forwarding {
  /// Whether the time that is over was spent in waiting for the client's body: the upstream has taken all that came.
  private func waitsForClient(_ request: ForwardRequest) -> Bool { intake.stage == .streaming && request.awaitsBody }
}

extension ForwardRequest.Head.Body {
  init(_ length: BodyLength) {
    switch length {
    case .none: self = .none
    case .length(let length): self = .length(length)
    case .chunked: self = .unknown
    }
  }
}
