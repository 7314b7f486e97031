package import WeirCurl
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
    var proxy: TransferProxy?
    /// Whether the connections lead to the proxy alone, which takes the requests in absolute form. Then host and port are the
    /// proxy's, and its origins share connections.
    var isForwarding = false
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
    hostField = Array(Self.authority(key.host, key.port, isSecure: key.isSecure).utf8)
  }

  /// The origin's URL, without the scheme's own port.
  var name: String { "\(key.isSecure ? "https" : "http")://\(String(decoding: hostField, as: UTF8.self))/" }

  static func authority(_ host: String, _ port: Int, isSecure: Bool) -> String {
    port == (isSecure ? 443 : 80) ? host : "\(host):\(port)"
  }

  /// Drops the first transfers as far as they don't wait any more: they are served, are about to end with a failure, or
  /// are sent again on a connection of their own.
  func forgetServed() {
    while let first = waiting.first, first.state != .connecting || first.failure != nil || !first.takesIdle {
      _ = waiting.popFirst()
    }
  }
}

/// An origin whose requests a proxy takes, in absolute form (RFC 9112 §3.2.2).
final class ForwardedOrigin {
  /// What stands before path and query.
  let prefix: String
  let hostField: [UInt8]

  /// - Parameter endpoint: The place that the proxy is asked to connect to in place of the origin's own.
  init(host: String, port: Int, endpoint: TransferEndpoint?) {
    let authority = Origin.authority(host, port, isSecure: false)
    hostField = Array(authority.utf8)
    if case .host(let host, let port)? = endpoint?.place {
      prefix = "http://" + Origin.authority(host, port, isSecure: false)
    } else {
      prefix = "http://" + authority
    }
  }

  /// The request target. A question about the server as a whole has no path then (§3.2.4).
  func target(_ target: Substring) -> Substring { target == "*" ? prefix[...] : prefix + target }
}

/// The place to which a request goes.
package struct RequestPlace {
  let origin: Origin
  /// Nil unless a proxy takes the request.
  let forwarded: ForwardedOrigin?
  /// The URL's path and query, as the request target.
  let target: Substring

  package var isSecure: Bool { forwarded == nil && origin.key.isSecure }
  package var proxy: TransferProxy? { origin.key.proxy }
}

/// The origins in use, found by a request's URL and demands.
struct OriginTable {
  /// The demands of requests, and where they lead.
  private final class Place {
    /// The origin in the URL.
    let spelling: String
    let demands: Origin.Key
    let rules: TransferRules?
    let needsTunnel: Bool
    let origin: Origin
    let forwarded: ForwardedOrigin?
    /// The last URL that led here, and its target: most requests have the URL of the one before.
    @exclusivity(unchecked) private var last: (url: String, target: Substring) = ("", "")

    init(
      _ spelling: String, _ demands: Origin.Key, _ spec: TransferSpec, _ origin: Origin, _ forwarded: ForwardedOrigin?
    ) {
      self.spelling = spelling
      self.demands = demands
      rules = spec.rules
      needsTunnel = spec.needsTunnel
      self.origin = origin
      self.forwarded = forwarded
    }

    /// The request target of a URL; nil if it has another origin, or is not plain.
    func target(of url: String) -> Substring? {
      if url == last.url { return last.target }
      guard let target = OriginTable.target(of: url, at: spelling) else { return nil }
      last = (url, OriginTable.withPath(target))
      return last.target
    }

    /// Whether a request to the same origin has the same demands.
    func fits(_ spec: TransferSpec) -> Bool {
      guard demands.trust == spec.trust, demands.addresses == spec.addressPolicy, demands.endpoint == spec.endpoint,
        demands.proxy == nil || needsTunnel == spec.needsTunnel
      else { return false }
      if rules === spec.rules { return true }
      return rules?.idleTimeout == spec.rules?.idleTimeout && rules?.maximumAge == spec.rules?.maximumAge
        && rules?.proxy == spec.rules?.proxy
    }
  }

  /// The least for ``limit``, and the most endpoints whose last origin is known.
  private static let leastLimit = 1024

