import WeirCurl
import WeirHTTP
import WeirServer
import WeirTransport

/// A request as it goes to the upstream: its line and fields are sent as they are.
final class OutgoingRequest {
  let route: ForwardingPlan.RoutePlan
  /// Methods are case-sensitive (RFC 9110 §9.1).
  let method: String
  let target: String
  /// In the order in which they go out.
  let fields: HeaderBlock
  let body: BodyLength
  /// Retries that others had made of it before it came.
  let retriesBefore: Int

  init(
    route: ForwardingPlan.RoutePlan, method: String, target: String, fields: HeaderBlock, body: BodyLength,
    retriesBefore: Int
  ) {
    self.route = route
    self.method = method
    self.target = target
    self.fields = fields
    self.body = body
    self.retriesBefore = retriesBefore
  }

  /// The rules about retries; nil: nothing is retried.
  var rules: RetryRules? { isLeftAlone ? nil : route.rules }
  /// When a second attempt starts beside a slow one; nil: never.
  var hedge: HedgePlan? { isLeftAlone ? nil : route.route.hedge }

  /// Whether nothing is retried here, as its sender retries it.
  private var isLeftAlone: Bool { retriesBefore > 0 && route.leavesRetriesAlone }

  /// How many second attempts it may have.
  var hedges: Int {
    guard let hedge, mayRunTwice else { return 0 }
    return hedge.limit
  }

  /// Whether two attempts at once do no more than one, and need no body each.
  private var mayRunTwice: Bool {
    guard case .none = body else { return false }
    // RFC 9110 §9.2.2.
    return switch method {
    case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE": true
    default: false
    }
  }

  /// Without a length a server might wait for a body (RFC 9110 §8.6).
  private var announcesNoBody: Bool {
    switch method {
    case "POST", "PUT", "PATCH": true
    default: false
    }
  }

  /// One attempt.
  var spec: TransferSpec {
    let body: TransferBody =
      switch body {
      case .none: announcesNoBody ? .bytes([UInt8]()) : .none
      case .length(let length): .pulled(length: length)
      case .chunked: .pulled(length: nil)
      }
    var spec = TransferSpec(url: route.origin, target: target, method: method, body: body)
    spec.isForOneOfMany = true
    spec.addressPolicy = route.route.destinationPolicy.rules
    spec.trust = route.trust
    if case .pulled = body { spec.canRepeatBody = false }
    return spec
  }

  /// The fields of an attempt after so many retries, which are announced unless the route has a rule about that.
  func headers(retries: Int) -> PreparedHeaders {
    guard retries > 0, route.headers.announcesRetries else { return PreparedHeaders(fields) }
    let name = AttemptHeader.standard.name
    var block = HeaderBlock(reservingBytes: 1024, fields: fields.count + 1)
    name.withOctets { name in
      fields.forEach { if !$0.equalsIgnoringCase(name) { block.append(name: $0, value: $1) } }
    }
    block.append(name: name, value: String(min(retriesBefore + retries, AttemptHeader.maximum)))
    return PreparedHeaders(block)
  }
}
