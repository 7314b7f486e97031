import WeirCurl
import WeirTestSupport

/// Responses that carry a mark in a field, in each framing.
enum NumberedResponse: String, CaseIterable, Sendable {
  case length, chunked, noContent, head, notModified

  var method: String { self == .head ? "HEAD" : "GET" }

  func text(_ mark: String) -> String {
    let field = "X-Mark: \(mark)\r\n"
    return switch self {
    case .length: okResponse(mark, field)
    case .chunked:
      "HTTP/1.1 200 OK\r\n\(field)Transfer-Encoding: chunked\r\n\r\n"
        + "\(String(mark.utf8.count, radix: 16))\r\n\(mark)\r\n0\r\n\r\n"
    case .noContent: "HTTP/1.1 204 No Content\r\n\(field)\r\n"
    case .head: "HTTP/1.1 200 OK\r\n\(field)Content-Length: 1000\r\n\r\n"
    case .notModified: "HTTP/1.1 304 Not Modified\r\n\(field)Content-Length: 1000\r\n\r\n"
    }
  }
}

extension Outcome {
  /// The mark of the only response; nil if there is none, or something that does not belong to it.
  var mark: String? {
    guard error == nil, heads.count == 1, let head else { return nil }
    let mark = head.text.split(separator: "\r\n").first { $0.hasPrefix("X-Mark: ") }?.dropFirst(8)
    return body.isEmpty || text == mark.map { String($0) } ? mark.map { String($0) } : nil
  }
}
