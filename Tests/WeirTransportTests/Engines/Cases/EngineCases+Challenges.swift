import WeirCurl
import WeirTestSupport

extension EngineCase {
  /// Responses of status 401 to requests with a credential.
  static let challenges: [EngineCase] = [
    challenged("Basic", basic),
    challenged("Digest", digest),
    challenged("Digest of SHA-256", "Digest realm=\"r\", nonce=\"n\", algorithm=SHA-256, qop=\"auth\""),
    challenged("Digest with qop and opaque", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", opaque=\"o\""),
    challenged("Digest after Basic", basic + "|WWW-Authenticate: " + digest),
    challenged("Basic and Digest in one field", basic + ", " + digest),
    challenged("NTLM", "NTLM"),
    challenged("Negotiate", "Negotiate"),
    challenged("Negotiate, NTLM and Basic", "Negotiate|WWW-Authenticate: NTLM|WWW-Authenticate: " + basic),
    challenged("an unknown scheme", "Bearer realm=\"r\""),
    challenged("Basic to a request with a body", basic, method: "PUT", .bytes(11)),
    challenged("Digest to a request with a body", digest, method: "PUT", .bytes(11)),
    challenged("Basic to a pulled body", basic, method: "PUT", .pulled(11, isAnnounced: true)),
    challenged("Basic to a chunked body", basic, method: "PUT", .pulled(11, isAnnounced: false)),
    challenged("Basic to a body that can't be rewound", basic, method: "PUT", .pulled(11, isAnnounced: true)) {
      $0.canRewind = false
    },
    challenged("Basic to a request that must not be repeated", basic, method: "POST", .bytes(11)) {
      $0.canRepeatBody = false
    },
    challenged("Basic to a POST", basic, method: "POST", .bytes(11)),
    challenged("Basic to a request with an Authorization field", basic) { $0.fields = ["Authorization: Bearer token"] },
    challenged("Basic without a credential", basic) { $0.credential = nil },
    challenged("Basic with a close", basic + "|Connection: close"),
    EngineCase(
      "401 Basic twice", credential(EngineExchange()), peer: [.head, refusal(basic), .head, refusal(basic)]),
    EngineCase(
      "401 Basic, and a further request", credential(EngineExchange()), credential(EngineExchange()),
      peer: [.head, refusal(basic), .answer("one"), .head, refusal(basic), .answer("two")]),
    EngineCase(
      "401 NTLM to one of many", EngineExchange { $0.isForOneOfMany = true }, peer: [.head, refusal("NTLM")]),
    EngineCase(
      "an NTLM credential in the fields, of one of many",
      EngineExchange(fields: ["Authorization: NTLM bWVzc2FnZQ=="]) { $0.isForOneOfMany = true }, EngineExchange(),
      peer: [.answer("one")], [.answer("two")]),
    EngineCase(
      "an NTLM credential in the fields", EngineExchange(fields: ["Authorization: NTLM bWVzc2FnZQ=="]),
      EngineExchange(),
      peer: [.answer("one"), .answer("two")]),
    EngineCase("a credential without a challenge", credential(EngineExchange()), peer: [.answer("ok")]),
  ]

  private static let basic = "Basic realm=\"r\""
  private static let digest = "Digest realm=\"r\", nonce=\"n\""

  private static func refusal(_ challenge: String) -> Script.Step {
    .wire("HTTP/1.1 401 No|WWW-Authenticate: \(challenge)|Content-Length: 2||no")
  }

  private static func credential(_ exchange: EngineExchange) -> EngineExchange {
    var exchange = exchange
    exchange.credential = TransferCredential(user: "user", password: "secret")
    return exchange
  }

  /// A request that gets this challenge, and, when it comes with credentials, a success.
  private static func challenged(
    _ name: String, _ challenge: String, method: String = "GET", _ body: EngineBody = .none,
    change: (inout EngineExchange) -> Void = { _ in }
  ) -> EngineCase {
    var exchange = credential(EngineExchange(method, body: body))
    change(&exchange)
    let closes = challenge.contains("close")
    return EngineCase("401 \(name)", exchanges: [exchange], peer: [[answers(challenge, closes: closes)]])
  }

  /// Answers requests with the challenge, or with a success if they have other credentials than a token.
  private static func answers(_ challenge: String, closes: Bool) -> Script.Step {
    .forever([
      .route { head in
        let body: Script.Step = head.contains("chunked") ? .chunkedBody : .bytes(head.contains("Length: 11") ? 11 : 0)
        let isAuthorized = head.contains("Authorization: Basic") || head.contains("Authorization: Digest")
        if isAuthorized { return [body, .wire("HTTP/1.1 200 OK|Content-Length: 2||ok")] }
        return [body, refusal(challenge)] + (closes ? [.close] : [])
      }
    ])
  }
}
