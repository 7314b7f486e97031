import WeirHTTP

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
      guard let document = hop.urlRequest.mainDocumentURL else { return true }
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
