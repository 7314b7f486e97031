import Foundation
import FoundationNetworking
import Testing
import WeirHTTP
import WeirTestSupport

@testable import Weir

/// RFC 6265 §5.1.3, §5.1.4, §5.3 and §5.4.
@Suite("Cookie jar")
struct CookieJarTests {
  static func site(_ url: String) throws -> CookieSite {
    let url = try #require(URL(string: url))
    return try #require(CookieSite(HopRequest(URLRequest(url: url))))
  }

  /// A jar that has heard fields from places, and what another place then gets.
  static func sent(
    _ fields: [(from: String, field: String)], to url: String, domains: CookieStorage.Domains = .hostOnly,
    after: Double = 0
  ) throws -> String {
    var jar = CookieJar()
    for (from, text) in fields {
      let site = try site(from)
      guard let field = text.withOctets(SetCookie.init),
        let cookie = Cookie(field, from: site, domains: domains, now: 1000)
      else { continue }
      jar.set(cookie, from: site, now: 1000)
    }
    return jar.cookies(for: try site(url), now: 1000 + after).map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
  }

  // MARK: Places

  @Test(
    "§5.1.3: a host is within a domain",
    arguments: [
      ("a.test", "a.test", true), ("x.a.test", "a.test", true), ("y.x.a.test", "a.test", true),
      ("xa.test", "a.test", false), ("a.test", "x.a.test", false), ("a.test", "test", true), ("a.test", "", false),
      ("a.test", ".a.test", false), ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "0.0.1", false),
      ("127.0.0.1", "1", false), ("::1", "::1", true), ("1.2.3.4", "2.3.4", false), ("a.0x1", "0x1", false),
      ("a.test.", "a.test", false), ("x.a.test.", "a.test.", true),
    ])
  func within(_ host: String, _ domain: String, _ isWithin: Bool) {
    #expect(CookieSite(host: host).isWithin(domain) == isWithin)
  }

  @Test(
    "§5.1.4: a path is below a cookie's",
    arguments: [
      ("/", "/", true), ("/a", "/", true), ("/a", "/a", true), ("/a/", "/a", true), ("/a/b", "/a", true),
      ("/ab", "/a", false), ("/a/b", "/a/", true), ("/a", "/a/", false), ("/", "/a", false), ("/A", "/a", false),
    ])
  func below(_ path: String, _ prefix: String, _ isBelow: Bool) {
    #expect(CookieSite(host: "a.test", path: path).isBelow(prefix) == isBelow)
  }

  @Test(
    "§5.1.4: the default path",
    arguments: [
      ("http://a.test", "/"), ("http://a.test/", "/"), ("http://a.test/x", "/"), ("http://a.test/x/", "/x"),
      ("http://a.test/x/y", "/x"), ("http://a.test/x/y?z=/a/b", "/x"), ("http://a.test/x/y#/z/", "/x"),
      ("http://a.test?x/y", "/"), ("http://a.test//", "/"), ("http://a.test/%2F/y", "/%2F"),
    ])
  func defaultPath(_ url: String, _ path: String) throws {
    #expect(try Self.site(url).defaultPath == path)
  }

  @Test(
    "Hosts are those that libcurl connects to",
    arguments: [
      ("http://A.Test/", "a.test"), ("http://user:pw@a.test:8080/", "a.test"), ("http://[::1]/", "::1"),
      ("http://127.1/", "127.0.0.1"), ("http://[0::FFFF:1.2.3.4]/", "::ffff:1.2.3.4"), ("HTTPS://a.test/", "a.test"),
      ("http://a.test@b.test/", "b.test"),
    ])
  func hosts(_ url: String, _ host: String) throws {
    #expect(try Self.site(url).host == host)
    #expect(try Self.site(url).isSecure == url.hasPrefix("HTTPS"))
  }

  @Test("A name that is longer than names are has no cookies, so that none is compared with all of its ends")
  func longHosts() throws {
    let url = try #require(URL(string: "http://\(String(repeating: "a.", count: 5000))test/"))
    #expect(CookieSite(HopRequest(URLRequest(url: url))) == nil)
  }

  // MARK: Scopes

  static let table: [(CookieStorage.Domains, String, String, String, Bool)] = [
    // For the host alone.
    (.hostOnly, "http://a.test/", "c=1", "http://a.test/", true),
    (.hostOnly, "http://a.test/", "c=1", "http://x.a.test/", false),
    (.trusting, "http://a.test/", "c=1", "http://x.a.test/", false),
    (.hostOnly, "http://a.test/", "c=1", "http://a.test:8080/", true),
    // The host as Domain.
    (.hostOnly, "http://a.test/", "c=1; domain=a.test", "http://x.a.test/", true),
    (.hostOnly, "http://localhost/", "c=1; domain=localhost", "http://x.localhost/", false),
    (.hostOnly, "http://localhost/", "c=1; domain=localhost", "http://localhost/", true),
    (.hostOnly, "http://127.0.0.1/", "c=1; domain=127.0.0.1", "http://127.0.0.1/", true),
    // A domain that the host lies in.
    (.hostOnly, "http://x.a.test/", "c=1; domain=a.test", "http://x.a.test/", true),
    (.hostOnly, "http://x.a.test/", "c=1; domain=a.test", "http://a.test/", false),
    (.hostOnly, "http://x.a.test/", "c=1; domain=a.test", "http://y.a.test/", false),
    (.hostOnly, "http://x.a.test/", "c=1; domain=a.test", "http://z.x.a.test/", false),
    (.trusting, "http://x.a.test/", "c=1; domain=.a.test", "http://y.a.test/", true),
    (.trusting, "http://x.a.test/", "c=1; domain=a.test", "http://a.test/", true),
    (.trusting, "http://x.a.test/", "c=1; domain=test", "http://x.a.test/", false),
    (.trusting, "http://127.0.0.1/", "c=1; domain=0.0.1", "http://127.0.0.1/", false),
    (.checked(by: { $0 == "a.test" }), "http://x.a.test/", "c=1; domain=a.test", "http://x.a.test/", false),
    (.checked(by: { $0 == "a.test" }), "http://a.test/", "c=1; domain=A.test", "http://a.test/", true),
    (.checked(by: { $0 == "a.test" }), "http://a.test/", "c=1; domain=a.test", "http://x.a.test/", false),
    (.checked(by: { $0 == "a.test" }), "http://y.x.a.test/", "c=1; domain=x.a.test", "http://x.a.test/", true),
    // Somebody else's.
    (.hostOnly, "http://a.test/", "c=1; domain=b.test", "http://a.test/", false),
    (.trusting, "http://a.test/", "c=1; domain=b.test", "http://b.test/", false),
    (.trusting, "http://a.test/", "c=1; domain=x.a.test", "http://x.a.test/", false),
    (.trusting, "http://a.test/", "c=1; domain=..a.test", "http://a.test/", false),
    // Paths.
    (.hostOnly, "http://a.test/x/y", "c=1", "http://a.test/x", true),
    (.hostOnly, "http://a.test/x/y", "c=1", "http://a.test/", false),
    (.hostOnly, "http://a.test/x", "c=1; path=/z", "http://a.test/z/", true),
    (.hostOnly, "http://a.test/x", "c=1; path=/z", "http://a.test/zz", false),
    // Secure.
    (.hostOnly, "https://a.test/", "c=1; secure", "https://a.test/", true),
    (.hostOnly, "https://a.test/", "c=1; secure", "http://a.test/", false),
    (.hostOnly, "https://a.test/", "c=1", "http://a.test/", true),
    (.hostOnly, "http://a.test/", "c=1; secure", "https://a.test/", false),
    // Prefixes.
    (.hostOnly, "https://a.test/", "__Secure-c=1; secure", "https://a.test/", true),
    (.hostOnly, "https://a.test/", "__Secure-c=1", "https://a.test/", false),
    (.hostOnly, "https://a.test/", "__SECURE-c=1", "https://a.test/", false),
    (.hostOnly, "https://a.test/x/y", "__Host-c=1; secure; path=/", "https://a.test/", true),
    (.hostOnly, "https://a.test/", "__Host-c=1; secure", "https://a.test/", false),
    (.hostOnly, "https://a.test/", "__Host-c=1; path=/", "https://a.test/", false),
    (.hostOnly, "https://x.a.test/", "__Host-c=1; secure; path=/; domain=a.test", "https://x.a.test/", false),
    (.trusting, "https://a.test/", "__host-c=1; secure; path=/; domain=a.test", "https://a.test/", false),
    (.hostOnly, "https://a.test/", "__Host-c=1; secure; path=/x", "https://a.test/x", false),
  ]

  @Test("§5.3: for whom a cookie is", arguments: table.indices)
  func scopes(_ index: Int) throws {
    let (domains, from, field, to, isSent) = Self.table[index]
    let sent = try Self.sent([(from, field)], to: to, domains: domains)
    #expect(sent.hasSuffix("c=1") == isSent, "\(field) from \(from) to \(to)")
  }

  // MARK: Time and replacement

  @Test(
    "§5.3: how long a cookie lives",
    arguments: [
      ("c=1", 1e9, true), ("c=1; max-age=10", 9.9, true), ("c=1; max-age=10", 10, false), ("c=1; max-age=0", 0, false),
      ("c=1; max-age=-5", 0, false), ("c=1; max-age=99999999999999999999", 1e9, true),
      ("c=1; expires=Thu, 01 Jan 1970 00:30:00 GMT", 700, true),
      ("c=1; expires=Thu, 01 Jan 1970 00:30:00 GMT", 800, false),
      ("c=1; max-age=10; expires=Thu, 01 Jan 1970 00:30:00 GMT", 11, false),
      ("c=1; expires=Thu, 01 Jan 1970 00:00:00 GMT; max-age=10", 9, true), ("c=1; expires=junk", 1e9, true),
    ])
  func lifetime(_ field: String, _ after: Double, _ isThere: Bool) throws {
    #expect(try Self.sent([("http://a.test/", field)], to: "http://a.test/", after: after) == (isThere ? "c=1" : ""))
  }

  @Test(
    "Name, domain and path tell cookies apart; a new one takes the place of the old, one that has expired removes it")
  func replacement() throws {
    let from = "http://a.test/"
    #expect(try Self.sent([(from, "c=1"), (from, "d=2"), (from, "c=3")], to: from) == "c=3; d=2")
    #expect(try Self.sent([(from, "c=1"), (from, "C=2")], to: from) == "c=1; C=2")
    #expect(try Self.sent([(from, "c=1"), (from, "c=; max-age=0")], to: from) == "")
    #expect(try Self.sent([(from, "c=1"), (from, "c=2; path=/x")], to: "http://a.test/x") == "c=2; c=1")
    #expect(try Self.sent([(from, "\u{E9}=1"), (from, "e\u{301}=2")], to: from).utf8.count == 11)
  }

  @Test("§5.4: longer paths first, then the older")
  func order() throws {
    let fields = ["a=1; path=/", "b=2; path=/x/y", "c=3; path=/x", "d=4; path=/x/y", "a=5; path=/"]
    #expect(
      try Self.sent(fields.map { ("http://a.test/x/y", $0) }, to: "http://a.test/x/y/z") == "b=2; d=4; c=3; a=5")
  }

  @Test("An http response neither replaces a secure cookie nor puts one before it (RFC 6265bis §5.7)")
  func secureIsLeftAlone() throws {
    let secure = ("https://a.test/", "c=1; secure; path=/x")
    for field in ["c=2; path=/x", "c=2; path=/x/y", "c=2; path=/x; max-age=0"] {
      #expect(try Self.sent([secure, ("http://a.test/", field)], to: "https://a.test/x/y") == "c=1", "\(field)")
    }
    #expect(try Self.sent([secure, ("http://a.test/", "c=2; path=/")], to: "https://a.test/x") == "c=1; c=2")
    #expect(try Self.sent([secure, ("http://a.test/", "d=2; path=/x")], to: "https://a.test/x") == "c=1; d=2")
    #expect(try Self.sent([secure, ("https://a.test/", "c=2; path=/x")], to: "https://a.test/x") == "c=2")
    let wide = ("https://a.test/", "c=1; secure; domain=a.test")
    #expect(
      try Self.sent([wide, ("http://x.a.test/", "c=2")], to: "https://x.a.test/", domains: .trusting) == "c=1")
    let narrow = ("https://x.a.test/", "c=1; secure")
    #expect(
      try Self.sent([narrow, ("http://y.a.test/", "c=2; domain=a.test")], to: "https://x.a.test/", domains: .trusting)
        == "c=1")
  }

  @Test("A secure cookie that has expired is in nobody's way, and lends its age to none")
  func secureAndExpired() throws {
    var jar = CookieJar()
    let (secure, plain) = (try Self.site("https://a.test/"), try Self.site("http://a.test/"))
    func cookie(_ name: String, _ value: String, expires: Double? = nil) -> Cookie {
      Cookie(
        name: name, value: value, domain: "a.test", isHostOnly: true, path: "/", expires: expires,
        isSecure: expires != nil, isHTTPOnly: false)
    }
    jar.set(cookie("sid", "1", expires: 1), from: secure, now: 0)
    jar.set(cookie("other", "x"), from: plain, now: 0)
    jar.set(cookie("sid", "refused"), from: plain, now: 0.5)
    #expect(jar.cookies(for: secure, now: 0.5).map(\.value) == ["1", "x"])
    jar.set(cookie("sid", "2"), from: plain, now: 2)
    #expect(jar.cookies(for: plain, now: 2).map(\.value) == ["x", "2"])
  }

  @Test("Over http no secure cookie is crowded out, to be replaced then")
  func secureIsNotCrowdedOut() throws {
    var fields = [(from: "https://a.test/", field: "sid=1; secure")]
    for index in 0..<60 { fields.append(("http://a.test/", "c\(index)=x")) }
    fields.append(("http://a.test/", "sid=evil"))
    let sent = try Self.sent(fields, to: "https://a.test/")
    #expect(sent.hasPrefix("sid=1; "))
    #expect(!sent.contains("evil"))
  }

  @Test("The dot that ends a name makes no difference to what is a public suffix")
  func trailingDot() throws {
    let cookie = ("http://evil.com./", "c=1; domain=com.")
    #expect(try Self.sent([cookie], to: "http://other.com./", domains: .trusting) == "")
    let suffix = CookieStorage.Domains.checked { $0 == "co.uk" }
    let other = ("http://evil.co.uk./", "c=1; domain=co.uk.")
    #expect(try Self.sent([other], to: "http://other.co.uk./", domains: suffix) == "")
  }

  // MARK: Limits

  @Test("50 per domain: the one used longest ago makes room, those that have expired before it")
  func perDomain() throws {
    var jar = CookieJar()
    let site = try Self.site("http://a.test/")
    func cookie(_ name: String, path: String = "/", expires: Double? = nil) -> Cookie {
      Cookie(
        name: name, value: "", domain: "a.test", isHostOnly: true, path: path, expires: expires, isSecure: false,
        isHTTPOnly: false)
    }
    jar.set(cookie("first", path: "/"), now: 0)
    for index in 0..<49 { jar.set(cookie("\(index)", path: "/x", expires: index == 30 ? 10 : nil), now: 0) }
    _ = jar.use(for: site, now: 1)
    jar.set(cookie("more"), now: 5)
    #expect(jar.count == 50)
    #expect(jar.all(now: 5).contains { $0.name == "first" }, "it was used after the others")
    #expect(!jar.all(now: 5).contains { $0.name == "0" })
    jar.set(cookie("even more"), now: 20)
    #expect(jar.count == 50)
    #expect(jar.all(now: 20).contains { $0.name == "1" }, "30 had expired")
  }

  @Test("3,000 in all")
  func inAll() {
    var jar = CookieJar()
    for index in 0..<3100 {
      let cookie = Cookie(
        name: "c", value: "", domain: "\(index).test", isHostOnly: true, path: "/", expires: nil, isSecure: false,
        isHTTPOnly: false)
      jar.set(cookie, now: 0)
    }
    #expect(jar.count == 3000)
    #expect(jar.all(now: 0).first?.domain == "100.test")
  }

  @Test("Whatever is set: the limits hold, and no site gets another site's cookies", arguments: 0..<10 as Range<UInt64>)
  func anything(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var jar = CookieJar()
    let hosts = ["a.test", "x.a.test", "y.x.a.test", "b.test", "test", "127.0.0.1", "1.127.0.0.1", "::1"]
    let paths = ["/", "/x", "/x/", "/x/y", "/xy"]
    let domains: [CookieStorage.Domains] = [.hostOnly, .trusting, .checked(by: { $0.hasSuffix("a.test") })]
    var now = 0.0
    for step in 0..<600 {
      now += Double.random(in: 0...2, using: &random)
      let site = CookieSite(
        host: hosts.randomElement(using: &random) ?? "", path: paths.randomElement(using: &random) ?? "",
        isSecure: Bool.random(using: &random))
      var text = "\(Int.random(in: 0..<90, using: &random))=\(step)"
      if Bool.random(using: &random) { text += "; path=\(paths.randomElement(using: &random) ?? "")" }
      if Bool.random(using: &random) { text += "; domain=\(hosts.randomElement(using: &random) ?? "")" }
      if Bool.random(using: &random) { text += "; max-age=\(Int.random(in: -10...1000, using: &random))" }
      if Bool.random(using: &random) { text += "; secure" }
      guard let field = text.withOctets(SetCookie.init) else { continue }
      if let cookie = Cookie(field, from: site, domains: domains.randomElement(using: &random) ?? .hostOnly, now: now) {
        #expect(cookie.domain == site.host || site.host.hasSuffix("." + cookie.domain) && !site.isAddress)
        jar.set(cookie, from: site, now: now)
      }
      for cookie in jar.use(for: site, now: now) {
        #expect(cookie.expires ?? .infinity > now)
        #expect(site.isSecure || !cookie.isSecure)
        let isWithin = site.host.hasSuffix("." + cookie.domain) && !cookie.isHostOnly && !site.isAddress
        #expect(site.host == cookie.domain || isWithin)
        let isBelow = site.path.hasPrefix(cookie.path.hasSuffix("/") ? cookie.path : cookie.path + "/")
        #expect(site.path == cookie.path || isBelow)
      }
    }
    #expect(jar.count <= CookieJar.maximumCount)
    let all = jar.all(now: -1)
    #expect(all.count == jar.count)
    #expect(Dictionary(grouping: all, by: \.domain).values.allSatisfy { $0.count <= CookieJar.maximumPerDomain })
  }
}
