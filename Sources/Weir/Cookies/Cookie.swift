import WeirHTTP

/// A stored cookie (RFC 6265 §5.3). Its name, domain and path identify it.
struct Cookie: Hashable, Codable, Sendable {
  var name: String
  var value: String
  /// In lower case, without a leading dot.
  var domain: String
  /// Whether the cookie is for that host alone, and not for the hosts within the domain.
  var isHostOnly: Bool
  var path: String
  /// Seconds since 1970; nil if the cookie ends with the session.
  var expires: Double?
  var isSecure: Bool
  var isHTTPOnly: Bool
  /// The jar's event numbers of the cookie's first setting and of its last use; they order the jar's cookies.
  var created: UInt64 = 0
  var used: UInt64 = 0

  /// The properties that are saved. The jar determines `created` and `used` anew.
  private enum CodingKeys: CodingKey {
    case name, value, domain, isHostOnly, path, expires, isSecure, isHTTPOnly
  }

  func isExpired(_ now: Double) -> Bool { expires.map { $0 <= now } ?? false }

  func isSame(as other: Cookie) -> Bool {
    domain == other.domain && name.utf8.elementsEqual(other.name.utf8) && path.utf8.elementsEqual(other.path.utf8)
  }

  /// Whether a request to that site gets the cookie (§5.4).
  func isFor(_ site: CookieSite) -> Bool {
    (isHostOnly ? site.host == domain : site.isWithin(domain)) && site.isBelow(path) && (site.isSecure || !isSecure)
  }

  /// Whether the cookie can be sent in a field and is within the size limits; to be checked for cookies that no server
  /// has set.
  var isAcceptable: Bool {
    !name.isEmpty && name.utf8.count + value.utf8.count <= CookieJar.maximumSize
      && path.utf8.count <= CookieJar.maximumPath && path.utf8.first == .slash && CookieSite.isHost(domain)
      && [name, value, path].allSatisfy { !$0.utf8.contains(where: Self.isForbidden) }
      && !name.utf8.contains(.equalsSign)
      && expires?.isFinite ?? true
      && Self.mayBeNamed(name, isSecure: isSecure, isForHostAlone: isHostOnly, path: path)
  }

  /// The rules of name prefixes (draft-ietf-httpbis-rfc6265bis §4.1.3), case-insensitively, since a server may read
  /// them so.
  static func mayBeNamed(_ name: String, isSecure: Bool, isForHostAlone: Bool, path: String?) -> Bool {
    let name = FieldSyntax.lowercased(name)
    if name.hasPrefix("__host-") { return isSecure && isForHostAlone && path == "/" }
    return isSecure || !name.hasPrefix("__secure-")
  }

  private static func isForbidden(_ octet: UInt8) -> Bool {
    octet < 0x20 && octet != .tab || octet == 0x7F || octet == .semicolon
  }
}

extension Cookie {
  /// The cookie that a field of a response sets (§5.3); nil if it sets none.
  init?(_ field: SetCookie, from site: CookieSite, domains: CookieStorage.Domains, now: Double) {
    guard let scope = domains.scope(of: field.domain, at: site), !field.isSecure || site.isSecure,
      Self.mayBeNamed(field.name, isSecure: field.isSecure, isForHostAlone: field.domain == nil, path: field.path)
    else { return nil }
    let path = field.path ?? site.defaultPath
    guard path.utf8.count <= CookieJar.maximumPath else { return nil }
    self.init(
      name: field.name, value: field.value, domain: scope.domain, isHostOnly: scope.isHostOnly, path: path,
      expires: field.maxAge.map { $0 <= 0 ? 0 : min(now + $0, Self.lastTime) } ?? field.expires,
      isSecure: field.isSecure, isHTTPOnly: field.isHTTPOnly)
  }

  /// The end of the year 9999; later expiry times are cut to it.
  private static let lastTime = 253_402_300_799.0

  /// Takes a cookie that the caller made; nil if it can't be sent.
  init?(_ cookie: HTTPCookie) {
    let isHostOnly = !cookie.domain.hasPrefix(".")
    self.init(
      name: cookie.name, value: cookie.value,
      domain: FieldSyntax.lowercased(isHostOnly ? cookie.domain : String(cookie.domain.dropFirst())),
      isHostOnly: isHostOnly, path: cookie.path, expires: cookie.expiresDate?.timeIntervalSince1970,
      isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly)
    guard isAcceptable else { return nil }
  }

  /// The cookie for Foundation, in which a dot before the domain says that the hosts within it get the cookie too.
  var httpCookie: HTTPCookie? {
    var properties: [HTTPCookiePropertyKey: Any] = [
      .name: name, .value: value, .domain: isHostOnly ? domain : "." + domain, .path: path,
    ]
    if let expires { properties[.expires] = Date(timeIntervalSince1970: expires) }
    if isSecure { properties[.secure] = "TRUE" }
    if isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
    return HTTPCookie(properties: properties)
  }
}
