/// What an upstream does with one request, and what a client of the gateway must see of it.
///
/// In all texts `|` stands for a line's end (CRLF).
struct UpstreamCase: Sendable, CustomStringConvertible {
  /// The end of the upstream's part.
  enum End: Sendable {
    /// It waits for the next request on the same connection.
    case keep
    case close
    case reset
    /// It closes its own direction and goes on reading.
    case halfClose
    /// It says nothing more and keeps the connection.
    case silence
  }

  enum Want: Sendable {
    /// A whole response: its status line and fields (but for Date and Via, which every one must have), and its body.
    case whole(String, String = "")
    /// The gateway's own answer.
    case own(Int)
    /// A response that begins so and ends before it is whole, in a way that the client can't miss.
    case cut(String, String = "")
    /// Either: it depends on how the system cuts the upstream's bytes to pieces whether something had been passed on.
    case ownOrCut(String, String = "")

    /// Either: RFC 9112 leaves it to the recipient.
    case ownOrWhole(String, String = "")

    static let refused = own(502)
  }

  let description: String
  let method: String
  /// Of the client.
  let version: String
  /// What stands between the client's Host field and the end of its request.
  let rest: String
  /// What the upstream sends when it has read the request's head.
  let sends: String
  /// What it sends when the client has seen something of that.
  let later: String?
  let end: End
  /// The interim heads that the client must see before the response.
  let interims: [String]
  let want: Want

  init(
    _ description: String, method: String = "GET", version: String = "1.1", rest: String = "|", _ sends: String,
    later: String? = nil, _ end: End = .keep, interims: [String] = [], want: Want
  ) {
    self.description = description
    self.method = method
    self.version = version
    self.rest = rest
    self.sends = sends
    self.later = later
    self.end = end
    self.interims = interims
    self.want = want
  }

  static func bytes(_ text: String) -> [UInt8] { Array(text.replacing("|", with: "\r\n").utf8) }
}
