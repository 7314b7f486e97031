import WeirCurl
import WeirHTTP
import WeirServer
import WeirTransport

/// A request as it goes to the upstream: its line and fields are sent as they are.
struct OutgoingRequest {
  let route: ForwardingPlan.RoutePlan
  /// Methods are case-sensitive (RFC 9110 §9.1).
  let method: String
  let target: String
  /// In the order in which they go out.
  let fields: HeaderBlock
  let body: BodyLength
  /// Retries that others had made of it before it came.
  let retriesBefore: Int
  /// The rules about retries; nil: nothing is retried.
  var rules: RetryRules? { isLeftAlone ? nil : route.rules }
  /// When a second attempt starts beside a slow one; nil: never.
  var hedge: HedgePlan? { isLeftAlone ? nil : route.route.hedge }

  /// Whether nothing is retried here, as its sender retries it.
  private var isLeftAlone: Bool { retriesBefore > 0 && route.leavesRetriesAlone }

  /// Whether two attempts at once do no more than one, and need no body each.
  var mayRunTwice: Bool {
    if case .none = body { Self.idempotentMethods.contains(method) } else { false }
  }

  /// RFC 9110 §9.2.2.
  private static let idempotentMethods: Set<String> = ["DELETE", "GET", "HEAD", "OPTIONS", "PUT", "TRACE"]
  /// Without a length a server might wait for a body (RFC 9110 §8.6).
  private static let methodsWithBody: Set<String> = ["PATCH", "POST", "PUT"]

  /// One attempt.
  var spec: TransferSpec {
    let body: TransferBody =
      switch body {
      case .none: Self.methodsWithBody.contains(method) ? .bytes([UInt8]()) : .none
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
