import WeirCurl

extension UpstreamCase {
  /// Statuses pass through, with the gateway's own reason phrases.
  static let statuses: [UpstreamCase] =
    [
      (200, "OK"), (201, "Created"), (202, "Accepted"), (203, "Non-Authoritative Information"),
      (206, "Partial Content"),
      (207, "Multi-Status"), (208, "Already Reported"), (226, "IM Used"), (300, "Multiple Choices"),
      (301, "Moved Permanently"), (302, "Found"), (303, "See Other"), (307, "Temporary Redirect"),
      (308, "Permanent Redirect"), (400, "Bad Request"), (401, "Unauthorized"), (402, "Payment Required"),
      (403, "Forbidden"), (404, "Not Found"), (405, "Method Not Allowed"), (406, "Not Acceptable"),
      (407, "Proxy Authentication Required"), (408, "Request Timeout"), (409, "Conflict"), (410, "Gone"),
      (411, "Length Required"), (412, "Precondition Failed"), (413, "Content Too Large"), (414, "URI Too Long"),
      (415, "Unsupported Media Type"), (416, "Range Not Satisfiable"), (417, "Expectation Failed"),
      (421, "Misdirected Request"), (422, "Unprocessable Content"), (423, "Locked"), (424, "Failed Dependency"),
      (425, "Too Early"), (426, "Upgrade Required"), (428, "Precondition Required"), (429, "Too Many Requests"),
      (431, "Request Header Fields Too Large"), (451, "Unavailable For Legal Reasons"), (500, "Internal Server Error"),
      (501, "Not Implemented"), (502, "Bad Gateway"), (503, "Service Unavailable"), (504, "Gateway Timeout"),
      (505, "HTTP Version Not Supported"), (507, "Insufficient Storage"), (508, "Loop Detected"),
      (511, "Network Authentication Required"),
    ].map { status, reason in
      UpstreamCase(
        "\(status)", "HTTP/1.1 \(status) Whatever|Content-Length: 4|X-A: b||body",
        want: .whole("\(status) \(reason)|X-A: b|Content-Length: 4", "body"))
    }

  static let oddStatuses: [UpstreamCase] = [
    .init(
      "205 without a body", "HTTP/1.1 205 Reset|Content-Length: 0||",
      want: .whole("205 Reset Content|Content-Length: 0")),
    .init("204", "HTTP/1.1 204 No||", want: .whole("204 No Content")),
    .init("204 with a length of 0", "HTTP/1.1 204 No|Content-Length: 0||", want: .whole("204 No Content")),
    .init("304", "HTTP/1.1 304 Same|ETag: x||", want: .whole("304 Not Modified|ETag: x")),
    .init("304 that tells a length", "HTTP/1.1 304 Same|Content-Length: 9||", want: .whole("304 Not Modified")),
    .init(
      "304 that tells of chunks", "HTTP/1.1 304 Same|Transfer-Encoding: chunked||", want: .whole("304 Not Modified")),
    .init("HEAD", method: "HEAD", "HTTP/1.1 200 OK|Content-Length: 9||", want: .whole("200 OK|Content-Length: 9")),
    .init("HEAD with chunks", method: "HEAD", "HTTP/1.1 200 OK|Transfer-Encoding: chunked||", want: .whole("200 OK")),
    .init("HEAD without framing", method: "HEAD", "HTTP/1.1 200 OK||", want: .whole("200 OK")),
    .init(
      "HEAD and an end", method: "HEAD", "HTTP/1.1 200 OK|Content-Length: 9||", .close,
      want: .whole("200 OK|Content-Length: 9")),
    .init(
      "HEAD, 404", method: "HEAD", "HTTP/1.1 404 No|Content-Length: 9||",
      want: .whole("404 Not Found|Content-Length: 9")),
    .init(
      "426 that names protocols", "HTTP/1.1 426 No|Upgrade: x/1|Connection: upgrade|Content-Length: 0||",
      want: .whole("426 Upgrade Required|Upgrade: x/1|Content-Length: 0|Connection: upgrade")),
    .init("no reason", "HTTP/1.1 200|Content-Length: 2||ok", want: .whole("200 OK|Content-Length: 2", "ok")),
    .init("an empty reason", "HTTP/1.1 200 |Content-Length: 2||ok", want: .whole("200 OK|Content-Length: 2", "ok")),
    .init("a status nobody knows", "HTTP/1.1 299 ?|Content-Length: 0||", want: .whole("299 |Content-Length: 0")),
    .init("599", "HTTP/1.1 599 ?|Content-Length: 0||", want: .whole("599 |Content-Length: 0")),
    .init("000", "HTTP/1.1 000 OK|Content-Length: 0||", .close, want: .refused),
    .init("four digits", "HTTP/1.1 2000 OK|Content-Length: 0||", .close, want: .refused),
    .init("two digits", "HTTP/1.1 20 OK|Content-Length: 0||", .close, want: .refused),
    .init("a status of letters", "HTTP/1.1 OK|Content-Length: 0||", .close, want: .refused),
    .init("no status", "HTTP/1.1 |Content-Length: 0||", .close, want: .refused),
    .init("a negative status", "HTTP/1.1 -200 OK|Content-Length: 0||", .close, want: .refused),
    .init("garbage", "garbage||", .close, want: .refused),
    .init("another protocol", "SSH-2.0-OpenSSH_9.2|", .close, want: .refused),
    .init("ICY", "ICY 200 OK|Content-Length: 0||", .close, want: .refused),
    .init("HTTP/3.0", "HTTP/3.0 200 OK|Content-Length: 0||", .close, want: .refused),
    .init("HTTP/0.9", "<html>hello</html>", .close, want: .refused),
    .init("101", "HTTP/1.1 101 Switching|Upgrade: x|Connection: upgrade||", want: .refused),
    .init("101 and bytes", "HTTP/1.1 101 Switching|Upgrade: x|Connection: upgrade||HTTP/1.1 200 OK||", want: .refused),
    .init("101 after 100", "HTTP/1.1 100 Go||HTTP/1.1 101 Switching|Upgrade: x|Connection: upgrade||", want: .refused),
  ]

