/// A jar of cookies with the rules of RFC 6265 §5.3 and §5.4, as a value: the time is passed in, as seconds since 1970.
struct CookieJar: Sendable {
  static let maximumCount = 3000
  static let maximumPerDomain = 50
  /// The bytes of name and value together.
  static let maximumSize = 4096
  static let maximumPath = 1024

  private var byDomain: [String: [Cookie]] = [:]
  private(set) var count = 0
  /// Numbers the events in order; the wall clock may stand still or go back.
  private var events: UInt64 = 0

  /// All cookies that have not expired, the oldest first.
  func all(now: Double) -> [Cookie] {
    byDomain.values.joined().filter { !$0.isExpired(now) }.sorted { $0.created < $1.created }
  }

  /// The cookies for a request to that site, in the order of sending: longer paths first, then older cookies.
  func cookies(for site: CookieSite, now: Double) -> [Cookie] {
    site.domains.compactMap { byDomain[$0] }.joined().filter { !$0.isExpired(now) && $0.isFor(site) }.sorted {
      let (left, right) = ($0.path.utf8.count, $1.path.utf8.count)
      return left == right ? $0.created < $1.created : left > right
    }
  }

  /// The cookies for a request that is about to be sent; they are marked as used.
  mutating func use(for site: CookieSite, now: Double) -> [Cookie] {
    events += 1
    for domain in site.domains {
      guard let indices = byDomain[domain]?.indices else { continue }
      for index in indices where byDomain[domain]?[index].isFor(site) == true { byDomain[domain]?[index].used = events }
    }
    return cookies(for: site, now: now)
  }

  /// Stores a cookie that a response from that site sets. An expired cookie removes the one that it would replace. A
  /// cookie from an insecure connection is refused if it would hide or replace a secure one (RFC 6265bis §5.7).
  mutating func set(_ cookie: Cookie, from site: CookieSite, now: Double) {
    if !site.isSecure, hidesSecure(cookie, now) { return }
    set(cookie, now: now)
  }

  /// Stores a cookie that the caller set.
  mutating func set(_ cookie: Cookie, now: Double) {
    events += 1
    var cookie = cookie
    (cookie.created, cookie.used) = (events, events)
    if let replaced = remove(cookie), !replaced.isExpired(now) { cookie.created = replaced.created }
    if cookie.isExpired(now) { return }
    byDomain[cookie.domain, default: []].append(cookie)
    count += 1
    if let others = byDomain[cookie.domain], others.count > Self.maximumPerDomain { evict(among: others, now) }
    if count > Self.maximumCount { evict(among: byDomain.values.flatMap(\.self), now) }
  }

  /// Removes the cookie with the same name, domain and path.
  @discardableResult
  mutating func remove(_ cookie: Cookie) -> Cookie? {
    guard let index = byDomain[cookie.domain]?.firstIndex(where: { $0.isSame(as: cookie) }) else { return nil }
    let removed = byDomain[cookie.domain]?.remove(at: index)
    if byDomain[cookie.domain]?.isEmpty == true { byDomain[cookie.domain] = nil }
    count -= 1
    return removed
  }

  /// Removes all expired cookies. If there are none, removes the least recently used insecure cookie or, if all are
  /// secure, the least recently used one (RFC 6265bis §5.7).
  private mutating func evict(among cookies: [Cookie], _ now: Double) {
    let expired = cookies.filter { $0.isExpired(now) }
    for cookie in expired { remove(cookie) }
    guard expired.isEmpty else { return }
    if let oldest = cookies.min(by: { ($0.isSecure ? 1 : 0, $0.used) < ($1.isSecure ? 1 : 0, $1.used) }) {
      remove(oldest)
    }
  }

  /// Whether a cookie from an insecure connection would replace a secure cookie, or be sent before it (RFC 6265bis
  /// §5.7).
  private func hidesSecure(_ cookie: Cookie, _ now: Double) -> Bool {
    let site = CookieSite(host: cookie.domain, path: cookie.path)
    return byDomain.contains { domain, others in
      (site.isWithin(domain) || CookieSite(host: domain).isWithin(cookie.domain))
        && others.contains {
          $0.isSecure && !$0.isExpired(now) && $0.name.utf8.elementsEqual(cookie.name.utf8)
            && site.isBelow($0.path)
        }
    }
  }
}
