internal import CCurl
internal import Glibc
internal import WeirIO

/// An engine's options in libcurl's terms, computed once.
final class PreparedOptions {
  /// About the largest number that libcurl accepts for a time.
  static let longestTimeout = 2_000_000_000
  /// libcurl's default, in milliseconds.
  private static let defaultConnectTimeout = 300_000

  let connectTimeout: Int
  let maximumIdle: Int
  let version: PreparedVersion
  let unixSocketPath: String?
  let trust: TransferTrust
  let resolve: UnsafeMutablePointer<curl_slist>?

  init(_ options: TransportOptions) throws(TransferError) {
    connectTimeout = Self.milliseconds(ofConnectTimeout: options.connectTimeout)
    maximumIdle = Int(clamping: options.idleConnectionLifetime, times: 1)
    version = PreparedVersion(options.httpVersion)
    unixSocketPath = options.unixSocketPath
    if case .named(let environment) = options.proxy, let defect = environment.defect {
      throw TransferError(.invalidRequest, message: defect)
    }
    trust = TransferTrust(options.tls)
    var list: UnsafeMutablePointer<curl_slist>?
    for override in options.resolveOverrides {
      guard let entry = Self.entry(override), let longer = curl_slist_append(list, entry) else {
        curl_slist_free_all(list)
        let needs = "a resolve override needs a host that is not an IPv6 address, a port and an address"
        throw TransferError(.invalidRequest, message: needs)
      }
      list = longer
    }
    resolve = list
  }

  deinit {
    curl_slist_free_all(resolve)
  }

  static func milliseconds(ofConnectTimeout seconds: Double) -> Int {
    seconds > 0 ? Int(clamping: seconds, times: 1000) : defaultConnectTimeout
  }

  /// CURLOPT_RESOLVE's `host:port:address,address`, with IPv6 addresses in brackets. libcurl takes no IPv6 address as the
  /// host, and would fail every request for it.
  private static func entry(_ override: ResolveOverrideOptions) -> String? {
    let host = CanonicalHost(override.host).text
    guard !host.isEmpty, !host.contains(":"), (1...65535).contains(override.port), !override.addresses.isEmpty
    else { return nil }
    let addresses = override.addresses.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
    return "\(host):\(override.port):\(addresses.joined(separator: ","))"
  }
}

/// The HTTP versions that a transfer may use, in libcurl's terms.
struct PreparedVersion: Equatable {
  let number: Int

  init(_ choice: HTTPVersionChoice) {
    number =
      switch choice {
      case .automatic: Int(CurlLibrary.hasReliableHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
      case .http1_1: Int(CURL_HTTP_VERSION_1_1)
      case .http2: Int(CURL_HTTP_VERSION_2TLS)
      case .http2PriorKnowledge: Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
      }
  }

  /// Whether HTTP/2 may be used on http URLs.
  var mayMultiplexPlain: Bool { number == Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE) }

  var mayMultiplexSecure: Bool { number != Int(CURL_HTTP_VERSION_1_1) }

  /// Whether a connection may serve more than one transfer. Below 8.1, with prior knowledge, all but the first one
  /// fail.
  var reusesConnections: Bool { CurlLibrary.hasReliableHTTP2 || !mayMultiplexPlain }

  func mayMultiplex(_ scheme: Scheme) -> Bool { scheme == .https ? mayMultiplexSecure : mayMultiplexPlain }
}

/// Parses hosts in URLs.
enum HostName {
  /// The positions of a URL's host and port, without userinfo.
  struct Authority {
    /// The host; an IPv6 address includes its brackets.
    let host: Range<String.Index>
    /// The port; empty if there is none.
    let port: Range<String.Index>

    init?(ofURL url: String) {
      guard let colon = url.firstIndex(of: ":") else { return nil }
      let rest = url[colon...].drop { $0 == ":" || $0 == "/" }
      let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
      let place = authority.lastIndex(of: "@").map { authority[$0...].dropFirst() } ?? authority
      var end = place.prefix { $0 != ":" }.endIndex
      if place.hasPrefix("[") {
        guard let bracket = place.firstIndex(of: "]") else { return nil }
        end = place.index(after: bracket)
      }
      guard end > place.startIndex else { return nil }
      host = place.startIndex..<end
      let port = place[end...].drop { $0 == ":" }
      self.port = port.startIndex..<port.endIndex
    }

    func replacingHost(of url: String, with name: String) -> String {
      String(url[..<host.lowerBound]) + name + url[host.upperBound...]
    }

    /// An entry for CURLOPT_CONNECT_TO, `host:port:host:port`, that leads every connection to this host, on the URL's
    /// port if this one is empty.
    func connectTo(in url: String) -> String { "::\(url[host]):\(url[port])" }
  }

  static func host(ofURL url: String) -> Substring { Authority(ofURL: url).map { url[$0.host] } ?? "" }

  /// The port of an `http` or `https` URL.
  static func port(ofURL url: String) -> Int {
    Authority(ofURL: url).flatMap { Int(url[$0.port]) } ?? (Scheme(url: url) == .https ? 443 : 80)
  }

  static func needsLookup(_ host: Substring) -> Bool {
    if host.contains(":") || host.hasPrefix("[") { return false }
    if host.lowercased() == "localhost" || host.lowercased().hasSuffix(".localhost") { return false }
    return !host.allSatisfy { $0.isNumber || $0 == "." }
  }

  static func bracketed(_ host: String) -> String {
    host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
  }
}

extension Int {
  /// A number of seconds in smaller units, rounded up, for C's `long`. Values that libcurl does not accept are clamped.
  init(clamping seconds: Double, times unit: Double) {
    let value = (seconds * unit).rounded(.up)
    self = value.isNaN ? 0 : Int(Swift.min(Swift.max(value, 0), Double(PreparedOptions.longestTimeout)))
  }
}
