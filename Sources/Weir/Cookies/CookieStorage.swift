import Synchronization
import WeirHTTP

/// Keeps cookies in memory and says which of them a request has (RFC 6265). It may serve several sessions, and be used from
/// any thread.
///
/// At most 3,000 are kept, 50 per domain, each of 4 KiB; the one that was used longest ago goes first.
public final class CookieStorage: Sendable {
  /// For whom a cookie may be that has a `Domain`.
  public enum Domains: Sendable {
    /// For the host that sets it: a `Domain` that the host merely lies in makes a cookie for that host alone. One that is
    /// the host makes a cookie for it and the hosts within.
    case hostOnly
    /// For each domain that the host lies in, but a top-level one. A host below `co.uk` can so set cookies for all others
    /// there.
    case trusting
    /// The same, but for domains that this says are public suffixes, as `co.uk` is. It is called with names in lower case,
    /// on sessions' event loops, and must not block.
    @preconcurrency
    case checked(by: @Sendable (_ domain: String) -> Bool)
  }

  let domains: Domains
  private let jar = Mutex(CookieJar())

  /// Makes an empty storage.
  public init(domains: Domains = .hostOnly) {
    self.domains = domains
  }

  /// All cookies that have not expired, the oldest first. A domain with a dot before it is one whose hosts have the cookie
  /// too.
  public var cookies: [HTTPCookie] { all.compactMap(\.httpCookie) }

  /// What a request for `url` has, in the order of sending.
  public func cookies(for url: URL) -> [HTTPCookie] {
    guard let site = CookieSite(HopRequest(URLRequest(url: url))) else { return [] }
    return jar.withLock { $0.cookies(for: site, now: Self.now) }.compactMap(\.httpCookie)
  }

  /// Keeps a cookie in place of the one of the same name, domain and path; one that has expired removes that. Cookies that
  /// can't be sent are passed over: those without a name, with control characters or semicolons, or larger than 4 KiB.
  public func setCookie(_ cookie: HTTPCookie) {
    if let cookie = Cookie(cookie) { jar.withLock { $0.set(cookie, now: Self.now) } }
  }

  /// Removes the cookie of this one's name, domain and path.
  public func deleteCookie(_ cookie: HTTPCookie) {
    if let cookie = Cookie(cookie) { jar.withLock { _ = $0.remove(cookie) } }
  }

  // MARK: What sessions and files need

  static var now: Double { Date().timeIntervalSince1970 }

  var all: [Cookie] { jar.withLock { $0.all(now: Self.now) } }

  func set(_ cookies: [Cookie]) {
    jar.withLock { jar in
      for cookie in cookies { jar.set(cookie, now: Self.now) }
    }
  }

  /// The Cookie field of a request that is sent; nil: it has none.
  func field(for site: CookieSite) -> String? {
    let cookies = jar.withLock { $0.use(for: site, now: Self.now) }
    return cookies.isEmpty ? nil : cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
  }

  /// As many as a domain may have. More fields of one response are passed over.
  private static let maximumFields = CookieJar.maximumPerDomain

  /// Keeps what a response sets.
  func keep(_ head: ResponseHead, from site: CookieSite) {
    var fields: [SetCookie] = []
    head.forEach { name, value in
      guard name.spells("set-cookie"), fields.count < Self.maximumFields, let field = SetCookie(value) else { return }
      fields.append(field)
    }
    guard !fields.isEmpty else { return }
    let now = Self.now
    // Not under the lock: who knows public suffixes is the caller's code.
    let cookies = fields.compactMap { Cookie($0, from: site, domains: domains, now: now) }
    jar.withLock { jar in
      for cookie in cookies { jar.set(cookie, from: site, now: now) }
    }
  }
}

extension CookieStorage.Domains {
  /// For whom a cookie with such a `Domain` is (RFC 6265 §5.3, 5 and 6); nil: it is refused.
  func scope(of domain: String?, at site: CookieSite) -> (domain: String, isHostOnly: Bool)? {
    guard let domain else { return (site.host, true) }
    guard site.isWithin(domain) else { return nil }
    if domain == site.host { return (domain, site.isAddress || isPublicSuffix(domain)) }
    if case .hostOnly = self { return (site.host, true) }
    return isPublicSuffix(domain) ? nil : (domain, false)
  }

  /// A name of one part always is, and the dot that may end a name makes no difference.
  private func isPublicSuffix(_ domain: String) -> Bool {
    let domain = domain.hasSuffix(".") ? String(domain.dropLast()) : domain
    if !domain.utf8.contains(UInt8(ascii: ".")) { return true }
    guard case .checked(let isPublicSuffix) = self else { return false }
    return isPublicSuffix(domain)
  }
}
