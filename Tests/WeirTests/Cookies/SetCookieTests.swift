import Testing
import WeirHTTP
import WeirTestSupport

@testable import Weir

/// RFC 6265 §5.2.
@Suite("Set-Cookie")
struct SetCookieTests {
  /// What a field says, as one line; nil: no cookie.
  static func reading(_ text: String) -> String? {
    guard let field = text.withOctets(SetCookie.init) else { return nil }
    var parts = ["\(field.name)=\(field.value)"]
    if let expires = field.expires { parts.append("expires \(Int(expires))") }
    if let maxAge = field.maxAge { parts.append("max-age \(maxAge)") }
    if let domain = field.domain { parts.append("domain \(domain)") }
    if let path = field.path { parts.append("path \(path)") }
    if field.isSecure { parts.append("secure") }
    if field.isHTTPOnly { parts.append("httponly") }
    return parts.joined(separator: "|")
  }

  static let table: [(String, String?)] = [
    // The pair.
    ("a=b", "a=b"), ("a=", "a="), ("  a \t=  b \t", "a=b"), ("a=b=c", "a=b=c"), ("a=\"b c\"", "a=\"b c\""),
    ("a=b, c=d", "a=b, c=d"), ("a", nil), ("", nil), ("=b", nil), (" = b", nil), (";a=b", nil), ("a;b=c", nil),
    ("a=b;", "a=b"), ("a=b;;;", "a=b"), ("a=\"b;c\"", "a=\"b"), ("a=\u{FC}", "a=\u{FC}"), ("a=b\u{1}", nil),
    ("a=b; path=/\u{7F}", nil), ("a=b\0c", nil), ("a=b\tc", "a=b\tc"),
    // Flags; unknown attributes.
    ("a=b; Secure", "a=b|secure"), ("a=b;SECURE=no;HttpOnly", "a=b|secure|httponly"), ("a=b; secured", "a=b"),
    ("a=b; SameSite=Strict; Priority=High; x", "a=b"),
    // Max-Age (§5.2.2).
    ("a=b; Max-Age=10", "a=b|max-age 10.0"), ("a=b; max-age=-1", "a=b|max-age -1.0"),
    ("a=b; max-age=0", "a=b|max-age 0.0"), ("a=b; max-age=1; max-age=2", "a=b|max-age 2.0"),
    ("a=b; max-age=1; max-age=x", "a=b|max-age 1.0"), ("a=b; max-age=", "a=b"), ("a=b; max-age", "a=b"),
    ("a=b; max-age=-", "a=b"), ("a=b; max-age=+1", "a=b"), ("a=b; max-age=1.5", "a=b"), ("a=b; max-age=\"1\"", "a=b"),
    ("a=b; max-age=99999999999999999999999", "a=b|max-age \(Double(Int64.max))"),
    // Expires (§5.2.1).
    ("a=b; expires=Sun, 06 Nov 1994 08:49:37 GMT", "a=b|expires 784111777"),
    ("a=b; Expires=never; Max-Age=5", "a=b|max-age 5.0"),
    ("a=b; expires=Sun, 06 Nov 1994 08:49:37 GMT; expires=x", "a=b|expires 784111777"),
    // Domain (§5.2.3).
    ("a=b; domain=Example.COM", "a=b|domain example.com"), ("a=b; domain=.example.com", "a=b|domain example.com"),
    ("a=b; domain=..example.com", "a=b|domain .example.com"), ("a=b; domain=", "a=b"),
    ("a=b; domain=x; domain=", "a=b|domain x"),
    ("a=b; domain=x; domain=y", "a=b|domain y"), ("a=b; domain=x; domain=.", "a=b"),
    ("a=b; domain=\(String(repeating: "x", count: 1025))", "a=b"),
    // Path (§5.2.4).
    ("a=b; path=/x", "a=b|path /x"), ("a=b; path=x", "a=b"), ("a=b; path=", "a=b"), ("a=b; path=/x; path=y", "a=b"),
    ("a=b; path=/x; path=/y", "a=b|path /y"), ("a=b; path = /x y ", "a=b|path /x y"),
  ]

  @Test(arguments: table)
  func fields(_ text: String, _ expected: String?) {
    #expect(Self.reading(text) == expected)
  }

  @Test("Name and value take 4 KiB, and no more")
  func size() {
    #expect("n=\(String(repeating: "v", count: 4095))".withOctets(SetCookie.init) != nil)
    #expect("n=\(String(repeating: "v", count: 4096))".withOctets(SetCookie.init) == nil)
  }

  @Test("What is no UTF-8 could not be sent back, and is no cookie")
  func octets() {
    #expect(([0x61, 0x3D, 0xFF] as [UInt8]).withUnsafeBytes(SetCookie.init) == nil)
    #expect(([0xC3, 0x3D, 0x62] as [UInt8]).withUnsafeBytes(SetCookie.init) == nil)
  }

  @Test("Any octets are read, without a trap and within the limits", arguments: 0..<20 as Range<UInt64>)
  func anything(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let words = [
      "a", "=", ";", " ", "expires", "max-age", "domain", "path", "/", ".", "secure", "-", "9999999999", ":", "Jan",
      "\"",
      "\u{FC}", "\0", "\u{7F}", "06 Nov 94 08:49:37",
    ]
    for _ in 0..<5000 {
      let text = (0..<Int.random(in: 0...30, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }
      guard let field = text.joined().withOctets(SetCookie.init) else { continue }
      #expect(!field.name.isEmpty && !field.name.contains("=") && !field.name.contains(";"))
      #expect(!field.value.contains(";") && field.path?.hasPrefix("/") != false)
    }
  }
}