  /// The proxies of requests without rules about them.
  private let proxies: ProxyOptions
  /// An origin without transfers and connections is kept until there are this many, or as many places. A sweep leaves room
  /// for as many as there are then, so that it costs each new origin little.
  private var limit = leastLimit
  private var origins: [Origin.Key: Origin] = [:]
  private var places: [Origin.Key: Place] = [:]
  private var free: [Int] = []
  private var count = 0
  /// The last one: most requests go where the one before went.
  private var last: Place?
  /// The same for each endpoint.
  private var lastByEndpoint: [ObjectIdentifier: Place] = [:]

  init(proxies: ProxyOptions = .none) { self.proxies = proxies }

  /// Nil if the URL is not plain.
  mutating func find(_ spec: TransferSpec) -> RequestPlace? {
    let last = if let endpoint = spec.endpoint { lastByEndpoint[ObjectIdentifier(endpoint)] } else { last }
    if let last, let target = last.target(of: spec.url), last.fits(spec) {
      return RequestPlace(origin: last.origin, forwarded: last.forwarded, target: target)
    }
    guard let url = RequestURL(spec.url) else { return nil }
    let place = place(of: url, spec)
    if let endpoint = spec.endpoint {
      if lastByEndpoint.count >= Self.leastLimit { lastByEndpoint = [:] }
      lastByEndpoint[ObjectIdentifier(endpoint)] = place
    } else {
      self.last = place
    }
    return RequestPlace(origin: place.origin, forwarded: place.forwarded, target: Self.withPath(url.target))
  }

  private mutating func place(of url: RequestURL, _ spec: TransferSpec) -> Place {
    var demands = Origin.Key(
      isSecure: url.isSecure, host: String(url.host), port: url.port, trust: spec.trust, addresses: spec.addressPolicy,
      endpoint: spec.endpoint, idleTimeout: spec.rules?.idleTimeout, maximumAge: spec.rules?.maximumAge)
    if spec.endpoint?.isUnixSocket != true {
      demands.proxy = (spec.rules?.proxy ?? proxies).proxy(to: url.host, port: url.port, isSecure: url.isSecure)
    }
    demands.isForwarding = demands.proxy?.takesRequests == true && !url.isSecure && !spec.needsTunnel
    if let known = places[demands], known.spelling == url.origin, known.fits(spec) { return known }
    if max(places.count, origins.count) >= limit { removeUnused() }
    let origin = demands.isForwarding ? origin(Self.proxysKey(demands)) : origin(demands)
    let forwarded =
      demands.isForwarding
      ? ForwardedOrigin(host: demands.host, port: demands.port, endpoint: spec.endpoint) : nil
    let place = Place(String(url.origin), demands, spec, origin, forwarded)
    places[demands] = place
    return place
  }

  /// The demands on connections to a proxy that takes requests.
  private static func proxysKey(_ demands: Origin.Key) -> Origin.Key {
    guard let proxy = demands.proxy else { return demands }
    return Origin.Key(
      isSecure: proxy.kind == .https, host: proxy.host, port: proxy.port, trust: nil, addresses: nil, endpoint: nil,
      idleTimeout: demands.idleTimeout, maximumAge: demands.maximumAge, proxy: proxy, isForwarding: true)
  }

  /// The target with a path, which no request is without.
  fileprivate static func withPath(_ target: Substring) -> Substring {
    target.utf8.first == .slash ? target : "/" + target
  }

  var all: some Collection<Origin> { origins.values }

  private mutating func origin(_ key: Origin.Key) -> Origin {
    if let known = origins[key] { return known }
    let number = free.popLast() ?? count
    if number == count { count += 1 }
    let origin = Origin(key, number: number)
    origins[key] = origin
    return origin
  }

  private mutating func removeUnused() {
    last = nil
    lastByEndpoint = [:]
    places = [:]
    for (key, origin) in origins where origin.uses == 0 {
      origins[key] = nil
      free.append(origin.number)
    }
    limit = max(Self.leastLimit, 2 * origins.count)
  }

  /// The URL's path and query if it begins with this origin; nil if it does not, or is not plain.
  fileprivate static func target(of url: String, at origin: String) -> Substring? {
    let octets = url.utf8
    let range = octets.withContiguousStorageIfAvailable { url in
      origin.utf8.withContiguousStorageIfAvailable { RequestURL.target(in: url, behind: $0) } ?? nil
    }
    guard let range = range ?? nil else { return nil }
    let begin = octets.index(octets.startIndex, offsetBy: range.lowerBound)
    return Substring(octets[begin..<octets.index(begin, offsetBy: range.count)])
  }
}
