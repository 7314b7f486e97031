import WeirHTTP

/// Which version of HTTP a transfer is going to speak, as far as can be known.
enum ProtocolExpectation: UInt8 {
  case http1
  /// HTTP/2, whose connections several transfers share.
  case multiplexed
  case unknown
}

/// Which origins were seen to answer by HTTP/2, and which by HTTP/1. A value, bounded: when it is full it begins anew,
/// which costs each origin a connection or two.
struct ProtocolMemory {
  private static let limit = 1024

  private var known: [String: ProtocolExpectation] = [:]
  private var last: (origin: String, expectation: ProtocolExpectation)?

  var count: Int { known.count }

  mutating func expectation(of url: String) -> ProtocolExpectation {
    if let last, Self.isOrigin(last.origin, of: url) { return last.expectation }
    guard let origin = Self.origin(of: url), let expectation = known[origin] else { return .unknown }
    last = (origin, expectation)
    return expectation
  }

  mutating func note(_ expectation: ProtocolExpectation, of url: String) {
    if let last, last.expectation == expectation, Self.isOrigin(last.origin, of: url) { return }
    guard let origin = Self.origin(of: url) else { return }
    if known.count >= Self.limit, known[origin] == nil { known.removeAll() }
    known[origin] = expectation
    last = (origin, expectation)
  }

  /// Scheme and authority as the URL spells them; nil with userinfo: nobody's password is kept.
  private static func origin(of url: String) -> String? {
    guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let rest = url.utf8[colon...].dropFirst(3)
    let authority = rest.prefix { !isEnd($0) }
    guard !authority.isEmpty, !authority.contains(UInt8(ascii: "@")) else { return nil }
    return String(url[..<authority.endIndex])
  }

  private static func isOrigin(_ origin: String, of url: String) -> Bool {
    guard url.hasPrefix(origin) else { return false }
    return url.utf8.dropFirst(origin.utf8.count).first.map(isEnd) ?? true
  }

  /// RFC 3986 §3.2.
  private static func isEnd(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }
}

extension TransferEngine {
  /// What a transfer is going to speak. On http nothing but prior knowledge leads to HTTP/2.
  func expectation(of url: String, _ scheme: Scheme) -> ProtocolExpectation {
    guard scheme == .https ? prepared.mayMultiplexSecure : prepared.mayMultiplexPlain else { return .http1 }
    return protocols.expectation(of: url)
  }

  /// The final head of a transfer has come.
  func note(_ version: HTTPVersionNumber, of transfer: Transfer) {
    let seen: ProtocolExpectation = version.major >= 2 ? .multiplexed : .http1
    guard transfer.expectation != seen else { return }
    transfer.expectation = seen
    protocols.note(seen, of: transfer.spec.url)
  }
}
