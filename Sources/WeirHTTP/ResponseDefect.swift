/// Why the bytes on a connection are not a response, or not a whole one. Nothing after a defect can be trusted, so the
/// connection must be closed.
@usableFromInline
package enum ResponseDefect: Error, Hashable, Sendable {
  /// The first line is not a status line of HTTP/1.
  case notHTTP
  case malformedHead(HeadDefect)
  /// A head or the trailers exceed the limit of a head, or all heads together exceed their limit.
  case headTooLarge
  case tooManyInterimResponses
  /// There are Content-Length fields that disagree.
  case conflictingLengths
  /// There is a Transfer-Encoding that is not exactly one `chunked`.
  case refusedTransferEncoding
  case malformedChunks(ChunkedCoding.Defect)
  /// The connection ended before the end of a status line.
  case noResponse
  /// The connection ended within a head.
  case cutHead
  /// The connection ended, or was cut, within a body.
  case cutBody
  /// Only the end of the connection ends the body, and that end can't be told from a cut.
  case unprovableEnd

  /// How a head is malformed, in words.
  @usableFromInline
  package enum HeadDefect: String, Hashable, Sendable {
    case version = "the status line of another HTTP version"
    case status = "a status below 100"
    case reason = "a CR or a zero byte in its status line"
    case fieldName = "a line without a field name that is a token and ends at a colon"
    case fieldValue = "a CR or a zero byte in a field's value"
    /// A folded line continues the status line or a field that decides the framing.
    case fold = "a folded line after the status line or a framing field"
    case contentLength = "a Content-Length that is not a number"
    case bothFramings = "both a Transfer-Encoding and a Content-Length"
    /// The server switches to a protocol that was not asked for.
    case switchedProtocol = "the status 101, though no other protocol was asked for"
  }

  /// The defect in words, without any of the peer's bytes.
  package var message: String {
    switch self {
    case .notHTTP: "the response does not begin with a status line of HTTP/1.0 or HTTP/1.1"
    case .malformedHead(let defect): "the response head has \(defect.rawValue)"
    case .headTooLarge: "the response head exceeds maximumHeaderSize"
    case .tooManyInterimResponses: "the server sent too many interim responses"
    case .conflictingLengths: "the response has several Content-Length fields that disagree"
    case .refusedTransferEncoding:
      "the response has a Transfer-Encoding other than chunked, which is not supported"
    case .malformedChunks(.trailersTooLarge): "the trailers of the response exceed maximumHeaderSize"
    case .malformedChunks(let defect): "the chunked body of the response has \(defect.rawValue)"
    case .noResponse: "the connection ended without a response"
    case .cutHead: "the connection ended before the response head did"
    case .cutBody: "the connection ended before the body of the response did"
    case .unprovableEnd:
      "only the end of the connection would end the response, and that can't be told from a cut: let the server send "
        + "Content-Length or chunks"
    }
  }
}
