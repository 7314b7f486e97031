import Testing
import WeirHTTP

@Suite struct URLSyntaxTests {
  @Test(
    "What is escaped stays as it is, what has to be is escaped once, the host is left alone",
    arguments: [
      ("/x?f[a]=b%20c", "/x?f%5Ba%5D=b%20c"), ("/x?a=100%&b=%20", "/x?a=100%25&b=%20"),
      ("/x?sig=a%2Bb%3D%3D&p[0]=1", "/x?sig=a%2Bb%3D%3D&p%5B0%5D=1"), ("%zz%4%%41", "%25zz%254%25%41"), ("%4", "%254"),
      ("/a b/%20", "/a%20b/%20"), ("/\u{fc}%C3%BC", "/%C3%BC%C3%BC"),
      ("/a\"<b>|{c}^`\\", "/a%22%3Cb%3E%7C%7Bc%7D%5E%60%5C"),
      ("/a\r\nb\0\u{7f}\t", "/a%0D%0Ab%00%7F%09"), ("a#b#c%23[", "a#b%23c%23%5B"), ("#", "#"), ("", ""), ("?", "?"),
      ("http://[::1]:80/a[1]", "http://[::1]:80/a%5B1%5D"), ("//[::1]?[", "//[::1]?%5B"),
      ("http://[::1]", "http://[::1]"),
      ("http://[fe80::1%25lo]/%", "http://[fe80::1%25lo]/%25"),
      ("http://\u{e9}.example/\u{e9}", "http://\u{e9}.example/%C3%A9"),
      ("http://u%20x[:p|q@h/[", "http://u%20x%5B:p%7Cq@h/%5B"), ("http://a@b:c@[::1]/@", "http://a%40b:c@[::1]/@"),
      ("http:/x[", "http:/x%5B"), ("x[//y]", "x%5B//y%5D"), ("/x//[y]", "/x//%5By%5D"),
      ("h2+a.b-c://[::1]/[", "h2+a.b-c://[::1]/%5B"),
      ("http://h?a%20b[", "http://h?a%20b%5B"), ("http://h#a%20b[", "http://h#a%20b%5B"), ("http://", "http://"),
    ])
  func texts(_ url: String, _ expected: String) {
    #expect(URLSyntax.wellFormed(url) == expected)
    #expect(URLSyntax.wellFormed(expected) == expected)
  }

  /// Unreserved octets, sub-delims, `:`, `@`, and the delimiters that are allowed further on (RFC 3986 §3.3 to §3.5).
  private static let allowed = Set(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?".utf8)

  @Test("Each octet, in a path, a query and a fragment", arguments: ["/a", "http://h/a?b=", "a?b#c"])
  func octets(before: String) {
    for octet in UInt8.min ... .max {
      let escape = "%" + (octet < 16 ? "0" : "") + String(octet, radix: 16, uppercase: true)
      let startsFragment = octet == UInt8(ascii: "#") && !before.contains("#")
      let stays = Self.allowed.contains(octet) || startsFragment
      let octets = Array(before.utf8) + [octet] + Array("%2f".utf8)
      let text = octets.withUnsafeBytes { URLSyntax.wellFormed($0) }
      #expect(text == before + (stays ? String(UnicodeScalar(octet)) : escape) + "%2f")
      #expect(URLSyntax.wellFormed(text) == text)
    }
  }

  @Test("Whatever it is given, a second time changes nothing, and no control gets through behind the host")
  func anything() {
    var random = SystemRandomNumberGenerator()
    let pieces = [
      "http://", "//", "/", "?", "#", "%", "%2", "%2f", "[", "]", "@", ":", "h", "\r\n", " ", "|", "\u{e9}", "1", "\\",
    ]
    for _ in 0..<20_000 {
      let url = (0..<Int.random(in: 0...9, using: &random)).compactMap { _ in pieces.randomElement(using: &random) }
        .joined()
      let once = URLSyntax.wellFormed(url)
      #expect(URLSyntax.wellFormed(once) == once, "\(url.debugDescription)")
      let path = URLSyntax.wellFormed("/a" + url)
      #expect(path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }, "\(url.debugDescription)")
    }
  }
}
