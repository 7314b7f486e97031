import Foundation
import FoundationNetworking
import Testing

@testable import Weir

/// RFC 9111 as far as weir goes by it.
@Suite("Cache rules")
struct CacheRulesTests {
  /// 1994-11-06 08:49:37.
  static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  static let then = 784_111_777.0

  static func entry(
    _ fields: [String: String], request: [String: String] = [:], requested: Double = then, received: Double = then
  ) -> CacheEntry {
    CacheEntry(
      url: "http://a.test/", fields: fields, requested: requested, received: received, request: request, isDecoded: true
    )
  }

  // MARK: Cache-Control

  @Test(
    "§5.2: directives",
    arguments: [
      ("", false, false, nil), ("no-store", true, false, nil), ("No-Cache, MAX-AGE=5", false, true, 5),
      ("max-age=5, max-age=3", false, false, 3), ("max-age=3,max-age=5", false, false, 3),
      ("max-age=\"7\"", false, false, 7),
      ("max-age=-1", false, false, 0), ("max-age", false, false, 0), ("max-age=x, max-age=9", false, false, 0),
      ("max-age=99999999999999999999", false, false, 9.223372036854775807e18),
      ("no-cache=\"set-cookie, x\"", false, true, nil),
      ("private=\"no-store\"", false, false, nil), ("x=\"a, no-store\"", false, false, nil),
      ("x=\"a, no-store", true, false, nil),
      (", ,no-store,", true, false, nil),
      ("no-storex, xno-store", false, false, nil), ("s-maxage=5", false, false, nil), ("max-age = 4", false, false, 4),
    ] as [(String, Bool, Bool, Double?)])
  func directives(_ text: String, _ isNoStore: Bool, _ isNoCache: Bool, _ maxAge: Double?) {
    let control = CacheControl(text)
    #expect(control.isNoStore == isNoStore)
    #expect(control.isNoCache == isNoCache)
    #expect(control.maxAge == maxAge)
  }

  // MARK: Freshness

  static let lifetimes: [([String: String], Double)] = [
    ([:], 0), (["cache-control": "max-age=60"], 60), (["date": date, "expires": "Sun, 06 Nov 1994 08:50:37 GMT"], 60),
    (["expires": "Sun, 06 Nov 1994 08:50:37 GMT"], 60),
    (["cache-control": "max-age=5", "expires": "Sun, 06 Nov 1995 08:50:37 GMT"], 5),
    (["date": date, "expires": "0"], 0), (["date": date, "expires": "-1"], 0), (["date": date, "expires": date], 0),
    (["date": "junk", "expires": "Sun, 06 Nov 1994 08:50:37 GMT"], 60), (["cache-control": "max-age=-60"], 0),
    (["cache-control": "max-age=junk", "expires": "Sun, 06 Nov 1995 08:50:37 GMT"], 0),
    (["last-modified": "Sun, 06 Nov 1984 08:49:37 GMT", "date": date], 0), (["cache-control": "s-maxage=60"], 0),
    (["date": date, "expires": "Sun, 06 Nov 1994 08:50:37 GMT, Sun, 06 Nov 1994 08:50:37 GMT"], 0),
  ]

  @Test("§4.2.1: how long a response is fresh", arguments: lifetimes)
  func lifetime(_ fields: [String: String], _ seconds: Double) {
    #expect(Self.entry(fields).lifetime == seconds)
  }

  @Test(
    "§4.2.3: how old it is",
    arguments: [
      ([:], 0, 0, 10, 10), (["age": "30"], 0, 0, 10, 40), (["date": date], 0, 5, 10, 10),
      (["age": "30"], -4, 0, 10, 44),
      (["date": date], 0, 100, 110, 110), (["age": "30", "date": date], 100, 100, 100, 100),
      (["age": "-30"], 0, 0, 10, 10),
      (["age": "junk"], 0, 0, 10, 10), (["age": "20, 30"], 0, 0, 0, 20),
      (["date": "Sun, 06 Nov 2094 08:49:37 GMT"], 0, 0, 5, 5),
      (["age": "99999999999999999999999"], 0, 0, 0, 9.223372036854775807e18), ([:], 0, 0, -100, 0), ([:], 100, 0, 0, 0),
    ] as [([String: String], Double, Double, Double, Double)])
  func age(_ fields: [String: String], _ requested: Double, _ received: Double, _ now: Double, _ age: Double) {
    let entry = Self.entry(fields, requested: Self.then + requested, received: Self.then + received)
    #expect(entry.age(Self.then + now) == age)
  }

