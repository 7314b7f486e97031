import Testing

@testable import WeirGateway

@Suite struct RequestPathTests {
  @Test(arguments: [
    "/", "/a/b", "/a//b", "/.well-known/x", "/a/..b", "/a/b..", "/...", "/a%2Fb", "/%E2%82%AC", "//", "/a;b=c", "/%25",
    "/%2f", "/a%5Cb", "/x.%2f",
  ])
  func keeps(path: String) {
    #expect(normalized(path) == path)
  }

  @Test(arguments: [
    ("/a/../b", "/b"), ("/a/./b", "/a/b"), ("/..", "/"), ("/../../etc", "/etc"), ("/a/..", "/"), ("/a/.", "/a/"),
    ("/a/b/..", "/a/"), ("/a/b/../", "/a/"), ("/%2e%2E/x", "/x"), ("/a/%2e./b", "/b"), ("/%61dmin", "/admin"),
    ("/a//../b", "/a/b"), ("/%7Eme", "/~me"), ("/a/b/c/./../../g", "/a/g"), ("/%2e", "/"),
  ])
  func resolves(path: String, expected: String) {
    #expect(normalized(path) == expected)
  }

  @Test(arguments: [
    ("/%", "has a % without two hexadecimal digits"), ("/%a", "has a % without two hexadecimal digits"),
    ("/%zz", "has a % without two hexadecimal digits"), ("/a\\b", "must have no backslash"),
    ("/a#b", "must have no fragment"), ("/a b", "must have no spaces and control characters"),
    ("/a\u{0}", "must have no spaces and control characters"),
    ("/a\u{7f}", "must have no spaces and control characters"),
    ("/..%2f", "has a dot segment behind an encoded slash"),
    ("/%2e%2e%2Fx", "has a dot segment behind an encoded slash"),
    ("/a%2F..", "has a dot segment behind an encoded slash"),
    ("/a%2f.%2fb", "has a dot segment behind an encoded slash"),
    ("/..%5cx", "has a dot segment behind an encoded slash"),
  ])
  func refuses(path: String, reason: String) {
    let bytes = Array(path.utf8)
    let result = RequestPath.normalized(bytes.span)
    #expect(result == .refused(reason))
  }

  /// What is in normal form stays; no result holds a dot segment.
  @Test func isIdempotent() {
    let pieces = ["/", ".", "..", "%2e", "%2F", "a", "%61", "//", "/../", "/./", "%zz", "\\", "é"]
    var random = Xorshift(state: 7)
    for _ in 0..<20_000 {
      let path = "/" + (0..<(random.next() % 8)).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
      guard let first = normalized(path) else { continue }
      #expect(normalized(first) == first)
      #expect(first.hasPrefix("/"))
      #expect(first.split(separator: "/").allSatisfy { $0 != "." && $0 != ".." }, "\(path)")
    }
  }

  private func normalized(_ path: String) -> String? {
    let bytes = Array(path.utf8)
    return switch RequestPath.normalized(bytes.span) {
    case .unchanged: path
    case .changed(let bytes): String(decoding: bytes, as: UTF8.self)
    case .refused: nil
    }
  }
}
