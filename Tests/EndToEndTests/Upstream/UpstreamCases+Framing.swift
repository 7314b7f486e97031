extension UpstreamCase {
  static let lengths: [UpstreamCase] = [
    .init("a length", "HTTP/1.1 200 OK|Content-Length: 2||ok", want: .whole(okHead, "ok")),
    .init("no body", "HTTP/1.1 200 OK|Content-Length: 0||", want: .whole("200 OK|Content-Length: 0")),
    .init(
      "a length and close", "HTTP/1.1 200 OK|Content-Length: 2|Connection: close||ok", .close,
      want: .whole(okHead, "ok")),
    .init("a length and an end", "HTTP/1.1 200 OK|Content-Length: 2||ok", .close, want: .whole(okHead, "ok")),
    .init(
      "a length, the body later", "HTTP/1.1 200 OK|Content-Length: 4||ok", later: "ay",
      want: .whole("200 OK|Content-Length: 4", "okay")),
    .init(
      "the same length twice", "HTTP/1.1 200 OK|Content-Length: 2|Content-Length: 2||ok", want: .whole(okHead, "ok")),
    .init(
      "the same length as a list", "HTTP/1.1 200 OK|Content-Length: 2, 2||ok", .close, want: .ownOrWhole(okHead, "ok")),
    .init("zeros before a length", "HTTP/1.1 200 OK|Content-Length: 0002||ok", want: .whole(okHead, "ok")),
    .init("blanks around a length", "HTTP/1.1 200 OK|Content-Length: \t 2 \t ||ok", want: .whole(okHead, "ok")),
    .init("two lengths", "HTTP/1.1 200 OK|Content-Length: 2|Content-Length: 3||okk", .close, want: .refused),
    .init("two lengths as a list", "HTTP/1.1 200 OK|Content-Length: 2, 3||okk", .close, want: .refused),
    .init("a length of letters", "HTTP/1.1 200 OK|Content-Length: x||ok", .close, want: .refused),
    .init("an empty length", "HTTP/1.1 200 OK|Content-Length:||ok", .close, want: .refused),
    .init("a negative length", "HTTP/1.1 200 OK|Content-Length: -2||ok", .close, want: .refused),
    .init("a signed length", "HTTP/1.1 200 OK|Content-Length: +2||ok", .close, want: .refused),
    .init("a length and letters", "HTTP/1.1 200 OK|Content-Length: 2x||ok", .close, want: .refused),
    .init("a length and a number", "HTTP/1.1 200 OK|Content-Length: 2 2||ok", .close, want: .refused),
    .init("a length in hexadecimal", "HTTP/1.1 200 OK|Content-Length: 0x2||ok", .close, want: .refused),
    .init(
      "a length beyond numbers", "HTTP/1.1 200 OK|Content-Length: 99999999999999999999||ok", .close, want: .refused),
    .init("HTTP/1.0 with a length", "HTTP/1.0 200 OK|Content-Length: 2||ok", .close, want: .whole(okHead, "ok")),
    .init("HTTP/1.0, kept", "HTTP/1.0 200 OK|Content-Length: 2|Connection: keep-alive||ok", want: .whole(okHead, "ok")),
    .init("HTTP/1.0 until the end", "HTTP/1.0 200 OK||ok", .close, want: .whole(chunkedHead, "ok")),
    .init("until the end", "HTTP/1.1 200 OK||ok", .close, want: .whole(chunkedHead, "ok")),
    .init("until the end, announced", "HTTP/1.1 200 OK|Connection: close||ok", .close, want: .whole(chunkedHead, "ok")),
    .init("until half the end", "HTTP/1.1 200 OK||ok", .halfClose, want: .whole(chunkedHead, "ok")),
    .init("nothing until the end", "HTTP/1.1 200 OK||", .close, want: .whole(chunkedHead)),
    .init("until the end, more later", "HTTP/1.1 200 OK||ok", later: "ay", .close, want: .whole(chunkedHead, "okay")),
    .init("until a reset", "HTTP/1.1 200 OK||ok", later: "ay", .reset, want: .cut(chunkedHead, "ok")),
  ]

  static let chunks: [UpstreamCase] = [
    .init("a chunk", chunked("2|ok|0||"), want: .whole(chunkedHead, "ok")),
    .init("chunks", chunked("1|o|1|k|0||"), want: .whole(chunkedHead, "ok")),
    .init("no chunk", chunked("0||"), want: .whole(chunkedHead)),
    .init("zeros before a size", chunked("0002|ok|000||"), want: .whole(chunkedHead, "ok")),
    .init("a size in capitals", chunked("A|0123456789|0||"), want: .whole(chunkedHead, "0123456789")),
    .init("an extension", chunked("2;a=b|ok|0;c||"), want: .whole(chunkedHead, "ok")),
    .init("a quoted extension", chunked("2;a=\"b;c\"|ok|0||"), want: .whole(chunkedHead, "ok")),
    .init("padded sizes", chunked("2  |ok|0\t||"), want: .whole(chunkedHead, "ok")),
    .init("a blank before an extension", chunked("2 ;a=b|ok|0;||"), want: .whole(chunkedHead, "ok")),
    .init("trailers", chunked("2|ok|0|X-T: 1|X-U: 2||"), want: .whole(chunkedHead, "ok")),
    .init("chunks, then an end", chunked("2|ok|0||"), .close, want: .whole(chunkedHead, "ok")),
    .init("chunks, more later", chunked("2|ok|"), later: "2|ay|0||", want: .whole(chunkedHead, "okay")),
    .init("capitals", "HTTP/1.1 200 OK|TRANSFER-ENCODING: CHUNKED||2|ok|0||", want: .whole(chunkedHead, "ok")),
    .init(
      "a length as well", "HTTP/1.1 200 OK|Content-Length: 9|Transfer-Encoding: chunked||2|ok|0||", .close,
      want: .ownOrWhole(chunkedHead, "ok")),
    .init("a size that is none", chunked("x|ok|0||"), .close, want: .ownOrCut(chunkedHead)),
    .init("an empty size", chunked("|ok|0||"), .close, want: .ownOrCut(chunkedHead)),
    .init("a negative size", chunked("-2|ok|0||"), .close, want: .ownOrCut(chunkedHead)),
    .init("a size beyond numbers", chunked("fffffffffffffffff|ok|0||"), .close, want: .ownOrCut(chunkedHead)),
    .init("a chunk that is longer", chunked("2|okay|0||"), .close, want: .ownOrCut(chunkedHead, "ok")),
    .init("a bad second chunk", chunked("2|ok|x|"), .close, want: .ownOrCut(chunkedHead, "ok")),
    .init("a bad second chunk later", chunked("2|ok|"), later: "x|", .close, want: .cut(chunkedHead, "ok")),
    .init(
      "a bad second chunk, HTTP/1.0", version: "1.0", chunked("2|ok|"), later: "x|", .close,
      want: .cut("200 OK|Connection: close", "ok")),
    .init("chunks to HTTP/1.0", version: "1.0", chunked("2|ok|0||"), want: .whole("200 OK|Connection: close", "ok")),
    .init(
      "a length to HTTP/1.0", version: "1.0", "HTTP/1.1 200 OK|Content-Length: 2||ok",
      want: .whole("200 OK|Content-Length: 2|Connection: close", "ok")),
    .init("no last chunk", chunked("2|ok|"), .close, want: .ownOrCut(chunkedHead, "ok")),
    .init("no last chunk, later", chunked("2|ok|"), later: "", .close, want: .cut(chunkedHead, "ok")),
    .init("half a last chunk", chunked("2|ok|0|"), .close, want: .ownOrCut(chunkedHead, "ok")),
    .init("no last chunk, a reset", chunked("2|ok|"), later: "", .reset, want: .cut(chunkedHead, "ok")),
  ]

  private static func chunked(_ body: String) -> String { "HTTP/1.1 200 OK|Transfer-Encoding: chunked||" + body }

  static let heads: [UpstreamCase] = [
    .init("lines ended by LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", want: .whole(okHead, "ok")),
    .init(
      "control characters", "HTTP/1.1 204 No|X-A: a\u{1}b\u{b}c\u{7f}d\te||",
      want: .whole("204 No Content|X-A: a b c d\te")),
    .init("no field", "HTTP/1.1 204 No||", want: .whole("204 No Content")),
    .init(
      "a field twice", "HTTP/1.1 200 OK|X-A: 1|X-A: 2|Content-Length: 2||ok",
      want: .whole("200 OK|X-A: 1|X-A: 2|Content-Length: 2", "ok")),
    .init(
      "an empty field", "HTTP/1.1 200 OK|X-A:|Content-Length: 2||ok",
      want: .whole("200 OK|X-A: |Content-Length: 2", "ok")),
    .init(
      "connection fields",
      "HTTP/1.1 200 OK|Connection: X-H, keep-alive|X-H: 1|Keep-Alive: timeout=5|Proxy-Connection: x|Content-Length: 2||ok",
      want: .whole(okHead, "ok")),
    .init(
      "an upgrade offered", "HTTP/1.1 200 OK|Upgrade: h2c|Connection: upgrade|Content-Length: 2||ok",
      want: .whole(okHead, "ok")),
    .init("trailers announced", "HTTP/1.1 200 OK|Trailer: X-T|Content-Length: 2||ok", want: .whole(okHead, "ok")),
    .init(
      "30 KB of fields", "HTTP/1.1 204 No|X-A: \(String(repeating: "a", count: 30_000))||",
      want: .whole("204 No Content|X-A: \(String(repeating: "a", count: 30_000))")),
    .init(
      "a head without end", "HTTP/1.1 200 OK|X-A: \(String(repeating: "a", count: 2_000_000))", .close, want: .refused),
    .init("100,000 fields", "HTTP/1.1 200 OK|\(String(repeating: "X: 1|", count: 100_000))|", .close, want: .refused),
  ]
}