  /// Responses that announce others; all but 100 are passed on.
  static let interims: [UpstreamCase] = [
    .init("100", "HTTP/1.1 100 Continue||HTTP/1.1 200 OK|Content-Length: 2||ok", want: .whole(okHead, "ok")),
    .init(
      "102", "HTTP/1.1 102 Processing||HTTP/1.1 200 OK|Content-Length: 2||ok", interims: ["102 Processing"],
      want: .whole(okHead, "ok")),
    .init(
      "103", "HTTP/1.1 103 Early|Link: </x>||HTTP/1.1 200 OK|Content-Length: 2||ok", interims: [hints],
      want: .whole(okHead, "ok")),
    .init(
      "199", "HTTP/1.1 199 ?||HTTP/1.1 200 OK|Content-Length: 2||ok", interims: ["199 "], want: .whole(okHead, "ok")),
    .init(
      "100 twice", "HTTP/1.1 100 Go||HTTP/1.1 100 Go||HTTP/1.1 200 OK|Content-Length: 2||ok", want: .whole(okHead, "ok")
    ),
    .init(
      "16 of them",
      String(repeating: "HTTP/1.1 103 Early|Link: </x>||", count: 16) + "HTTP/1.1 200 OK|Content-Length: 2||ok",
      interims: Array(repeating: hints, count: 16), want: .whole(okHead, "ok")),
    .init(
      "17 of them",
      String(repeating: "HTTP/1.1 103 Early|Link: </x>||", count: 17) + "HTTP/1.1 200 OK|Content-Length: 2||ok",
      interims: Array(repeating: hints, count: 16), want: .refused),
    .init(
      "103 to HTTP/1.0", version: "1.0", "HTTP/1.1 103 Early||HTTP/1.1 200 OK|Content-Length: 2||ok",
      want: .whole("200 OK|Content-Length: 2|Connection: close", "ok")),
    .init(
      "102, then 103 with fields of the connection",
      "HTTP/1.1 102 On||HTTP/1.1 103 Early|Link: </x>|Connection: x-a|X-A: 1|Content-Length: 9|Keep-Alive: a||"
        + "HTTP/1.1 200 OK|Content-Length: 2||ok",
      interims: ["102 Processing", hints], want: .whole(okHead, "ok")),
    .init(
      "an interim that tells a length", "HTTP/1.1 100 Go|Content-Length: 5||HTTP/1.1 200 OK|Content-Length: 2||ok",
      want: .whole(okHead, "ok")),
    .init(
      "103, then 204", "HTTP/1.1 103 Early||HTTP/1.1 204 No||", interims: ["103 Early Hints"],
      want: .whole("204 No Content")),
    .init(
      "103, then chunks", "HTTP/1.1 103 Early||HTTP/1.1 200 OK|Transfer-Encoding: chunked||2|ok|0||",
      interims: ["103 Early Hints"], want: .whole(chunkedHead, "ok")),
    .init(
      "103 and HEAD", method: "HEAD", "HTTP/1.1 103 Early||HTTP/1.1 200 OK|Content-Length: 9||",
      interims: ["103 Early Hints"], want: .whole("200 OK|Content-Length: 9")),
    .init("100 and an end", "HTTP/1.1 100 Go||", .close, want: .refused),
    .init("100 and a reset", "HTTP/1.1 100 Go||", .reset, want: .refused),
    .init("100 and silence", "HTTP/1.1 100 Go||", .silence, want: .own(504)),
    .init(
      "103 and half a head", "HTTP/1.1 103 Early||HTTP/1.1 200 OK|Content-Le", .close,
      interims: ["103 Early Hints"], want: .refused),
    .init(
      "interims without end",
      String(repeating: "HTTP/1.1 103 Early|X-A: \(String(repeating: "a", count: 1000))||", count: 4000),
      .close,
      interims: Array(repeating: "103 Early Hints|X-A: \(String(repeating: "a", count: 1000))", count: 16),
      want: .refused),
  ]

  private static let hints = "103 Early Hints|Link: </x>"
  static let okHead = "200 OK|Content-Length: 2"
  static let chunkedHead = "200 OK|Transfer-Encoding: chunked"
}
