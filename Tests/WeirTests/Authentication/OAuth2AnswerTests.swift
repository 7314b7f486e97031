import Foundation
import Testing

@testable import Weir

@Suite("OAuth2 answers") struct OAuth2AnswerTests {
  private static func answer(
    _ body: String, status: Int = 200, retryAfter: [String] = [], secret: String = "client-secret"
  ) throws(OAuth2Error) -> OAuth2Answer {
    var redaction = SecretRedaction()
    redaction.add(Array(secret.utf8))
    return try OAuth2Answer(
      status: status, retryAfter: retryAfter, body: Data(body.utf8), redaction: redaction, now: 1_000_000_000)
  }

  private static func failure(_ body: String, status: Int = 200, retryAfter: [String] = []) -> OAuth2Error? {
    #expect(throws: OAuth2Error.self) { try answer(body, status: status, retryAfter: retryAfter) }
  }

  @Test(
    "Good ones",
    arguments: [
      (#"{"access_token":"t","token_type":"Bearer","expires_in":3600}"#, 3600),
      (#"{"access_token":"t","token_type":"bEaReR","expires_in":60.5}"#, 60.5),
      (#"{"access_token":"t","expires_in":"60"}"#, 60), (#"{"access_token":"t"}"#, nil),
      (#"{"access_token":"t","expires_in":1}"#, 1), (#"{"access_token":"t","expires_in":1e2}"#, 100),
      (#"{"access_token":"t","expires_in":"1e2"}"#, 100),
      (#"{"access_token":"t","expires_in":315360000}"#, 315_360_000),
      (#" {"access_token":"t","error":null,"scope":["x"],"refresh_token":7,"expires_in":60} "#, 60),
    ] as [(String, Double?)])
  func good(body: String, lifetime: Double?) throws {
    let answer = try Self.answer(body)
    #expect(answer.accessToken == "t")
    #expect(answer.lifetime == lifetime)
  }

  @Test("A token is visible ASCII, of at most 16 KiB")
  func token() throws {
    let visible = String(decoding: 0x21...0x7E as ClosedRange<UInt8>, as: UTF8.self)
      .replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    #expect(try Self.answer(#"{"access_token":"\#(visible)"}"#).accessToken.utf8.count == 94)
    let most = String(repeating: "t", count: 16_384)
    #expect(try Self.answer(#"{"access_token":"\#(most)"}"#).accessToken == most)
    #expect(
      Self.failure(#"{"access_token":"\#(most)t"}"#)?.text
        == "The token service gave an access_token of more than 16 KiB.")
    for bad in ["a b", #"a\r\nX-Injected: 1"#, #"a\u0000"#, "ü", #"a\u007f"#, #"a\t"#] {
      #expect(
        Self.failure(#"{"access_token":"\#(bad)"}"#)?.text
          == "The token service gave an access_token with characters that are not visible ASCII.", "\(bad)")
    }
  }

  @Test(
    "Anything else is a failure with a sentence that says which",
    arguments: [
      ("", "answered with something else than a JSON object"),
      ("<html>Sign in</html>", "answered with something else than a JSON object"),
      (#"["access_token"]"#, "answered with something else than a JSON object"),
      (#""t""#, "answered with something else than a JSON object"),
      ("{", "answered with something else than a JSON object"),
      ("access_token=t&token_type=bearer", "answered with something else than a JSON object"),
      ("{}", "gave no access_token"), (#"{"id_token":"t"}"#, "gave no access_token"),
      (#"{"access_token":null}"#, "gave an access_token that is no text, or empty"),
      (#"{"access_token":7}"#, "gave an access_token that is no text, or empty"),
      (#"{"access_token":""}"#, "gave an access_token that is no text, or empty"),
      (#"{"access_token":"t","token_type":"mac"}"#, "gave a token of type mac, not Bearer"),
      (#"{"access_token":"t","token_type":"N_A"}"#, "gave a token of type N_A, not Bearer"),
      (#"{"access_token":"t","token_type":""}"#, "gave a token of type , not Bearer"),
      (#"{"access_token":"t","token_type":null}"#, "gave a token of type (no text), not Bearer"),
      (#"{"access_token":"t","token_type":"client-secret\n"}"#, "gave a token of type <redacted>?, not Bearer"),
      (
        #"{"access_token":"t","expires_in":0}"#,
        "gave a token for 0.0 s (expires_in), which is not between 1 s and 10 years"
      ),
      (
        #"{"access_token":"t","expires_in":-1}"#,
        "gave a token for -1.0 s (expires_in), which is not between 1 s and 10 years"
      ),
      (
        #"{"access_token":"t","expires_in":0.99}"#,
        "gave a token for 0.99 s (expires_in), which is not between 1 s and 10 years"
      ),
      (
        #"{"access_token":"t","expires_in":"1e400"}"#,
        "gave a token for inf s (expires_in), which is not between 1 s and 10 years"
      ),
      (
        #"{"access_token":"t","expires_in":315360001}"#,
        "gave a token for 315360001.0 s (expires_in), which is not between 1 s and 10 years"
      ),
      (#"{"access_token":"t","expires_in":"soon"}"#, "gave an expires_in that is no number"),
      (#"{"access_token":"t","expires_in":"0x3C"}"#, "gave an expires_in that is no number"),
      (#"{"access_token":"t","expires_in":"nan"}"#, "gave an expires_in that is no number"),
      (#"{"access_token":"t","expires_in":" 60"}"#, "gave an expires_in that is no number"),
      (#"{"access_token":"t","expires_in":""}"#, "gave an expires_in that is no number"),
      (#"{"access_token":"t","expires_in":null}"#, "gave an expires_in that is no number"),
      (#"{"access_token":"t","expires_in":true}"#, "gave an expires_in that is no number"),
      (#"{"access_token":"t","expires_in":[60]}"#, "gave an expires_in that is no number"),
    ])
  func bad(body: String, text: String) {
    let failure = Self.failure(body)
    #expect(failure?.text == "The token service \(text).")
    #expect(failure?.reason == .response)
    #expect(failure?.retryAfter == nil)
  }

  /// Whether the number can be read at all is the decoder's affair.
  @Test("A number beyond all bounds is a failure")
  func hugeNumber() {
    #expect(Self.failure(#"{"access_token":"t","expires_in":1e400}"#)?.reason == .response)
    #expect(Self.failure(String(repeating: "[", count: 60_000))?.reason == .response)
  }

  @Test(
    "A status other than 200 is a failure, and the words of RFC 6749 are its reason",
    arguments: [
      "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
      "invalid_scope",
    ])
  func refusals(word: String) {
    for status in [400, 401, 200, 500] {
      let failure = Self.failure(#"{"error":"\#(word)","error_description":"It is so."}"#, status: status)
      #expect(failure?.reason.rawValue == word)
      #expect(failure?.text == "The token service answered \(status): \(word): It is so.")
    }
  }

  @Test("Other words, and no words at all")
  func otherRefusals() {
    let cases = [
      (503, "<html>", "answered 503"), (201, #"{"access_token":"t"}"#, "answered 201"), (204, "", "answered 204"),
      (302, "", "answered 302, a redirect, which is not followed"), (429, "{}", "answered 429"),
      (400, #"{"error":"timeout"}"#, "answered 400: timeout"), (400, #"{"error":{"code":1}}"#, "answered 400"),
      (400, #"{"error_description":"so"}"#, "answered 400: so"),
      (400, #"{"error":"slow_down\u001b[2J"}"#, "answered 400: slow_down?[2J"),
    ]
    for (status, body, text) in cases {
      let failure = Self.failure(body, status: status)
      #expect(failure?.reason == .response)
      #expect(failure?.text == "The token service \(text).")
    }
  }

  @Test("A description is 200 printable octets, without what was sent")
  func descriptions() {
    let said = "client-secret was wrong, client%2Dsecret too\n" + String(repeating: "x", count: 500)
    let body = try? JSONEncoder().encode(["error": "invalid_client", "error_description": said])
    let text = Self.failure(String(decoding: body ?? Data(), as: UTF8.self), status: 401)?.text ?? ""
    let shown = text.replacing("The token service answered 401: invalid_client: ", with: "").dropLast()
    #expect(shown.utf8.count == 200)
    #expect(shown.hasPrefix("<redacted> was wrong, <redacted> too?xxx"))
  }

  @Test(
    "Retry-After is told, in seconds or as a date",
    arguments: [
      (["30"], 30), (["0"], 0), (["1.5"], 1.5), (["7", "9"], 9), (["soon"], nil), ([], nil),
      (["Sun, 09 Sep 2001 01:47:10 GMT"], 30),
    ] as [([String], Double?)])
  func retryAfter(values: [String], seconds: Double?) {
    #expect(Self.failure("", status: 503, retryAfter: values)?.retryAfter == seconds)
  }
}
