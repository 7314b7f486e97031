import WeirCurl
import WeirHTTP
import WeirIO
import WeirServer
import WeirTransport

/// A request in the form in which it goes to the upstream: its line and fields are sent unchanged.
final class OutgoingRequest {
  let route: RoutePlan
  /// Methods are case-sensitive (RFC 9110 §9.1).
  let method: String
  let target: String
  /// The target as the route table has it, perhaps without a base path.
  private let decidedTarget: String
  /// The fields in the order in which they are sent, with those with secrets of the last attempt behind them.
  @exclusivity(unchecked) private var fields: HeaderBlock
  /// The end of the fields that all attempts have in common; nil as long as there are no others.
  @exclusivity(unchecked) private var common: HeaderBlock.Mark?
  let body: BodyLength
  /// The number of retries that others made of the request before it came.
  let retriesBefore: Int
  /// The number of retries of which an attempt here is one more: those at another upstream, and the fallback from it.
  private let retriesElsewhere: Int
  /// The protocols to which the upstream may switch; nil if none.
  let upgrade: String?
  /// Whether the route's rules about retries count: not for a fallback, nor for a request that its sender retries.
  private let followsRules: Bool
  /// The plan for second attempts beside a slow one; nil if there is none.
  let hedge: HedgePlan?

  /// - Parameter elsewhere: The number of retries at other upstreams, of which the first attempt of a fallback is one; nil
  ///   for a request that is no fallback.
  init(
    route: RoutePlan, method: String, target: String, fields: HeaderBlock, body: BodyLength,
    retriesBefore: Int, upgrade: String? = nil, elsewhere: Int? = nil
  ) {
    self.route = route
    self.method = method
    decidedTarget = target
    self.target = route.target(target)
    self.fields = fields
    self.body = body
    self.retriesBefore = retriesBefore
    retriesElsewhere = elsewhere ?? 0
    self.upgrade = upgrade
    followsRules = elsewhere == nil && (retriesBefore == 0 || !route.route.retry.unlessRetried)
    // Two attempts at once have the effect of one, and need no body each.
    if let plan = route.route.hedge, followsRules, upgrade == nil, case .none = body,
      RequestMethods.idempotent.contains(method)
    {
      hedge = plan
    } else {
      hedge = nil
    }
  }

  /// The request as it goes to another upstream.
  ///
  /// - Parameters:
  ///   - retries: The number of retries at the upstream that could not answer.
  ///   - fields: Made for the other upstream.
  func fallback(to route: RoutePlan, after retries: Int, fields: HeaderBlock) -> OutgoingRequest {
    OutgoingRequest(
      route: route, method: method, target: decidedTarget, fields: fields, body: body, retriesBefore: retriesBefore,
      upgrade: upgrade, elsewhere: retries + 1)
  }

  /// The rules about retries; nil if there are none.
  var rules: RetryRules? { followsRules ? route.rules : nil }
  /// Whether anything may be retried.
  var mayRetry: Bool {
    followsRules && route.hasRules || route.mayConnectElsewhere || route.credential != nil
  }

  /// Whether the request may be sent again whatever its method, as it has exactly one Idempotency-Key and the route says so
  /// (draft-ietf-httpapi-idempotency-key-header).
  var isKeyed: Bool {
    guard route.route.retry.idempotencyKey else { return false }
    // One that only reads like it is a second one to some servers.
    var keys: [Int] = []
    "Idempotency-Key".withOctets { key in
      fields.forEach { name, value in
        if name.isNameForCGI("idempotency-key") { keys.append(name.equalsIgnoringCase(key) ? value.count : 0) }
      }
    }
    return keys.count == 1 && keys != [0]
  }

  /// Whether the route lets it be sent again, by its method or by its key.
  var maySendAgain: Bool { route.route.retry.methods.contains(method) || isKeyed }

  /// The most bytes of the body that are kept: no more than of every body if nothing would send them again.
  var keptBytes: Int {
    let retry = route.route.retry
    guard retry.keptBytes > ReplayBuffer.window, route.credential == nil else { return retry.keptBytes }
    var mayFollow = rules != nil
    if case .forward? = route.fallback?.action { mayFollow = true }
    return mayFollow && maySendAgain ? retry.keptBytes : ReplayBuffer.window
  }

  /// The transfer of one attempt.
  var spec: TransferSpec {
    let body: TransferBody =
      switch body {
      case .none: RequestMethods.expectsBody(method) ? .bytes([UInt8]()) : .none
      case .length(let length): .pulled(length: length)
      case .chunked: .pulled(length: nil)
      }
    var spec = route.spec
    spec.target = target
    spec.method = method
    spec.body = body
    spec.upgrade = upgrade
    if case .pulled = body { spec.canRepeatBody = false }
    return spec
  }

  /// The fields of an attempt after `retries` retries at this upstream. The number of all retries, and the attempt's place
  /// in the trace, are announced unless the route has a rule about the field. Fields with secrets come last.
  func headers(retries: Int, trace: TraceContext? = nil, secrets: SecretFields? = nil) -> PreparedHeaders {
    let retries = retriesElsewhere + retries
    let announces = retries > 0 && route.headers.announcesRetries
    let trace = route.headers.announcesTraces ? trace : nil
    if let common { fields.cut(to: common) }
    guard announces || trace != nil else {
      guard let secrets else { return PreparedHeaders(fields) }
      common = fields.mark
      fields.append(contentsOf: secrets.block)
      return PreparedHeaders(fields)
    }
    var block = announces ? fields.leavingOut("x-retry-attempt") : fields
    if announces {
      let number = String(min(retriesBefore + retries, AttemptHeader.maximum))
      block.append(name: AttemptHeader.standard.name, value: number)
    }
    if let trace {
      trace.traceparentOctets.withUnsafeBytes { value in
        "traceparent".withOctets { block.append(name: $0, value: value, isChecked: true) }
      }
      if let state = trace.traceState, route.headers.announcesTraceState {
        block.append(name: "tracestate", value: state)
      }
    }
    if let secrets { block.append(contentsOf: secrets.block) }
    return PreparedHeaders(block)
  }
}

/// The time and the attempts that a request has cost at upstreams: at its route's, and at that of a fallback.
struct UpstreamTally {
  /// When the request to the present upstream began.
  private(set) var began = MonotonicTime(nanoseconds: 0)
  /// When the request must be over, whichever upstream it is at.
  var deadline = MonotonicTime.distantFuture
  /// Seconds for which the request was at upstreams; nil before the first time has ended.
  private(set) var seconds: Double?
  /// The number of attempts that were put on the wire.
  private(set) var started = 0
  private var startedBefore = 0
  /// The status of the last attempt that has ended at the present upstream.
  var lastStatus: Int?

  /// The number of attempts that were put on the wire to the present upstream.
  var startedHere: Int { started - startedBefore }

  mutating func begins(at now: MonotonicTime) {
    began = now
    startedBefore = started
    lastStatus = nil
  }

  mutating func startsAttempt() { started += 1 }

  mutating func ends(at now: MonotonicTime) { seconds = (seconds ?? 0) + now.seconds(since: began) }
}
