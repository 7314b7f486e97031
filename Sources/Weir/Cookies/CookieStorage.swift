import Synchronization
import WeirHTTP

/// Keeps cookies in memory and selects those for a request (RFC 6265). One storage may serve several sessions and be
/// used from any thread.
///
/// It keeps at most 3,000 cookies, 50 per domain, each of 4 KiB; the least recently used one is removed first.
public final class CookieStorage: Sendable {
  /// The hosts that a cookie with a `Domain` may be for.
  public enum Domains: Sendable {
    /// Only the host that sets it: if `Domain` is a parent domain of that host, the cookie is for the host alone. If
    /// `Domain` is the host itself, the cookie is for it and the hosts within it.
    case hostOnly
    /// Every domain that the host lies in, except top-level ones. So a host below `co.uk` can set cookies for all other
    /// hosts there.
    case trusting
    /// Like `trusting`, except for domains that the closure says are public suffixes, as `co.uk` is. It is called with
    /// names in lower case, on the event loops of sessions, and must not block.
    @preconcurrency
    case checked(by: @Sendable (_ domain: String) -> Bool)
  }

  let domains: Domains
  private let jar = Mutex(CookieJar())

  /// Creates an empty storage.
  public init(domains: Domains = .hostOnly) {
    self.domains = domains
  }

  /// All cookies that have not expired, the oldest first. A dot before a cookie's domain says that the hosts within the
  /// domain get it too.
  public var cookies: [HTTPCookie] { all.compactMap(\.httpCookie) }

  /// The cookies for a request to `url`, in the order of sending.
  public func cookies(for url: URL) -> [HTTPCookie] {
    guard let site = CookieSite(HopRequest(URLRequest(url: url))) else { return [] }
    return jar.withLock { $0.cookies(for: site, now: Self.now) }.compactMap(\.httpCookie)
  }

  /// Stores a cookie in place of the one with the same name, domain and path; an expired cookie removes that one.
  /// Cookies that can't be sent are ignored: those without a name, with control characters or semicolons, or larger
  /// than 4 KiB.
  public func setCookie(_ cookie: HTTPCookie) {
    if let cookie = Cookie(cookie) { jar.withLock { $0.set(cookie, now: Self.now) } }
  }

  /// Removes the stored cookie that has this cookie's name, domain and path.
  public func deleteCookie(_ cookie: HTTPCookie) {
    if let cookie = Cookie(cookie) { jar.withLock { _ = $0.remove(cookie) } }
  }

  // MARK: For sessions and files

  static var now: Double { Date().timeIntervalSince1970 }

  var all: [Cookie] { jar.withLock { $0.all(now: Self.now) } }

  func set(_ cookies: [Cookie]) {
    jar.withLock { jar in
      for cookie in cookies { jar.set(cookie, now: Self.now) }
    }
  }

  /// The Cookie field of a request that is about to be sent; nil if it has no cookies.
  func field(for site: CookieSite) -> String? {
    let cookies = jar.withLock { $0.use(for: site, now: Self.now) }
    return cookies.isEmpty ? nil : cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
  }

  /// A domain's limit is also the limit of fields per response. Further fields are ignored.
  private static let maximumFields = CookieJar.maximumPerDomain

  /// Stores the cookies that a response sets.
  func keep(_ head: ResponseHead, from site: CookieSite) {
    var fields: [SetCookie] = []
    head.forEach { name, value in
      guard name.spells("set-cookie"), fields.count < Self.maximumFields, let field = SetCookie(value) else { return }
      fields.append(field)
    }
    guard !fields.isEmpty else { return }
    let now = Self.now
    // Outside the lock, since the check for public suffixes is the caller's code.
    let cookies = fields.compactMap { Cookie($0, from: site, domains: domains, now: now) }
    jar.withLock { jar in
      for cookie in cookies { jar.set(cookie, from: site, now: now) }
    }
  }
}

extension CookieStorage.Domains {
  /// The domain of a cookie with such a `Domain` (RFC 6265 §5.3, steps 5 and 6); nil if the cookie is refused.
  func scope(of domain: String?, at site: CookieSite) -> (domain: String, isHostOnly: Bool)? {
    guard let domain else { return (site.host, true) }
    guard site.isWithin(domain) else { return nil }
    if domain == site.host { return (domain, site.isAddress || isPublicSuffix(domain)) }
    if case .hostOnly = self { return (site.host, true) }
    return isPublicSuffix(domain) ? nil : (domain, false)
  }

  /// A name of one label always is a public suffix. A dot at the end of a name makes no difference.
  private func isPublicSuffix(_ domain: String) -> Bool {
    let domain = domain.hasSuffix(".") ? String(domain.dropLast()) : domain
    if !domain.utf8.contains(UInt8(ascii: ".")) { return true }
    guard case .checked(let isPublicSuffix) = self else { return false }
    return isPublicSuffix(domain)
  }
}
