import WeirCurl
import WeirHTTP
import WeirIO

/// A place to which connections lead, the rules under which they were opened, and the transfers that wait for one.
/// Confined to the loop.
final class Origin {
  /// The demands on a connection. A connection serves only transfers with equal ones.
  struct Key: Hashable {
    let isSecure: Bool
    let host: String
    let port: Int
    let trust: TransferTrust?
    let addresses: AddressPolicy?
    let endpoint: TransferEndpoint?
    /// Nil for the transport's own. Other rules say nothing of a connection that stands.
    let idleTimeout: Double?
    let maximumAge: Double?
  }

  let key: Key
  /// The origin's number in the pool.
  let number: Int
  /// The Host field's value (RFC 9110 §7.2): without the scheme's own port.
  let hostField: [UInt8]
  /// Transfers whose own connection is being opened. The first one takes a connection that becomes idle meanwhile.
  @exclusivity(unchecked) var waiting = Deque<HTTP1Transfer>()
  /// Connections that are being opened and that no transfer waits for, the last begun last.
  @exclusivity(unchecked) var spareOpenings: [Opening] = []
  /// Transfers and connections of the origin, and those that are being opened.
  @exclusivity(unchecked) var uses = 0

  init(_ key: Key, number: Int) {
    self.key = key
    self.number = number
    let isUsual = key.port == (key.isSecure ? 443 : 80)
    hostField = Array((isUsual ? key.host : "\(key.host):\(key.port)").utf8)
  }

  /// Drops the first transfers as far as they don't wait any more: they are served, are about to end with a failure, or
  /// are sent again on a connection of their own.
  func forgetServed() {
    while let first = waiting.first, first.state != .connecting || first.failure != nil || !first.takesIdle {
      _ = waiting.popFirst()
    }
  }
}

/// The place to which a request goes.
package struct RequestPlace {
  let origin: Origin
  /// The URL's path and query, as the request target.
  let target: Substring

  package var isSecure: Bool { origin.key.isSecure }
}

/// The origins in use, found by a request's URL and demands.
struct OriginTable {
  /// The least for ``limit``, and the most endpoints whose last origin is known.
  private static let leastLimit = 1024

  /// An origin without transfers and connections is kept until there are this many. A sweep leaves room for as many as
  /// there are then, so that it costs each new origin little.
  private var limit = leastLimit
  private var known: [Origin.Key: Origin] = [:]
  private var free: [Int] = []
  private var count = 0
  /// The last origin and its spelling in the URL: most requests go where the one before went.
  private var last: (spelling: String, origin: Origin)?
  /// The same for each endpoint.
  private var lastByEndpoint: [ObjectIdentifier: (spelling: String, origin: Origin)] = [:]

  /// Nil if the URL is not plain.
  mutating func find(_ spec: TransferSpec) -> RequestPlace? {
    let last = if let endpoint = spec.endpoint { lastByEndpoint[ObjectIdentifier(endpoint)] } else { last }
    if let last, let target = Self.target(of: spec.url, at: last.spelling), Self.fits(last.origin.key, spec) {
      return RequestPlace(origin: last.origin, target: Self.withPath(target))
    }
    guard let url = RequestURL(spec.url) else { return nil }
    let key = Origin.Key(
      isSecure: url.isSecure, host: String(url.host), port: url.port, trust: spec.trust, addresses: spec.addressPolicy,
      endpoint: spec.endpoint, idleTimeout: spec.rules?.idleTimeout, maximumAge: spec.rules?.maximumAge)
    let origin = known[key] ?? add(key)
    if let endpoint = spec.endpoint {
      if lastByEndpoint.count >= Self.leastLimit { lastByEndpoint = [:] }
      lastByEndpoint[ObjectIdentifier(endpoint)] = (String(url.origin), origin)
    } else {
      self.last = (String(url.origin), origin)
    }
    return RequestPlace(origin: origin, target: Self.withPath(url.target))
  }

  /// The target with a path, which no request is without.
  private static func withPath(_ target: Substring) -> Substring {
    target.utf8.first == .slash ? target : "/" + target
  }

  var all: some Collection<Origin> { known.values }

  private mutating func add(_ key: Origin.Key) -> Origin {
    if known.count >= limit { removeUnused() }
    let number = free.popLast() ?? count
    if number == count { count += 1 }
    let origin = Origin(key, number: number)
    known[key] = origin
    return origin
  }

  private mutating func removeUnused() {
    last = nil
    lastByEndpoint = [:]
    for (key, origin) in known where origin.uses == 0 {
      known[key] = nil
      free.append(origin.number)
    }
    limit = max(Self.leastLimit, 2 * known.count)
  }

  /// The URL's path and query if it begins with this origin; nil if it does not, or is not plain.
  private static func target(of url: String, at origin: String) -> Substring? {
    let octets = url.utf8
    let range = octets.withContiguousStorageIfAvailable { url in
      origin.utf8.withContiguousStorageIfAvailable { RequestURL.target(in: url, behind: $0) } ?? nil
    }
    guard let range = range ?? nil else { return nil }
    let begin = octets.index(octets.startIndex, offsetBy: range.lowerBound)
    return Substring(octets[begin..<octets.index(begin, offsetBy: range.count)])
  }

  private static func fits(_ key: Origin.Key, _ spec: TransferSpec) -> Bool {
    guard key.trust == spec.trust, key.addresses == spec.addressPolicy, key.endpoint == spec.endpoint else {
      return false
    }
    guard let rules = spec.rules else { return key.idleTimeout == nil && key.maximumAge == nil }
    return key.idleTimeout == rules.idleTimeout && key.maximumAge == rules.maximumAge
  }
}
