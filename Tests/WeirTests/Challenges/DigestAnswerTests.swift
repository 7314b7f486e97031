import Testing
import WeirHTTP

@testable import Weir

@Suite struct DigestAnswerTests {
  private static func challenge(_ parameters: String, hasBody: Bool = false) -> HTTPChallenge? {
    let lines = "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest \(parameters)\r\n\r\n"
    return HTTPChallenge(ResponseHead(status: 401, bytes: Array(lines.utf8)), hasBody: hasBody)
  }

  /// The nonce and realm of RFC 7616 section 3.9.1.
  private static let parameters =
    "realm=\"http-auth@example.org\", nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\""

  private static func field(_ more: String) -> String? {
    challenge(parameters + more).flatMap { DigestAnswer($0, hasBody: false) }?.field(
      user: "Mufasa", password: "Circle of Life", method: "GET", target: "/dir/index.html",
      ownNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
  }

  @Test(
    "RFC 7616's own answers, and those that Python's hashlib gives for the other algorithms and qualities",
    arguments: [
      (", qop=auth", "8ca523f5e9506fed4657c9700eebdbec"),
      (", qop=\"auth, auth-int\", algorithm=MD5", "8ca523f5e9506fed4657c9700eebdbec"),
      (", qop=auth, algorithm=sha-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
      (", qop=auth, algorithm=MD5-sess", "e783283f46242139c486a698fec7211d"),
      (", qop=auth, algorithm=SHA-256-sess", "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7"),
      (", qop=auth-int", "8804a53d3640a40a4f73cea12c5ba451"),
      (", qop=AUTH-INT, algorithm=SHA-256", "8bdf6f15638e260831e905028de5450562816d093c9bfc5c13d3a46adcdde940"),
      ("", "7b2cc3b30e75b4777ea31027084363fd"), (", algorithm=MD5-sess", "37a7f42db2090a3fcac4e26e747d4fc8"),
    ])
  func responses(_ more: String, _ response: String) throws {
    #expect(try #require(Self.field(more)).contains(", response=\"\(response)\""))
  }

  @Test("All of a field")
  func field() {
    #expect(
      Self.field(", qop=auth, opaque=\"o\\\\\\\"p\", algorithm=MD5")
        == "Digest username=\"Mufasa\", \(Self.parameters), uri=\"/dir/index.html\", "
        + "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", nc=00000001, qop=auth, "
        + "response=\"8ca523f5e9506fed4657c9700eebdbec\", opaque=\"o\\\\\\\"p\", algorithm=MD5")
  }

  @Test("Nonces of the client's own differ")
  func ownNonces() {
    let challenge = Self.challenge(Self.parameters + ", qop=auth")
    let answers = (0..<2).map { _ in
      challenge?.answer(user: "u\"", password: "p", method: "GET", target: "/", hasBody: false)
    }
    #expect(answers[0] != answers[1])
    #expect(answers[0]?.hasPrefix("Digest username=\"u\\\"\", ") == true)
  }

  @Test(
    "Answers that would be wrong are not given",
    arguments: [
      (", algorithm=SHA-512-256", false), (", algorithm=SHA-512-256-sess", false), (", qop=token", false),
      (", qop=\"\"", false),
      (", algorithm=\"\"", false), (", qop=auth-int", true),
    ])
  func unanswerable(_ more: String, hasBody: Bool) {
    #expect(Self.challenge(Self.parameters + more, hasBody: hasBody) == nil)
  }

  @Test("A realm that is not UTF-8 can't be repeated as it came")
  func octets() {
    let octets = Array("Digest realm=\"Gesch".utf8) + [0xfc] + Array("tzt\", nonce=\"n\"\r\n\r\n".utf8)
    let head = ResponseHead(status: 401, bytes: Array("HTTP/1.1 401 No\r\nWWW-Authenticate: ".utf8) + octets)
    #expect(HTTPChallenge(head, hasBody: false) == nil)
  }

  @Test(
    "RFC 1321's digests",
    arguments: [
      ("", "d41d8cd98f00b204e9800998ecf8427e"), ("abc", "900150983cd24fb0d6963f7d28e17f72"),
      (
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
        "57edf4a22be3c955ac49da2e2107b67a"
      ),
    ])
  func md5(text: String, digest: String) {
    #expect(MD5.digest(of: Array(text.utf8)).hexadecimal == digest)
  }
}
