import Testing
import WeirHTTP

@testable import Weir

/// What 401s and 407s ask for.
@Suite("§22 Challenges") struct HTTPChallengeTests {
  @Test(
    "The strongest scheme that can be answered, and its realm",
    arguments: [
      (["Basic realm=\"staff\""], HTTPChallenge.Scheme.basic as HTTPChallenge.Scheme?, "staff" as String?),
      (["Basic"], .basic, nil), (["basic"], .basic, nil), (["Basic charset=\"UTF-8\""], .basic, nil),
      (["BASIC  realm = \"a b\" , charset=\"UTF-8\""], .basic, "a b"), (["Basic realm=token"], .basic, "token"),
      (["Basic realm=\"quo\\\"ted, Digest realm=\\\"x\\\"\""], .basic, "quo\"ted, Digest realm=\"x\""),
      (["Basic realm=\"\""], .basic, ""),
      (["Digest realm=\"d\", nonce=\"n, m\", qop=\"auth,auth-int\", algorithm=SHA-256"], .digest, "d"),
      (["Digest nonce=\"n\", realm=\"late\""], .digest, "late"),
      (["Basic realm=\"b\", Digest realm=\"d\", nonce=\"n\""], .digest, "d"),
      (["Digest realm=\"d\", nonce=\"n\", Basic realm=\"b\""], .digest, "d"),
      (["Basic realm=\"b\"", "Digest nonce=\"n\", realm=\"d\""], .digest, "d"),
      (["Digest realm=\"d\", nonce=\"n\", algorithm=SHA-512-256, Basic realm=\"b\""], .basic, "b"),
      (["Digest realm=\"d\", nonce=\"n\", algorithm=SHA-512-256, Digest realm=\"e\", nonce=\"n\""], .digest, "e"),
      (
        ["Digest realm=\"d\", nonce=\"n\", algorithm=SHA-512-256", "digest realm=\"e\",nonce=n,algorithm=md5"], .digest,
        "e"
      ),
      (["Digest realm = \"d\" , nonce\t=\t\"n\" , qop = \"auth-int , auth\" , algorithm = \"SHA-256\""], .digest, "d"),
      (["Digest realm=\"d\", nonce=\"n\", qop=\"auth-int\"", "Basic"], .digest, "d"),
      (["Digest realm=\"d\", nonce=\"n\", algorithm=SHA-512-256"], nil, nil), (["Digest realm=\"d\""], nil, nil),
      (["Digest realm=\"d\", nonce=\"n\", qop=\"token\""], nil, nil),
      (["Bearer realm=\"t\", error=\"invalid_token\", Basic realm=\"b\""], .basic, "b"),
      (["Negotiate, Basic realm=\"b\""], .basic, "b"), (["NTLM TlRMTVNTUAAC==, Basic realm=\"b\""], .basic, "b"),
      ([], nil, nil), ([""], nil, nil), (["Bearer realm=\"t\""], nil, nil), (["Basicx realm=\"x\""], nil, nil),
      (["realm=\"no scheme\""], nil, nil), (["Newauth realm=\"n\", title=\"Basic realm=x\""], nil, nil),
      (["Basic realm=\"never ends"], .basic, "\"never ends"), ([",,,"], nil, nil), (["Basic =,=\"=="], nil, nil),
    ] as [([String], HTTPChallenge.Scheme?, String?)])
  func challenges(values: [String], scheme: HTTPChallenge.Scheme?, realm: String?) {
    for (status, field) in [(401, "WWW-Authenticate"), (407, "proxy-authenticate")] {
      let lines = ["HTTP/1.1 \(status) No"] + values.map { "\(field): \($0)" } + ["", ""]
      let challenge = HTTPChallenge(
        ResponseHead(status: status, bytes: Array(lines.joined(separator: "\r\n").utf8)), hasBody: false)
      #expect(challenge?.scheme == scheme)
      #expect(challenge?.realm == realm)
      // The other field is no business of this status.
      let other = ResponseHead(status: status == 401 ? 407 : 401, bytes: Array(lines.joined(separator: "\r\n").utf8))
      #expect(HTTPChallenge(other, hasBody: false) == nil)
    }
  }

  @Test("A digest of a body is made for none: the next challenge counts")
  func bodies() {
    let lines =
      "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"d\", nonce=\"n\", qop=auth-int, Basic realm=\"b\"\r\n\r\n"
    let head = ResponseHead(status: 401, bytes: Array(lines.utf8))
    #expect(HTTPChallenge(head, hasBody: true)?.scheme == .basic)
    #expect(HTTPChallenge(head, hasBody: false)?.scheme == .digest)
  }
}
