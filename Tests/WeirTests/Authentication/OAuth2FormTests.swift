import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

@Suite("OAuth2 form") struct OAuth2FormTests {
  private func settings(_ change: (inout OAuth2Settings) -> Void = { _ in }) throws -> OAuth2Settings {
    var settings = OAuth2Settings(tokenURL: try "https://id.example/token".asURL(), clientID: "shop")
    change(&settings)
    return settings
  }

  private func text(_ settings: OAuth2Settings) -> String {
    String(decoding: OAuth2Form(settings).body, as: UTF8.self)
  }

  @Test("Each grant has its fields")
  func grants() throws {
    #expect(text(try settings()) == "grant_type=client_credentials&client_id=shop")
    let jwt = try settings { $0.grant = .jwtBearer(assertion: "a.b-c_d") }
    #expect(
      text(jwt) == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b-c_d&client_id=shop")
    let exchange = try settings { $0.grant = .tokenExchange(subjectToken: "s") }
    #expect(
      text(exchange) == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=s"
        + "&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt&client_id=shop")
    let other = try settings { $0.grant = .tokenExchange(subjectToken: "s", subjectTokenType: "urn:x") }
    #expect(text(other).contains("subject_token_type=urn%3Ax&"))
  }

  @Test("Each authentication of the client has its own")
  func authentications() throws {
    let none = OAuth2Form(try settings())
    #expect(none.authorization == nil)
    let post = OAuth2Form(try settings { $0.authentication = .post("s&=+ ü") })
    #expect(post.authorization == nil)
    #expect(
      String(decoding: post.body, as: UTF8.self)
        == "grant_type=client_credentials&client_id=shop&client_secret=s%26%3D%2B%20%C3%BC")
    let assertion = try settings { $0.authentication = .assertion("a.b.c") }
    #expect(
      text(assertion) == "grant_type=client_credentials&client_id=shop"
        + "&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
        + "&client_assertion=a.b.c")
    let basic = OAuth2Form(
      try settings {
        $0.clientID = "a:b c"
        $0.authentication = .basic("p%ä:")
      })
    #expect(String(decoding: basic.body, as: UTF8.self) == "grant_type=client_credentials")
    let pair = "a%3Ab%20c:p%25%C3%A4%3A"
    #expect(basic.authorization == "Basic \(Data(pair.utf8).base64EncodedString())", "both are encoded first")
    #expect(text(try settings { $0.clientID = nil }) == "grant_type=client_credentials")
  }

  @Test("Scopes, audience, resource and further fields; those that weir sends stay as they are")
  func fields() throws {
    let settings = try settings {
      $0.scopes = ["payments.read", "payments.write"]
      $0.audience = "https://api.example"
      $0.resource = "https://r.example/a b"
      $0.parameters = ["z": "1", "requested_token_type": "t", "scope": "all", "client_id": "other", "a b": "c\nd"]
    }
    #expect(
      text(settings) == "grant_type=client_credentials&scope=payments.read%20payments.write"
        + "&audience=https%3A%2F%2Fapi.example&resource=https%3A%2F%2Fr.example%2Fa%20b&client_id=shop"
        + "&a%20b=c%0Ad&requested_token_type=t&z=1")
  }

  @Test("What a service repeats of what was sent is taken out of its texts")
  func redaction() throws {
    let settings = try settings {
      $0.clientID = "shop"
      $0.authentication = .basic("client-secret")
      $0.grant = .jwtBearer(assertion: "the-assertion")
      $0.parameters = ["key": "parameter-secret"]
    }
    let redaction = OAuth2Form(settings).redaction
    let pair = Data("shop:client-secret".utf8).base64EncodedString()
    let said = "client-secret the-assertion parameter-secret \(pair) shop"
    #expect(redaction.text(said).replacing("=", with: "") == "<redacted> <redacted> <redacted> <redacted> shop")
    let exchange = OAuth2Settings(
      tokenURL: settings.tokenURL, authentication: .assertion("the-assertion"),
      grant: .tokenExchange(subjectToken: "subject-token"))
    #expect(OAuth2Form(exchange).redaction.text("the-assertion subject-token") == "<redacted> <redacted>")
    let post = OAuth2Settings(tokenURL: settings.tokenURL, authentication: .post("post-secret"))
    #expect(OAuth2Form(post).redaction.text("post-secret") == "<redacted>")
  }

  @Test("Files are read anew for each form")
  func files() throws {
    let directory = try TemporaryDirectory()
    let file = try SecretFile(directory.file("key", "one\n"))
    let settings = try settings { $0.authentication = .post(Secret(file, prefix: "v:")) }
    #expect(text(settings).hasSuffix("&client_secret=v%3Aone"))
  }

  @Test("Settings print no secret")
  func printed() throws {
    let settings = try settings {
      $0.authentication = .basic("hidden-1")
      $0.grant = .jwtBearer(assertion: "hidden-2")
      $0.parameters = ["key": "hidden-3"]
    }
    let token = OAuth2Token("hidden-4", lifetime: 60, sent: .now, refreshBefore: nil, random: 0.5)
    let error = OAuth2Error(reason: .error, text: "It was so.", retryAfter: nil)
    for value in [settings, OAuth2Authenticator(settings), token, error] as [Any] {
      var dumped = ""
      dump(value, to: &dumped)
      let texts = ["\(value)", String(reflecting: value), dumped, "\(Mirror(reflecting: value).children.map(\.value))"]
      for text in texts { #expect(!text.contains("hidden"), "\(text)") }
    }
    #expect("\(token)" == "(access token)" && error.localizedDescription == "It was so.")
  }

  @Test(
    "Where tokens may be asked for",
    arguments: [
      ("https://id.example/token", nil), ("HTTPS://id.example", nil), ("http://127.0.0.1:8080/token", nil),
      ("http://127.9.9.9/", nil), ("http://[::1]/", nil), ("http://localhost/", nil),
      ("http://id.example/", "is neither https nor http on a loopback address"),
      ("http://10.0.0.1/", "is neither https nor http on a loopback address"),
      ("http://127.0.0.1.example/", "is neither https nor http on a loopback address"),
      ("ftp://127.0.0.1/", "is neither https nor http on a loopback address"),
      ("https://user@id.example/", "has a user name, which is not sent"),
      ("https://id.example/#x", "has a fragment, which is not sent"), ("/token", "has no host"),
    ] as [(String, String?)])
  func urls(url: String, problem: String?) throws {
    #expect(OAuth2Settings(tokenURL: try #require(URL(string: url))).tokenURLProblem == problem)
  }
}

