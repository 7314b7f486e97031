import Foundation
import FoundationNetworking
import Testing

@testable import Weir

@Suite("RedirectPolicy")
struct RedirectPolicyTests {
  @Test(
    arguments: [
      ("http://a/", "https://a/", false, nil), ("https://a/", "https://b/", false, nil),
      ("https://a/", "http://a/", false, .insecure), ("HTTPS://a/", "HTTP://a/", false, .insecure),
      ("https://a/", "http://a/", true, nil), ("http://a/", "http://b/", false, nil),
      ("https://a/", "ftp://a/", true, .unsupportedURL), ("http://a/", "http:///x", false, .unsupportedURL),
      ("http://a/", "/x", false, .unsupportedURL),
    ] as [(String, String, Bool, RedirectPolicy.Refusal?)])
  func whatIsRefused(from: String, to: String, allowsInsecure: Bool, refusal: RedirectPolicy.Refusal?) {
    let answer = RedirectPolicy.refusal(
      from: URL(string: from), to: URL(string: to), count: 0, limit: 20, allowsInsecure: allowsInsecure)
    #expect(answer == refusal)
  }

  @Test("The number is looked at first, so that a loop ends whatever it leads to")
  func tooMany() {
    let refusals = (0...3).map {
      RedirectPolicy.refusal(
        from: URL(string: "http://a/"), to: URL(string: "http://a/"), count: $0, limit: 2, allowsInsecure: false)
    }
    #expect(refusals == [nil, nil, .tooMany, .tooMany])
  }

  @Test(
    "Origins are scheme, host and port, by their defaults",
    arguments: [
      ("http://a/", "http://A:80/x", true), ("https://a/", "https://a:443/", true), ("http://a/", "https://a/", false),
      ("http://a/", "http://a:81/", false), ("http://a/", "http://b/", false), ("http://u:p@a/", "http://a/", true),
      ("http://[::1]/", "http://[::1]:80/", true), ("http://a/", "file:///x", false),
      ("http://127.1/", "http://127.0.0.1/", true), ("http://[0::1]/", "http://[::1]/", true),
      ("http://a.b./", "http://a.b/", true),
    ])
  func origins(_ left: String, _ right: String, _ isSame: Bool) throws {
    let (left, right) = (try #require(URL(string: left)), try #require(URL(string: right)))
    #expect(RedirectPolicy.isSameOrigin(left, right) == isSame)
    #expect(RedirectPolicy.isSameOrigin(right, left) == isSame)
  }

  @Test("An address in brackets stays one; a fragment that is not UTF-8 is a fragment too")
  func hostsAndFragments() throws {
    let request = try URLRequest(url: "http://h/#own", method: .get)
    let targets = ["http://[::1]:8080/a[%20]", "/x#%E9"].map {
      RedirectPolicy.proposal(status: 302, location: $0, for: request)?.url?.absoluteString
    }
    #expect(targets == ["http://[::1]:8080/a%5B%20%5D#own", "http://h/x#%E9"])
  }

  @Test(
    "What is escaped stays as it is, what has to be is escaped once",
    arguments: [
      ("/a%20b", "/a%20b"), ("/a b", "/a%20b"), ("/a b%20c", "/a%20b%20c"), ("/a\"<b>%41", "/a%22%3Cb%3E%41"),
      ("/ü%C3%BC", "/%C3%BC%C3%BC"), ("/?q=a%26b&c=d e", "/?q=a%26b&c=d%20e"), ("/a\tb%20", "/a%09b%20"),
      ("/x?f[a]=b%20c", "/x?f%5Ba%5D=b%20c"), ("/x?a=100%&b=%20", "/x?a=100%25&b=%20"),
      ("?sig=a%2Bb%3D%3D&p[0]=1", "/?sig=a%2Bb%3D%3D&p%5B0%5D=1"), ("x[%20]#%20[", "/x%5B%20%5D#%20%5B"),
      ("//h/%|", "/%25%7C"), ("http://h/%20{", "/%20%7B"),
    ])
  func escapes(_ location: String, _ target: String) throws {
    let request = try URLRequest(url: "http://h/", method: .get)
    let next = RedirectPolicy.proposal(status: 302, location: location, for: request)
    #expect(next?.url?.absoluteString == "http://h" + target)
  }
}
