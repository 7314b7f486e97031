import WeirHTTP

/// Decides whether a request may be sent again.
///
/// libcurl repeats a request, whatever its method, when a pooled connection ends without a byte in answer. The server
/// may have acted on the request by then. So only two kinds may be repeated: idempotent requests (RFC 9110 §9.2.2), and
/// requests of which nothing was sent.
///
/// With HTTP/2 a server may also refuse a request, by REFUSED_STREAM or GOAWAY; libcurl then repeats it at once, five
/// times. Here it is repeated once, as the server may have too much to do. The rest is for retriers, which wait and
/// have a budget.
package struct RepeatRule {
  /// The number of requests begun.
  private(set) var requests = 0
  /// How many of them replaced a request on a pooled connection that was dead or spoilt.
  private(set) var staleRetries = 0
  /// Whether the connection that libcurl chose is spoilt, so that the transfer must start again on a new one.
  var needsFreshConnection = false
  /// Whether the last request was certainly sent by HTTP/1.
  private var wasHTTP1 = false
  private var sentBefore = 0
  private var receivedBefore: Int64 = 0

  /// - Parameters:
  ///   - sent: Bytes of request heads so far.
  ///   - isAskedFor: Whether the response asked for another request, as 417 does.
  func allowsAnother(method: String, sent: Int, isAskedFor: Bool) -> Bool {
    if requests == 0 || isAskedFor || sent == sentBefore { return true }
    return RequestMethods.idempotent.contains(method) && (wasHTTP1 || staleRetries == 0)
  }

  mutating func begin(sent: Int, received: Int64, isHTTP1: Bool) {
    if requests > 0, received == receivedBefore { staleRetries += 1 }
    requests += 1
    wasHTTP1 = isHTTP1
    sentBefore = sent
    receivedBefore = received
  }

  /// libcurl starts from the beginning, and so do its counts. The request on the earlier connection may be repeated.
  mutating func startAnew(isStale: Bool) {
    if isStale { staleRetries += 1 }
    requests = 0
    sentBefore = 0
  }
}
