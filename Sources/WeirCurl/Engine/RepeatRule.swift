/// Whether a request may be begun again.
///
/// libcurl sends one again, whatever its method, when a pooled connection ends without a byte in answer. The other side
/// may have acted on it by then, so only idempotent ones may go twice (RFC 9110 §9.2.2), and those of which nothing was
/// sent.
///
/// With HTTP/2 a server may also refuse one, by REFUSED_STREAM or GOAWAY; libcurl then sends it again at once, five times.
/// Who refuses because it has too much to do gets it once more: the rest is for retriers, which wait and have a budget.
struct RepeatRule {
  /// Requests begun.
  private(set) var requests = 0
  /// Those among them that replaced one on a pooled connection that turned out to be dead or spoilt.
  private(set) var staleRetries = 0
  /// The connection that libcurl chose is spoilt: start again on a new one.
  var needsFreshConnection = false
  /// Whether the last one went out by HTTP/1 for certain.
  private var wasHTTP1 = false
  private var sentBefore = 0
  private var receivedBefore: Int64 = 0

  /// - Parameters:
  ///   - sent: Bytes of request heads so far.
  ///   - isAskedFor: Whether the request had an answer that asked for another one, as 417 does.
  func allowsAnother(method: String, sent: Int, isAskedFor: Bool) -> Bool {
    if requests == 0 || isAskedFor || sent == sentBefore { return true }
    return Self.isIdempotent(method) && (wasHTTP1 || staleRetries == 0)
  }

  mutating func begin(sent: Int, received: Int64, isHTTP1: Bool) {
    if requests > 0, received == receivedBefore { staleRetries += 1 }
    requests += 1
    wasHTTP1 = isHTTP1
    sentBefore = sent
    receivedBefore = received
  }

  /// libcurl starts from nothing, with its counts too; what was sent before was allowed to go again.
  mutating func startAnew(isStale: Bool) {
    if isStale { staleRetries += 1 }
    requests = 0
    sentBefore = 0
  }

  /// RFC 9110 §9.2.2; methods are case-sensitive.
  private static func isIdempotent(_ method: String) -> Bool {
    switch method {
    case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE": true
    default: false
    }
  }
}
