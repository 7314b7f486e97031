import WeirTestSupport

extension EngineCase {
  /// Credentials that authenticate a connection.
  static let challenges: [EngineCase] = [
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
  ]

  private static func refusal(_ challenge: String) -> Script.Step {
    .wire("HTTP/1.1 401 No|WWW-Authenticate: \(challenge)|Content-Length: 2||no")
  }
}
