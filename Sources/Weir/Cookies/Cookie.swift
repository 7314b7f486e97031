import WeirHTTP

/// A cookie as it is kept (RFC 6265 §5.3). Name, domain and path tell it from others.
struct Cookie: Hashable, Codable, Sendable {
  var name: String
  var value: String
  /// In lower case, without a dot at its beginning.
  var domain: String
  /// Whether it is for that host alone, and not for those within the domain.
  var isHostOnly: Bool
  var path: String
  /// Seconds since 1970; nil: it ends with the session.
  var expires: Double?
  var isSecure: Bool
  var isHTTPOnly: Bool
  /// Its place among the jar's, by the time when it was first set, and when it was last sent.
  var created: UInt64 = 0
  var used: UInt64 = 0

  /// The properties that are saved. The place of a cookie among others is for its jar to say.
  private enum CodingKeys: CodingKey {
    case name, value, domain, isHostOnly, path, expires, isSecure, isHTTPOnly
  }

  func isExpired(_ now: Double) -> Bool { expires.map { $0 <= now } ?? false }

  func isSame(as other: Cookie) -> Bool {
    domain == other.domain && name.utf8.elementsEqual(other.name.utf8) && path.utf8.elementsEqual(other.path.utf8)
  }

  /// Whether a request to that place has it (§5.4).
  func isFor(_ site: CookieSite) -> Bool {
    (isHostOnly ? site.host == domain : site.isWithin(domain)) && site.isBelow(path) && (site.isSecure || !isSecure)
  }

  /// Whether it can go into a field, and is no larger than a cookie may be; to be asked of what no server has set.
  var isAcceptable: Bool {
    !name.isEmpty && name.utf8.count + value.utf8.count <= CookieJar.maximumSize
      && path.utf8.count <= CookieJar.maximumPath && path.utf8.first == .slash && CookieSite.isHost(domain)
      && [name, value, path].allSatisfy { !$0.utf8.contains(where: Self.isForbidden) }
      && !name.utf8.contains(.equalsSign)
      && expires?.isFinite ?? true
      && Self.mayBeNamed(name, isSecure: isSecure, isForHostAlone: isHostOnly, path: path)
  }

  /// What the prefixes of names promise (draft-ietf-httpbis-rfc6265bis §4.1.3), in whatever case a server reads them.
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
  /// The cookie that a field of a response sets (§5.3); nil when it sets none.
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

  /// The end of the year 9999: what goes beyond that is for ever.
  private static let lastTime = 253_402_300_799.0

  /// Takes a cookie that the caller made; nil when it can't be sent.
  init?(_ cookie: HTTPCookie) {
    let isHostOnly = !cookie.domain.hasPrefix(".")
    self.init(
      name: cookie.name, value: cookie.value,
      domain: FieldSyntax.lowercased(isHostOnly ? cookie.domain : String(cookie.domain.dropFirst())),
      isHostOnly: isHostOnly, path: cookie.path, expires: cookie.expiresDate?.timeIntervalSince1970,
      isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly)
    guard isAcceptable else { return nil }
  }

  /// As Foundation has it: a dot before the domain says that it is for the hosts within too.
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