@Suite("OAuth2 token") struct OAuth2TokenTests {
  @Test(
    "It is refreshed before its end: a tenth of its lifetime, 5 s at least, a third at most, 5 minutes at most",
    arguments: [
      (1, nil, 0.5, 1.0 / 3), (3, nil, 0.5, 1), (15, nil, 0.5, 5), (20, nil, 0.5, 5), (60, nil, 0.5, 6),
      (3000, nil, 0.5, 300), (86_400, nil, 0.5, 300), (3000, nil, 0, 270), (3000, nil, 1, 330), (100, 30, 0.5, 30),
      (100, 30, 1, 33), (100, 30, 0, 27), (100, 0, 0.5, 0), (100, 90, 0.5, 50), (2, 3600, 0.5, 1),
    ] as [(Double, Double?, Double, Double)])
  func ageing(lifetime: Double, refreshBefore: Double?, random: Double, before: Double) {
    let sent = MonotonicTime(nanoseconds: 5_000_000_000)
    let token = OAuth2Token("t", lifetime: lifetime, sent: sent, refreshBefore: refreshBefore, random: random)
    #expect(abs(token.expires.seconds(since: sent) - lifetime) < 1e-6)
    #expect(abs(token.expires.seconds(since: token.refreshFrom) - before) < 1e-6)
  }

  @Test("None is of no use, one that is new is good, one from long ago is not")
  func states() {
    #expect(OAuth2Token.absent.requiresRefresh && OAuth2Token.absent.isAgeing)
    let new = OAuth2Token("t", lifetime: 60, sent: .now, refreshBefore: nil, random: 0.5)
    #expect(!new.requiresRefresh && !new.isAgeing)
    let old = OAuth2Token("t", lifetime: 60, sent: .now.advanced(bySeconds: 0), refreshBefore: nil, random: 0.5)
    #expect(old.accessToken == "t")
    let start = MonotonicTime(nanoseconds: 0)
    #expect(OAuth2Token("t", lifetime: 1e-9, sent: start, refreshBefore: nil, random: 0.5).requiresRefresh)
  }
}
