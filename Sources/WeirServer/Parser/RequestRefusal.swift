/// The reason why a request is refused before a handler sees it.
package struct RequestRefusal: Error, Hashable, Sendable {
  /// The status of the answer to the client.
  package let status: Int
  /// The reason for logs and the answer's body: a fixed text without any part of the request.
  package let reason: String

  static func badRequest(_ reason: String) -> RequestRefusal { RequestRefusal(status: 400, reason: reason) }

  static let plainHTTP = RequestRefusal.badRequest("this address speaks TLS; use https://")
  static let slowRequest = RequestRefusal(status: 408, reason: "the request took too long to arrive")
  static let bodyTooLarge = RequestRefusal(status: 413, reason: "the body is too large")
  static let targetTooLong = RequestRefusal(status: 414, reason: "the request target is too long")
  static let expectation = RequestRefusal(status: 417, reason: "only the expectation 100-continue is known")
  static let headerTooLarge = RequestRefusal(status: 431, reason: "the header fields are too large")
  static let methodTooLong = RequestRefusal(status: 501, reason: "the method is too long to be known")
  static let unknownCoding = RequestRefusal(status: 501, reason: "only the transfer coding chunked is known")
  static let unknownVersion = RequestRefusal(status: 505, reason: "only HTTP/1.0 and HTTP/1.1 are spoken")
}
