import WeirHTTP
import WeirIO

/// A request as limits see it.
protocol LimitedRequest {
  /// The client's address; nil if it has none, as the clients of Unix sockets.
  var limitedAddress: IPAddress? { get }
  /// The name under which the client has authenticated itself.
  var user: [UInt8]? { get }
  /// Calls `body` with each value of a field, in order. The bytes are valid during the call.
  func forEachValue(of name: String, _ body: (UnsafeRawBufferPointer) -> Void)
}

extension LimitKey {
  /// A hash of the request's part, not 0. Requests without the part share one. Its seed is the process's, so that no
  /// client can choose parts that collide.
  func fingerprint(_ request: some LimitedRequest) -> UInt64 {
    var hasher = Hasher()
    switch self {
    case .route: break
    case .client(let prefix6): Self.combine(request.limitedAddress, prefix6, into: &hasher)
    case .user: request.user?.withUnsafeBytes { Self.combine($0, into: &hasher) }
    case .header(let name):
      var isFirst = true
      request.forEachValue(of: name) { value in
        if isFirst { Self.combine(value, into: &hasher) }
        isFirst = false
      }
    }
    return max(1, UInt64(bitPattern: Int64(hasher.finalize())))
  }

  private static func combine(_ address: IPAddress?, _ prefix6: Int, into hasher: inout Hasher) {
    switch address {
    case .v4(let number)?: hasher.combine(number)
    case .v6(let high, let low)?:
      hasher.combine(high & mask(prefix6))
      hasher.combine(low & mask(prefix6 - 64))
    case nil: break
    }
  }

  /// An empty part is another than none.
  private static func combine(_ bytes: UnsafeRawBufferPointer, into hasher: inout Hasher) {
    hasher.combine(UInt8(1))
    hasher.combine(bytes: bytes)
  }

  /// The first bits of 64.
  private static func mask(_ bits: Int) -> UInt64 { bits <= 0 ? 0 : bits >= 64 ? .max : ~(.max >> UInt64(bits)) }
}
