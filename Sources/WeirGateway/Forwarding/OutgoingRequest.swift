import WeirCurl
import WeirHTTP
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
  /// The fields in the order in which they are sent.
  let fields: HeaderBlock
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

  init(
    route: RoutePlan, method: String, target: String, fields: HeaderBlock, body: BodyLength,
    retriesBefore: Int, upgrade: String? = nil
  ) {
    self.route = route
    self.method = method
    decidedTarget = target
    self.target = route.target(target)
    self.fields = fields
    self.body = body
    self.retriesBefore = retriesBefore
    retriesElsewhere = 0
    self.upgrade = upgrade
    followsRules = retriesBefore == 0 || !route.leavesRetriesAlone
    // Two attempts at once have the effect of one, and need no body each.
    let isHedged = route.route.hedge != nil && followsRules && upgrade == nil
    if isHedged, case .none = body, RequestMethods.idempotent.contains(method) {
      hedge = route.route.hedge
    } else {
      hedge = nil
    }
  }

  /// The request as it goes to another upstream.
  ///
  /// - Parameters:
  ///   - retries: The number of retries at the upstream that could not answer.
  ///   - fields: Made for the other upstream.
  init(fallback request: OutgoingRequest, after retries: Int, by route: RoutePlan, fields: HeaderBlock) {
    self.route = route
    method = request.method
    decidedTarget = request.decidedTarget
    target = route.target(decidedTarget)
    self.fields = fields
    body = request.body
    retriesBefore = request.retriesBefore
    retriesElsewhere = retries + 1
    upgrade = request.upgrade
    followsRules = false
    hedge = nil
  }

  /// The rules about retries; nil if there are none.
  var rules: RetryRules? { followsRules ? route.rules : nil }
  /// Whether anything may be retried.
  var mayRetry: Bool { followsRules && route.rules != nil || route.mayConnectElsewhere }

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
  /// in the trace, are announced unless the route has a rule about the field.
  func headers(retries: Int, trace: TraceContext? = nil) -> PreparedHeaders {
    let retries = retriesElsewhere + retries
    let announces = retries > 0 && route.headers.announcesRetries
    let trace = route.headers.announcesTraces ? trace : nil
    guard announces || trace != nil else { return PreparedHeaders(fields) }
    var block = announces ? fieldsWithoutRetries : fields
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
    return PreparedHeaders(block)
  }

  private var fieldsWithoutRetries: HeaderBlock {
    var block = HeaderBlock(reservingBytes: HeaderBlock.usualSize)
    AttemptHeader.standard.name.withOctets { name in
      fields.forEach { if !$0.equalsIgnoringCase(name) { block.append(name: $0, value: $1) } }
    }
    return block
  }
}
