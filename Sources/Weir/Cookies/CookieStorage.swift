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

extension CookieStorage {
  /// The cookies as a JSON document that ``load(json:)`` can read. A reader of the document can act as the cookies'
  /// owner, so store it where others can't read it.
  ///
  /// - Parameter includingSessionCookies: Whether cookies without an expiry are included.
  public func json(includingSessionCookies: Bool = true) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(
      CookieDocument(version: 1, cookies: all.filter { includingSessionCookies || $0.expires != nil }))
  }

  /// Adds the unexpired cookies of a document that ``json(includingSessionCookies:)`` made, within the limits. They
  /// replace cookies of the same name, domain and path.
  ///
  /// Throws a `DecodingError`, and adds none, if the data is not such a document or one of its cookies is not valid.
  public func load(json: Data) throws {
    set(try JSONDecoder().decode(CookieDocument.self, from: json).cookies.filter { !$0.isExpired(Self.now) })
  }
}

/// The cookies are in the order of their age.
private struct CookieDocument: Encodable {
  let version: Int
  let cookies: [Cookie]
}

extension CookieDocument: Decodable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    version = try container.decode(Int.self, forKey: .version)
    guard version == 1 else {
      throw DecodingError.dataCorruptedError(
        forKey: .version, in: container, debugDescription: "only version 1 can be read, not \(version)")
    }
    cookies = try container.decode([Cookie].self, forKey: .cookies)
    if let index = cookies.firstIndex(where: { !$0.isAcceptable }) {
      throw DecodingError.dataCorruptedError(
        forKey: .cookies, in: container, debugDescription: "cookie number \(index) can't be sent")
    }
  }
}

/// The rules by which a session sends and keeps cookies.
struct CookieHandling {
  let storage: CookieStorage
  let areSent: Bool
  let policy: HTTPCookie.AcceptPolicy

  /// The Cookie field for a hop; the caller has set none.
  func field(for hop: HopRequest) -> String? {
    guard areSent, hop.handlesCookies, let site = CookieSite(hop) else { return nil }
    return storage.field(for: site)
  }

  /// Stores the cookies that the response to a hop sets.
  func keep(_ head: ResponseHead, of hop: HopRequest) {
    guard hop.handlesCookies, head.sets, let site = CookieSite(hop), accepts(site, for: hop) else { return }
    storage.keep(head, from: site)
  }

  private func accepts(_ site: CookieSite, for hop: HopRequest) -> Bool {
    switch policy {
    case .never: return false
    case .onlyFromMainDocumentDomain:
      // Programs have no main document, unless the request names one.
      guard let document = hop.given?.mainDocumentURL else { return true }
      guard let main = CookieSite(HopRequest(URLRequest(url: document))) else { return false }
      return site.isWithin(main.host)
    default: return true
    }
  }
}

extension ResponseHead {
  /// Whether there is a Set-Cookie field.
  fileprivate var sets: Bool {
    var isThere = false
    forEach { name, _ in if name.spells("set-cookie") { isThere = true } }
    return isThere
  }
}
