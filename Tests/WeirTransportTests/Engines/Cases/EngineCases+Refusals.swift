import WeirCurl
import WeirTestSupport

extension EngineCase {
  /// Responses that come before the request's body is sent.
  static var refusals: [EngineCase] {
    [
      large(
        "413 and a close, read to the end", then: [.wire(refusal(413, "Connection: close|")), .halfClose, .awaitEnd]),
      large("404 without a close to a large body", isFollowed: true, then: [.wire(refusal(404)), .awaitEnd]),
      large(
        "404 without a close to a large chunked body", .pulled(3_000_000, isAnnounced: false),
        isFollowed: true, then: [.wire(refusal(404)), .awaitEnd]),
      large(
        "200 while a large body is sent", isFollowed: true, then: [.wire(early), .bytes(2_900_000), .answer("next")]),
      waiting("413 and a close while the body waits", then: [.wire(refusal(413, "Connection: close|")), .close]) {
        $0.cutsUpload = true
      },
      waiting("413 without a close while the body waits", then: [.wire(refusal(413))]) { $0.cutsUpload = true },
      waiting(
        "200 while the body waits, and then its rest", isFollowed: true,
        then: [.wire(early), .bytes(2000), .answer("next")]),
      waiting(
        "200 while a chunked body waits, and then its rest",
        .pulled(30, isAnnounced: false, pausesAt: 10), bytes: 15, isFollowed: true,
        then: [.wire(early), .chunkedBody, .answer("next")]),
      waiting(
        "200 and a close while the body waits",
        then: [.wire("HTTP/1.1 200 OK|Connection: close|Content-Length: 5||early"), .awaitEnd]
      ) { $0.cutsUpload = true },
      waiting("the connection ends while the body waits", then: [.close]),
      waiting("the connection is reset while the body waits", then: [.reset]),
    ]
  }

  private static let early = "HTTP/1.1 200 OK|Content-Length: 5||early"

  private static func refusal(_ status: Int, _ fields: String = "") -> String {
    "HTTP/1.1 \(status) No|\(fields)Content-Length: 2||no"
  }

  /// A large body of which the peer reads a part before it goes on with these steps.
  private static func large(
    _ name: String, _ body: EngineBody = .bytes(3_000_000), isFollowed: Bool = false,
    then steps: [Script.Step]
  ) -> EngineCase {
    let exchanges = [EngineExchange("POST", body: body)] + (isFollowed ? [EngineExchange()] : [])
    return EngineCase(name, exchanges: exchanges, peer: [[.head, .bytes(100_000)] + steps, [.answer("next")]]) { row in
      row.cutsUpload = true
      row.joinsChunks = true
    }
  }

  /// A body that waits for the head of the response. Once it waits, the peer goes on with these steps.
  ///
  /// - Parameter bytes: the bytes that have come until then.
  private static func waiting(
    _ name: String, _ body: EngineBody = .pulled(3000, isAnnounced: true, pausesAt: 1000), bytes: Int = 1000,
    isFollowed: Bool = false, then steps: [Script.Step], change: (inout EngineCase) -> Void = { _ in }
  ) -> EngineCase {
    let gate = Gate()
    let exchange = EngineExchange("POST", body: body) { $0.atPause = gate }
    return EngineCase(
      name, exchanges: [exchange] + (isFollowed ? [EngineExchange()] : []),
      peer: [[.head, .bytes(bytes), .wait(gate)] + steps, [.answer("next")]], change: change)
  }
}
