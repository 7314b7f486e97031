internal import Glibc
import WeirHTTP
internal import WeirIO

/// The head of a response that the server sends, and how the end of its body is marked (RFC 9112 §4, §6, §9.3).
struct OutgoingHead {
  enum Framing: Equatable {
    case length(Int64)
    case chunked
    /// For a client of HTTP/1.0: the end of the connection ends the body.
    case close
    /// There is no body, and the head says nothing about one: 204, 304, and HEAD if the length is not known.
    case absent
  }

  let status: Int
  let framing: Framing
  /// False for HEAD, 204 and 304, whose head may describe a body but none follows.
  let hasBody: Bool

  /// - Parameters:
  ///   - status: The final status; one that a final response can't have becomes 500.
  ///   - isHead: Whether the request's method is HEAD.
  ///   - version: The request's.
  init(status: Int, length: BodyLength, isHead: Bool, version: RequestHead.Version) {
    self.status = (200...999).contains(status) ? status : 500
    let isBodyless = self.status == 204 || self.status == 304
    hasBody = !isBodyless && !isHead
    switch length {
    case _ where isBodyless: framing = .absent
    case .length(let length): framing = .length(max(0, length))
    case .none: framing = isHead ? .absent : .length(0)
    case .chunked where version == .http11: framing = .chunked
    case .chunked: framing = isHead ? .absent : .close
    }
  }

  /// The head of a response behind which both sides are streams of bytes: 101, or 200 to CONNECT.
  static let tunnel = OutgoingHead(status: 101, framing: .close, hasBody: true)

  var isTunnel: Bool { status == Self.tunnel.status }

  private init(status: Int, framing: Framing, hasBody: Bool) {
    (self.status, self.framing, self.hasBody) = (status, framing, hasBody)
  }

  func write(
    to output: inout [UInt8], fields: ResponseFields, date: [UInt8], keepsAlive: Bool, version: RequestHead.Version
  ) {
    Self.write(status, fields, date: date, to: &output) { place in
      switch framing {
      case .length(let length):
        place.put("Content-Length: ")
        place.put(digitsOf: length.magnitude)
        place.put("\r\n")
      case .chunked: place.put("Transfer-Encoding: chunked\r\n")
      case .close, .absent: break
      }
      switch (version, keepsAlive) {
      case (.http11, true): if fields.hasUpgrade { place.put("Connection: upgrade\r\n") }
      case (.http10, true):
        place.put(fields.hasUpgrade ? "Connection: keep-alive, upgrade\r\n" : "Connection: keep-alive\r\n")
      case (_, false): place.put(fields.hasUpgrade ? "Connection: close, upgrade\r\n" : "Connection: close\r\n")
      }
    }
  }

  /// Writes the head of an interim response, which has no framing and says nothing of the connection (RFC 9110 §15.2).
  static func writeInterim(_ status: Int, _ fields: ResponseFields, to output: inout [UInt8]) {
    write(status, fields, to: &output) { _ in }
  }

  /// Writes the head of a response that makes a tunnel. One to CONNECT says nothing of a body (RFC 9110 §9.3.6).
  static func writeTunnel(_ status: Int, _ fields: ResponseFields, to output: inout [UInt8]) {
    write(status, fields, to: &output) { if status == 101 { $0.put("Connection: upgrade\r\n") } }
  }

  /// The most octets of a head that are neither in its fields nor in Date: the status line and the server's own fields.
  private static let mostAround = 192

  /// Writes a head, with the fields that `own` puts behind the others.
  ///
  /// - Parameter date: The Date field, for a head that has none of its own.
  @inline(__always)
  private static func write(
    _ status: Int, _ fields: ResponseFields, date: [UInt8] = [], to output: inout [UInt8],
    own: (inout UnsafeMutableRawPointer) -> Void
  ) {
    output.append(atMost: fields.bytes.count + date.count + mostAround) { place in
      putStatusLine(status, at: &place)
      if !fields.hasDate { date.withUnsafeBytes { place.put($0) } }
      fields.bytes.withUnsafeBytes { place.put($0) }
      own(&place)
      place.put("\r\n")
    }
  }

  /// The status line says HTTP/1.1 whatever version the request had (RFC 9110 §2.5).
  private static func putStatusLine(_ status: Int, at place: inout UnsafeMutableRawPointer) {
    if status == 200 { return place.put("HTTP/1.1 200 OK\r\n") }
    place.put("HTTP/1.1 ")
    place.put(digitsOf: UInt64(status.magnitude))
    place.put(.space)
    place.put(reasonPhrase(status))
    place.put("\r\n")
  }
}

extension [UInt8] {
  mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { append(contentsOf: $0) }
  }
}

/// The reason phrase of a status in IANA's registry; empty if it has none.
func reasonPhrase(_ status: Int) -> StaticString {
  phrases.indices.contains(status) ? phrases[status] : ""
}

/// The phrases, indexed by status so that finding one takes no search.
private let phrases: [StaticString] = (0..<600).map { registry[$0] ?? "" }

private let registry: [Int: StaticString] = [
  100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
  200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
  205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
  300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
  305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
  402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
  407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required",
  412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
  416: "Range Not Satisfiable", 417: "Expectation Failed", 418: "I'm a teapot", 421: "Misdirected Request",
  422: "Unprocessable Content", 423: "Locked", 424: "Failed Dependency", 425: "Too Early", 426: "Upgrade Required",
  428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
  451: "Unavailable For Legal Reasons", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
  503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported", 506: "Variant Also Negotiates",
  507: "Insufficient Storage", 508: "Loop Detected", 511: "Network Authentication Required",
]

/// The Date field (RFC 9110 §6.6.1), rendered once per second.
struct DateField {
  private(set) var bytes: [UInt8] = []
  private var staleAt = MonotonicTime(nanoseconds: .min)

  /// Renders the field anew if `now` is in another second than the last call was.
  mutating func refresh(now: MonotonicTime) {
    guard now >= staleAt else { return }
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    bytes = Array("Date: \(HTTPDate.text(secondsSince1970: Int(time.tv_sec)))\r\n".utf8)
    staleAt = now.advanced(bySeconds: Double(1_000_000_000 - time.tv_nsec) * 1e-9)
  }
}
