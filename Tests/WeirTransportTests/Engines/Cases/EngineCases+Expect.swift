import WeirCurl
import WeirTestSupport

extension EngineCase {
  /// Requests with `Expect: 100-continue`, and the wait of a second before their body.
  static let expectations: [EngineCase] = [
    expecting("no 100 comes", peer: [.head, .bytes(11), ok]),
    expecting("no 100 comes to a large body", .bytes(300_000), peer: [.head, .bytes(300_000), ok]),
    expecting(
      "no 100 comes to a pulled body", .pulled(11, isAnnounced: false), peer: [.head, .chunkedBody, ok]),
    expecting("the 100 comes", peer: [.head, proceed, .bytes(11), ok]),
    expecting("the 100 comes to a large body", .bytes(300_000), peer: [.head, proceed, .bytes(300_000), ok]),
    expecting("the 100 comes to a file", .file(11), peer: [.head, proceed, .bytes(11), ok]),
    expecting("the 100 comes twice", peer: [.head, proceed, proceed, .bytes(11), ok]),
    expecting("102 comes and then 100", peer: [.head, .wire("HTTP/1.1 102 Processing||"), proceed, .bytes(11), ok]),
    expecting("417 comes, and the request again", peer: [.head, moment, refusal, .request, ok], [.request, ok]),
    expecting(
      "417 comes, and the request again with a pulled body", .pulled(11, isAnnounced: true),
      peer: [.head, moment, refusal, .request, ok], [.request, ok]),
    expecting("417 comes twice", peer: [.head, moment, refusal, .request, refusal], [.request, refusal]),
    expecting(
      "417 comes with a close",
      peer: [.head, moment, .wire("HTTP/1.1 417 No|Connection: close|Content-Length: 2||no"), .close], [.request, ok]),
    expecting(
      "417 comes to a body that can't be rewound", .pulled(11, isAnnounced: true),
      peer: [.head, moment, refusal, .request, ok], [.request, ok]
    ) { $0.canRewind = false },
    expecting("a success comes without 100", peer: [.head, moment, ok]),
    EngineCase(
      "Expect: a success comes without 100, and a further request",
      EngineExchange("PUT", fields: ["Expect: 100-continue"], body: .bytes(11)), EngineExchange(),
      peer: [.head, moment, ok, .answer("next")], [.answer("next")]),
    expecting("a refusal comes without 100", peer: [.head, moment, .wire("HTTP/1.1 403 No|Content-Length: 2||no")]),
    expecting(
      "a refusal comes with a close",
      peer: [.head, moment, .wire("HTTP/1.1 403 No|Connection: close|Content-Length: 2||no"), .close]),
    expecting("the connection ends", peer: [.head, .close]),
    EngineCase(
      "Expect: without a body", EngineExchange("GET", fields: ["Expect: 100-continue"]), peer: [.head, ok]
    ) { $0.timesWait = true },
    EngineCase(
      "417 comes to a request without Expect", EngineExchange("POST", body: .bytes(11)),
      peer: [.request, refusal, .request, ok]),
  ]

  /// libcurl begins to wait for the 100 only after the head has left, in its next step. A 417 that comes before makes 8.14.1
  /// close the connection, and no event tells the peer of that step.
  private static let moment = Script.Step.sleep(0.2)
  private static let ok = Script.Step.wire("HTTP/1.1 200 OK|Content-Length: 2||ok")
  private static let proceed = Script.Step.wire("HTTP/1.1 100 Continue||")
  private static let refusal = Script.Step.wire("HTTP/1.1 417 No|Content-Length: 2||no")

  private static func expecting(
    _ name: String, _ body: EngineBody = .bytes(11), peer: [Script.Step]...,
    change: (inout EngineExchange) -> Void = { _ in }
  ) -> EngineCase {
    let exchange = EngineExchange("PUT", fields: ["Expect: 100-continue"], body: body, change: change)
    return EngineCase("Expect: \(name)", exchanges: [exchange], peer: peer) { $0.timesWait = true }
  }
}