  // MARK: What may be stored, and whom it fits

  @Test(
    "§3: what may be stored",
    arguments: [
      (200, [:], true), (200, ["cache-control": "private, no-cache, must-revalidate"], true),
      (200, ["cache-control": "no-store"], false),
      (200, ["vary": "*"], false), (200, ["vary": "a, *"], false), (200, ["vary": "Accept"], true), (206, [:], false),
      (203, [:], false), (301, [:], false), (404, [:], false), (304, [:], false),
    ] as [(Int, [String: String], Bool)])
  func storing(_ status: Int, _ fields: [String: String], _ may: Bool) {
    #expect(CacheEntry.mayStore(status: status, fields: fields) == may)
  }

  @Test(
    "§4.1: whom it fits",
    arguments: [
      (nil, [:], ["accept": "x"], true), ("Accept", ["accept": "x"], ["accept": "x", "other": "y"], true),
      ("Accept", ["accept": "x"], ["accept": "y"], false), ("Accept", ["accept": "x"], [:], false),
      ("ACCEPT", [:], ["accept": "x"], false), ("accept", [:], [:], true),
      ("Accept, Cookie", ["accept": "x", "cookie": "a"], ["accept": "x"], false),
      ("Accept,,Cookie,", ["accept": "x", "cookie": "a"], ["accept": "x", "cookie": "a"], true),
      ("", ["accept": "x"], [:], true),
    ] as [(String?, [String: String], [String: String], Bool)])
  func varying(_ vary: String?, _ request: [String: String], _ next: [String: String], _ fits: Bool) {
    let entry = Self.entry(vary.map { ["vary": $0] } ?? [:], request: request)
    #expect(entry.fits(url: "http://a.test/", request: next, isDecoded: true) == fits)
    #expect(!entry.fits(url: "https://a.test/", request: next, isDecoded: true))
    #expect(!entry.fits(url: "http://a.test/", request: next, isDecoded: false))
  }

  // MARK: Decisions

  static let fresh = ["cache-control": "max-age=60"]
  static let stale = ["cache-control": "max-age=5"]
  static let tagged = ["cache-control": "max-age=5, must-revalidate", "etag": "\"1\""]

  typealias Row = (URLRequest.CachePolicy, [String: String], [String: String]?, CacheRules.Decision)

  static let decisions: [Row] = [
    (.useProtocolCachePolicy, [:], nil, .load), (.useProtocolCachePolicy, [:], fresh, .serve),
    (.useProtocolCachePolicy, [:], stale, .load), (.useProtocolCachePolicy, [:], tagged, .revalidate),
    (.useProtocolCachePolicy, [:], ["etag": "\"1\""], .revalidate),
    (.useProtocolCachePolicy, [:], ["last-modified": date], .revalidate),
    (.useProtocolCachePolicy, [:], [:], .load),
    (.useProtocolCachePolicy, [:], ["cache-control": "no-cache, max-age=60"], .load),
    (.useProtocolCachePolicy, [:], ["cache-control": "no-cache, max-age=60", "etag": "x"], .revalidate),
    (.useProtocolCachePolicy, ["cache-control": "no-cache"], fresh, .load),
    (.useProtocolCachePolicy, ["pragma": "no-cache"], fresh, .load),
    (.useProtocolCachePolicy, ["pragma": "no-cache", "cache-control": "x"], fresh, .serve),
    (.useProtocolCachePolicy, ["cache-control": "max-age=9"], fresh, .load),
    (.useProtocolCachePolicy, ["cache-control": "max-age=11"], fresh, .serve),
    (
      .useProtocolCachePolicy, ["cache-control": "max-age=0"], ["cache-control": "max-age=60", "etag": "x"], .revalidate
    ),
    (.reloadIgnoringLocalCacheData, [:], fresh, .load), (.reloadIgnoringLocalAndRemoteCacheData, [:], fresh, .load),
    (.returnCacheDataElseLoad, [:], stale, .serve), (.returnCacheDataElseLoad, [:], nil, .load),
    (.returnCacheDataDontLoad, [:], stale, .serve), (.returnCacheDataDontLoad, [:], nil, .fail),
    (.reloadRevalidatingCacheData, [:], fresh, .load), (.reloadRevalidatingCacheData, [:], tagged, .revalidate),
  ]

