import Dispatch
import Foundation
import FoundationNetworking
import Testing

@testable import Weir

@Suite("Cookie storage")
struct CookieStorageTests {
  static func cookie(
    _ name: String, _ value: String = "v", domain: String = "a.test", path: String = "/", expires: Date? = nil
  ) throws -> HTTPCookie {
    var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: value, .domain: domain, .path: path]
    if let expires { properties[.expires] = expires }
    return try #require(HTTPCookie(properties: properties))
  }

  private func names(_ storage: CookieStorage, _ url: String) throws -> [String] {
    storage.cookies(for: try #require(URL(string: url))).map(\.name)
  }

  @Test func cookiesOfTheCallers() throws {
    let storage = CookieStorage()
    storage.setCookie(try Self.cookie("own"))
    storage.setCookie(try Self.cookie("wide", domain: ".A.test"))
    storage.setCookie(try Self.cookie("below", path: "/x"))
    #expect(storage.cookies.map(\.name) == ["own", "wide", "below"])
    #expect(storage.cookies.map(\.domain) == ["a.test", ".a.test", "a.test"])
    #expect(try names(storage, "http://a.test/x") == ["below", "own", "wide"])
    #expect(try names(storage, "http://y.a.test/x") == ["wide"])
    #expect(try names(storage, "http://b.test/") == [])
    #expect(try names(storage, "file:///x") == [])
    storage.setCookie(try Self.cookie("own", expires: Date(timeIntervalSince1970: 1)))
    storage.deleteCookie(try Self.cookie("below", path: "/x"))
    storage.deleteCookie(try Self.cookie("wide", domain: ".a.test", path: "/other"))
    #expect(storage.cookies.map(\.name) == ["wide"])
  }

  @Test(
    "What can't be sent is not kept",
    arguments: [
      ("", "v", "a.test", "/"), ("n", "a;b", "a.test", "/"), ("n", "a\r\nX: y", "a.test", "/"),
      ("n=m", "v", "a.test", "/"),
      ("n", "v", "", "/"), ("n", "v", "a test", "/"), ("n", "v", "a.test", "x"), ("n", "v\0", "a.test", "/"),
      ("n", String(repeating: "v", count: 4096), "a.test", "/"),
    ])
  func refused(_ name: String, _ value: String, _ domain: String, _ path: String) throws {
    let storage = CookieStorage()
    guard
      let cookie = HTTPCookie(properties: [.name: name, .value: value, .domain: domain, .path: path])
    else { return }
    storage.setCookie(cookie)
    #expect(storage.cookies.isEmpty)
  }

  @Test("What is saved as JSON and loaded is the same, in the same order")
  func json() throws {
    let storage = CookieStorage()
    let expires = Date(timeIntervalSinceNow: 1000.5)
    storage.setCookie(try Self.cookie("b", "\u{FC} \"x\"", domain: ".a.test", expires: expires))
    storage.setCookie(try Self.cookie("a", path: "/x"))
    let copy = CookieStorage()
    try copy.load(json: try storage.json())
    #expect(
      copy.all.map { [$0.name, $0.value, $0.domain, $0.path] }
        == storage.all.map { [$0.name, $0.value, $0.domain, $0.path] })
    #expect(copy.all.map(\.expires) == storage.all.map(\.expires))
    #expect(copy.all.map(\.isHostOnly) == [false, true])
    #expect(copy.cookies.map(\.name) == ["b", "a"])
    try copy.load(json: try storage.json())
    #expect(copy.cookies.count == 2)
    let lasting = CookieStorage()
    try lasting.load(json: try storage.json(includingSessionCookies: false))
    #expect(lasting.cookies.map(\.name) == ["b"])
  }

  @Test("One that has expired meanwhile removes none that is newer")
  func expiredJSON() throws {
    let storage = CookieStorage()
    storage.setCookie(try Self.cookie("a", "old", expires: Date(timeIntervalSinceNow: 1_000)))
    var document = try #require(try JSONSerialization.jsonObject(with: try storage.json()) as? [String: Any])
    var cookies = try #require(document["cookies"] as? [[String: Any]])
    cookies[0]["expires"] = Date.now.timeIntervalSince1970 - 1
    document["cookies"] = cookies
    storage.setCookie(try Self.cookie("a", "new"))
    try storage.load(json: try JSONSerialization.data(withJSONObject: document))
    #expect(storage.cookies.map(\.value) == ["new"])
  }

  @Test("A document that is none, or holds what is no cookie, adds nothing")
  func badJSON() throws {
    func document(_ change: (inout [String: Any]) -> Void, version: Int = 1) throws -> Data {
      var cookie: [String: Any] = [
        "name": "n", "value": "v", "domain": "a.test", "path": "/", "isHostOnly": true, "isSecure": false,
        "isHTTPOnly": false,
      ]
      let good = cookie
      change(&cookie)
      return try JSONSerialization.data(withJSONObject: ["version": version, "cookies": [good, cookie]])
    }
    let storage = CookieStorage()
    try storage.load(json: try document { $0["name"] = "m" })
    #expect(storage.cookies.count == 2)
    let bad = [
      Data(), Data("[]".utf8), try document({ _ in }, version: 2), try document { $0["name"] = "a\r\nb" },
      try document { $0["value"] = "a;b" }, try document { $0["path"] = "x" }, try document { $0["domain"] = "A.test" },
      try document { $0["name"] = "__Host-n" },
      try document { $0["domain"] = nil }, try document { $0["expires"] = "soon" }, try document { $0["name"] = "" },
    ]
    let other = CookieStorage()
    for document in bad {
      #expect(throws: DecodingError.self) { try other.load(json: document) }
    }
    #expect(other.cookies.isEmpty)
  }

  @Test("Many threads at once")
  func threads() throws {
    let storage = CookieStorage()
    let url = try #require(URL(string: "http://a.test/"))
    DispatchQueue.concurrentPerform(iterations: 400) { index in
      if let cookie = try? Self.cookie("\(index % 60)") { storage.setCookie(cookie) }
      _ = storage.cookies(for: url)
    }
    #expect(storage.cookies.count == 50)
  }
}
