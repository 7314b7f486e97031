extension UpstreamCase {
  /// Upstreams that leave before they are done.
  static let ends: [UpstreamCase] = [
    .init("nothing", "", .close, want: .refused),
    .init("a reset", "", .reset, want: .refused),
    .init("silence", "", .silence, want: .own(504)),
    .init("half a status line", "HTTP/1.1 20", .close, want: .refused),
    .init("a status line", "HTTP/1.1 200 OK|", .close, want: .refused),
    .init("half a head", "HTTP/1.1 200 OK|Content-Length: 2", .close, want: .refused),
    .init("half a head and a reset", "HTTP/1.1 200 OK|Content-Length: 2", .reset, want: .refused),
    .init("half a head and silence", "HTTP/1.1 200 OK|Content-Length: 2", .silence, want: .own(504)),
    .init(
      "a head without its body", "HTTP/1.1 200 OK|Content-Length: 9||", .close,
      want: .ownOrCut("200 OK|Content-Length: 9")),
    .init(
      "a head, then an end", "HTTP/1.1 200 OK|Content-Length: 9||", later: "", .close,
      want: .cut("200 OK|Content-Length: 9")),
    .init(
      "a head, then a reset", "HTTP/1.1 200 OK|Content-Length: 9||", later: "", .reset,
      want: .cut("200 OK|Content-Length: 9")),
    .init(
      "a head, then silence", "HTTP/1.1 200 OK|Content-Length: 9||", .silence, want: .cut("200 OK|Content-Length: 9")),
    .init(
      "a short body", "HTTP/1.1 200 OK|Content-Length: 9||ok", .close, want: .ownOrCut("200 OK|Content-Length: 9", "ok")
    ),
    .init(
      "a short body, half closed", "HTTP/1.1 200 OK|Content-Length: 9||ok", .halfClose,
      want: .ownOrCut("200 OK|Content-Length: 9", "ok")),
    .init(
      "a short body, then an end", "HTTP/1.1 200 OK|Content-Length: 9||ok", later: "", .close,
      want: .cut("200 OK|Content-Length: 9", "ok")),
    .init(
      "a short body, then a reset", "HTTP/1.1 200 OK|Content-Length: 9||ok", later: "", .reset,
      want: .cut("200 OK|Content-Length: 9", "ok")),
    .init(
      "a short body, then more of it", "HTTP/1.1 200 OK|Content-Length: 9||ok", later: "ay", .close,
      want: .cut("200 OK|Content-Length: 9", "ok")),
    .init(
      "a short body to HTTP/1.0", version: "1.0", "HTTP/1.1 200 OK|Content-Length: 9||ok", later: "", .close,
      want: .cut("200 OK|Content-Length: 9|Connection: close", "ok")),
    .init(
      "a body that stops", "HTTP/1.1 200 OK|Content-Length: 9||ok", .silence,
      want: .cut("200 OK|Content-Length: 9", "ok")),
    .init(
      "an answer before the body", method: "POST", rest: "Content-Length: 5||hello",
      "HTTP/1.1 413 No|Content-Length: 2||no", want: .whole("413 Content Too Large|Content-Length: 2", "no")),
    .init("an end before the body", method: "POST", rest: "Content-Length: 5||hello", "", .close, want: .refused),
    .init(
      "a refusal and an end", method: "POST", rest: "Content-Length: 5||hello",
      "HTTP/1.1 403 No|Content-Length: 2|Connection: close||no", .close,
      want: .whole("403 Forbidden|Content-Length: 2", "no")),
    .init(
      "close asked for", rest: "Connection: close||", "HTTP/1.1 200 OK|Content-Length: 2||ok",
      want: .whole("200 OK|Content-Length: 2|Connection: close", "ok")),
  ]

  /// Bytes that nobody asked for, and what libcurl alone would believe.
  static let unsolicited: [UpstreamCase] = [
    .init("bytes after the body", "HTTP/1.1 200 OK|Content-Length: 2||okmore", want: .whole(okHead, "ok")),
    .init(
      "a response after the body", "HTTP/1.1 200 OK|Content-Length: 2||okHTTP/1.1 200 OK|Content-Length: 5||wrong",
      want: .whole(okHead, "ok")),
    .init(
      "a response later", "HTTP/1.1 200 OK|Content-Length: 2||ok", later: "HTTP/1.1 200 OK|Content-Length: 5||wrong",
      want: .whole(okHead, "ok")),
    .init(
      "a 408 later", "HTTP/1.1 200 OK|Content-Length: 2||ok",
      later: "HTTP/1.1 408 Late|Content-Length: 0|Connection: close||", .close, want: .whole(okHead, "ok")),
    .init(
      "a response after the last chunk",
      "HTTP/1.1 200 OK|Transfer-Encoding: chunked||2|ok|0||HTTP/1.1 200 OK|Content-Length: 5||wrong",
      want: .whole(chunkedHead, "ok")),
    .init("a body with 204", "HTTP/1.1 204 No|Content-Length: 5||wrong", want: .whole("204 No Content")),
    .init("chunks with 204", "HTTP/1.1 204 No|Transfer-Encoding: chunked||5|wrong|0||", want: .whole("204 No Content")),
    .init("a body with 304", "HTTP/1.1 304 Same|Content-Length: 5||wrong", want: .whole("304 Not Modified")),
    .init(
      "a response with 304", "HTTP/1.1 304 Same||HTTP/1.1 200 OK|Content-Length: 5||wrong",
      want: .whole("304 Not Modified")),
    .init(
      "a body with HEAD", method: "HEAD", "HTTP/1.1 200 OK|Content-Length: 5||wrong",
      want: .whole("200 OK|Content-Length: 5")),
    .init(
      "a response with HEAD", method: "HEAD",
      "HTTP/1.1 200 OK|Content-Length: 0||HTTP/1.1 200 OK|Content-Length: 5||wrong",
      want: .whole("200 OK|Content-Length: 0")),
  ]

  /// What one reads so and another otherwise.
  static let ambiguous: [UpstreamCase] = [
    .init("gzip, chunked", "HTTP/1.1 200 OK|Transfer-Encoding: gzip, chunked||2|ok|0||", .close, want: .refused),
    .init("gzip", "HTTP/1.1 200 OK|Transfer-Encoding: gzip||ok", .close, want: .refused),
    .init("an unknown coding", "HTTP/1.1 200 OK|Transfer-Encoding: x||ok", .close, want: .refused),
    .init("chunked twice", "HTTP/1.1 200 OK|Transfer-Encoding: chunked, chunked||2|ok|0||", .close, want: .refused),
    .init(
      "chunked in two fields", "HTTP/1.1 200 OK|Transfer-Encoding: chunked|Transfer-Encoding: chunked||2|ok|0||",
      .close, want: .refused),
    .init("chunked and something", "HTTP/1.1 200 OK|Transfer-Encoding: xchunked||2|ok|0||", .close, want: .refused),
    .init(
      "a first line that begins with a blank", "HTTP/1.1 200 OK|\tA: b|Content-Length: 2||ok", .close, want: .refused),
  ]

  enum Group: CaseIterable {
    case statuses, oddStatuses, interims, lengths, chunks, heads, ends, unsolicited, ambiguous

    var cases: [UpstreamCase] {
      switch self {
      case .statuses: UpstreamCase.statuses
      case .oddStatuses: UpstreamCase.oddStatuses
      case .interims: UpstreamCase.interims
      case .lengths: UpstreamCase.lengths
      case .chunks: UpstreamCase.chunks
      case .heads: UpstreamCase.heads
      case .ends: UpstreamCase.ends
      case .unsolicited: UpstreamCase.unsolicited
      case .ambiguous: UpstreamCase.ambiguous
      }
    }
  }

  static let all = Group.allCases.flatMap(\.cases)
}