  @Test("What is done, ten seconds later", arguments: decisions.indices)
  func decision(_ index: Int) {
    let (policy, request, fields, expected) = Self.decisions[index]
    let rules = CacheRules(policy: policy, fields: request)
    #expect(rules.decide(fields.map { Self.entry($0) }, now: Self.then + 10) == expected)
  }

  @Test("Requests that nothing is stored or looked up for")
  func lookups() {
    #expect(!CacheRules(policy: .useProtocolCachePolicy, fields: ["cache-control": "no-store"]).looksUp)
    #expect(!CacheRules(policy: .useProtocolCachePolicy, fields: ["cache-control": "no-store"]).mayStore)
    #expect(!CacheRules(policy: .reloadIgnoringLocalCacheData, fields: [:]).looksUp)
    #expect(CacheRules(policy: .reloadIgnoringLocalCacheData, fields: [:]).mayStore)
    #expect(CacheRules(policy: .returnCacheDataElseLoad, fields: [:]).looksUp)
  }

  // MARK: 304

  @Test(
    "§4.3.4: whether a 304 is about the stored response",
    arguments: [
      ("\"1\"", "\"1\"", true), ("\"1\"", nil, true), (nil, "\"1\"", false), (nil, nil, true),
      ("\"1\"", "\"2\"", false), ("W/\"1\"", "\"1\"", false), ("\"1\"", "W/\"1\"", true), ("W/\"1\"", "W/\"2\"", false),
    ] as [(String?, String?, Bool)])
  func confirmed(_ stored: String?, _ new: String?, _ isConfirmed: Bool) {
    let entry = Self.entry(stored.map { ["etag": $0] } ?? [:])
    #expect(entry.isConfirmed(by: new.map { ["etag": $0] } ?? [:]) == isConfirmed)
  }

  @Test("§4.3.4: without a tag, the date tells")
  func confirmedByDate() {
    let entry = Self.entry(["last-modified": Self.date])
    #expect(entry.isConfirmed(by: ["last-modified": Self.date]))
    #expect(entry.isConfirmed(by: [:]))
    #expect(!entry.isConfirmed(by: ["last-modified": "Mon, 07 Nov 1994 08:49:37 GMT"]))
  }

  @Test("What a response varies by is kept as digests")
  func digests() throws {
    let entry = Self.entry(["vary": "Authorization, Cookie"], request: ["authorization": "s3cr3t"])
    let note = String(decoding: try JSONEncoder().encode(entry), as: UTF8.self)
    #expect(!note.contains("s3cr3t"))
    #expect(entry.fits(url: "http://a.test/", request: ["authorization": "s3cr3t"], isDecoded: true))
  }

  @Test("§3.2: what a 304 changes")
  func updates() {
    var entry = Self.entry([
      "cache-control": "max-age=5", "age": "100", "date": Self.date, "etag": "\"1\"", "content-length": "5", "x": "old",
      "content-type": "text/plain", "vary": "accept", "kept": "yes",
    ])
    entry.update(
      with: [
        "cache-control": "max-age=9", "content-length": "0", "content-type": "text/html", "x": "new", "vary": "cookie",
        "connection": "close", "transfer-encoding": "chunked",
      ], request: ["cookie": "c"], requested: Self.then + 50, received: Self.then + 50)
    #expect(
      entry.fields == [
        "cache-control": "max-age=9", "etag": "\"1\"", "content-length": "5", "content-type": "text/plain", "x": "new",
        "vary": "cookie", "kept": "yes",
      ])
    #expect(entry.fits(url: "http://a.test/", request: ["cookie": "c"], isDecoded: true))
    #expect(!entry.fits(url: "http://a.test/", request: ["accept": "x"], isDecoded: true))
    #expect(entry.isFresh(now: Self.then + 58))
    #expect(!entry.isFresh(now: Self.then + 59))
    #expect(entry.conditions.map(\.name) == ["If-None-Match"])
    #expect(Self.entry(["etag": "a\0b", "last-modified": "x\r\ny"]).conditions.isEmpty)
  }
}
