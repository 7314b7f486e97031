import WeirCurl
import WeirHTTP
import WeirIO

/// The target of a request, as the cookie rules see it (RFC 6265 §5.1.2 to §5.1.4).
struct CookieSite: Hashable, Sendable {
  /// In lower case; IPv6 addresses are without brackets.
  let host: String
  /// The path as it goes on the wire, without the query.
  let path: String
  let isSecure: Bool

  /// The longest name that DNS allows (RFC 1035 §2.3.4).
  private static let maximumHost = 255

  init(host: String, path: String = "/", isSecure: Bool = false) {
    self.host = host
    self.path = path
    self.isSecure = isSecure
  }

  /// Nil if the URL can have no cookies: it has no host, or one that is not a DNS name.
  init?(_ hop: HopRequest) {
    // libcurl connects to the host that it parses. Another parser's result could send one host's cookies to another.
    guard let length = hop.originLength, let read = CurlURL.host(of: hop.text) else { return nil }
    let host = CanonicalHost(read).text
    guard Self.isHost(host) else { return nil }
    let path = hop.text.utf8.dropFirst(length).prefix { $0 != .questionMark && $0 != UInt8(ascii: "#") }
    self.init(host: host, path: path.isEmpty ? "/" : String(decoding: path, as: UTF8.self), isSecure: hop.isSecure)
  }

  /// Whether the host can have cookies.
  static func isHost(_ host: String) -> Bool {
    !host.isEmpty && host.utf8.count <= maximumHost
      && host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != .semicolon && $0 != .comma && $0.lowercased == $0 }
  }

  /// Whether the host is an address, so that no part of it is a name. A host whose last label is a number is an address
  /// or invalid.
  var isAddress: Bool {
    if host.utf8.contains(.colon) { return true }
    guard let last = host.split(separator: ".").last?.utf8 else { return false }
    return last.allSatisfy(\.isDigit) || last.starts(with: "0x".utf8)
  }

  /// §5.1.3: whether the domain is the host, or the host lies in it.
  func isWithin(_ domain: String) -> Bool {
    if host == domain { return true }
    let (host, domain) = (host.utf8, domain.utf8)
    guard !isAddress, !domain.isEmpty, host.count > domain.count else { return false }
    let rest = host.suffix(domain.count + 1)
    return rest.first == UInt8(ascii: ".") && rest.dropFirst().elementsEqual(domain)
  }

  /// §5.1.4: whether the paths are the same, or the request's path continues the cookie's after a slash.
  func isBelow(_ prefix: String) -> Bool {
    let (path, prefix) = (path.utf8, prefix.utf8)
    guard path.starts(with: prefix) else { return false }
    return path.count == prefix.count || prefix.last == .slash || path.dropFirst(prefix.count).first == .slash
  }

  /// §5.1.4: the path up to its last slash.
  var defaultPath: String {
    guard path.utf8.first == .slash, let last = path.utf8.lastIndex(of: .slash), last > path.utf8.startIndex else {
      return "/"
    }
    return String(decoding: path.utf8[..<last], as: UTF8.self)
  }

  /// The host and the domains that it lies in, the longest first.
  var domains: [String] {
    if isAddress { return [host] }
    var domains = [host]
    var rest = Substring(host)
    while let dot = rest.firstIndex(of: ".") {
      rest = rest[rest.index(after: dot)...]
      if !rest.isEmpty { domains.append(String(rest)) }
    }
    return domains
  }
}
