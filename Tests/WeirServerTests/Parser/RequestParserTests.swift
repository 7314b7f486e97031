import Testing

@testable import WeirServer

@Suite struct RequestParserTests {
  /// Each head is completed by a Host field where it needs one.
  @Test(
    arguments: [
      ("GET / HTTP/1.1", "GET / http11 origin / -"),
      ("GET /a%20b?c=d?e HTTP/1.1", "GET /a%20b?c=d?e http11 origin /a%20b c=d?e"),
      ("GET /? HTTP/1.1", "GET /? http11 origin / "),
      ("GET //x HTTP/1.0", "GET //x http10 origin //x -"),
      ("GET / HTTP/1.2", "GET / http11 origin / -"),
      ("GET / HTTP/1.9", "GET / http11 origin / -"),
      ("PURGE /x HTTP/1.1", "PURGE /x http11 origin /x -"),
      ("M-SEARCH * HTTP/1.1", nil),
      ("OPTIONS * HTTP/1.1", "OPTIONS * http11 asterisk * -"),
      ("GET http://a.b HTTP/1.1", "GET http://a.b http11 absolute / -"),
      ("GET HTTPS://a.b:80/c?d HTTP/1.1", "GET HTTPS://a.b:80/c?d http11 absolute /c d"),
      ("GET http://a?d HTTP/1.1", "GET http://a?d http11 absolute / d"),
      ("GET http://[::1]:8080/ HTTP/1.1", "GET http://[::1]:8080/ http11 absolute / -"),
      ("CONNECT a.b:443 HTTP/1.1", "CONNECT a.b:443 http11 authority  -"),
      ("GET /<\"{|}> HTTP/1.1", "GET /<\"{|}> http11 origin /<\"{|}> -"),
    ] as [(String, String?)])
  func requestLine(line: String, expected: String?) {
    let parsed = Parsed(line + "\r\nHost: h\r\n\r\n")
    #expect(parsed.requests.first?.line == expected)
    #expect(parsed.refusal?.status == (expected == nil ? 400 : nil))
  }

  @Test(arguments: [
    // Request lines (RFC 9112 §3)
    ("GET /\r\n\r\n", 400),
    ("GET  / HTTP/1.1\r\n\r\n", 400),
    ("GET /  HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1 \r\n\r\n", 400),
    (" GET / HTTP/1.1\r\n\r\n", 400),
    ("GET\t/\tHTTP/1.1\r\n\r\n", 400),
    ("G(T / HTTP/1.1\r\n\r\n", 400),
    ("GET /a b HTTP/1.1\r\n\r\n", 400),
    ("GET /\u{7f} HTTP/1.1\r\n\r\n", 400),
    ("GET /ü HTTP/1.1\r\n\r\n", 400),
    ("GET /#a HTTP/1.1\r\n\r\n", 400),
    ("GET a HTTP/1.1\r\n\r\n", 400),
    ("GET * HTTP/1.1\r\n\r\n", 400),
    ("GET ftp://a/ HTTP/1.1\r\n\r\n", 400),
    ("GET http:///a HTTP/1.1\r\n\r\n", 400),
    ("GET http://u@a/ HTTP/1.1\r\n\r\n", 400),
    ("GET http://a:x/ HTTP/1.1\r\n\r\n", 400),
    ("GET http://:80/ HTTP/1.1\r\n\r\n", 400),
    ("GET http://[::1/ HTTP/1.1\r\n\r\n", 400),
    ("GET a.b:443 HTTP/1.1\r\n\r\n", 400),
    ("CONNECT / HTTP/1.1\r\n\r\n", 400),
    ("CONNECT a.b HTTP/1.1\r\n\r\n", 400),
    ("CONNECT a.b: HTTP/1.1\r\n\r\n", 400),
    ("CONNECT u@a.b:443 HTTP/1.1\r\n\r\n", 400),
    ("CONNECT a.b:123456 HTTP/1.1\r\n\r\n", 400),
    ("CONNECT http://a.b:443 HTTP/1.1\r\n\r\n", 400),
    ("CONNECT a.b:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", 400),
    ("CONNECT a.b:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("CONNECT a.b:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
    ("GET http:/x HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\nHost: a\n\n", 400),
    ("GET / HTTP/1.1\rHost: a\r\r\n", 400),
    ("\r\n\r\nGET / HTTP/1.1\r\n\r\n", 400),
    ("\nGET / HTTP/1.1\r\n\r\n", 400),
    ("\u{16}\u{3}\u{1}", 400),
    ("\0", 400),
    ("\r\n\0", 400),
    // Versions
    ("GET / http/1.1\r\n\r\n", 400),
    ("GET / HTTP/1\r\n\r\n", 400),
    ("GET / HTTP/11.1\r\n\r\n", 400),
    ("GET / HTTP/0.9\r\n\r\n", 505),
    ("GET / HTTP/1.x\r\n\r\n", 400),
    ("GET / HTTP/1.10\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\n\r\n", 505),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    // Sizes
    ("\(String(repeating: "M", count: 33)) / HTTP/1.1\r\n\r\n", 501),
    ("GET /\(String(repeating: "a", count: 100)) HTTP/1.1\r\n\r\n", 414),
    ("GET /\(String(repeating: "a", count: 200))", 414),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 300))\r\n\r\n", 431),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 300))", 431),
    ("GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "a:b\r\n", count: 20))\r\n", 431),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
  ])
  func refused(text: String, status: Int) {
    let limits = ServerLimits.with {
      $0.targetBytes = 100
      $0.headerBytes = 256
      $0.headerFields = 20
      $0.bodyBytes = 100
    }
    #expect(Parsed(text, limits: limits).refusal?.status == status)
    #expect(Parsed(text, limits: limits, cut: 1) == Parsed(text, limits: limits))
  }

  @Test(arguments: [
    ("Host : a", 400),
    (" Host: a", 400),
    ("Host: a\r\nX: a\r\n b", 400),
    ("Host: a\r\nX", 400),
    ("Host: a\r\n: b", 400),
    ("Host: a\r\nX Y: b", 400),
    ("Host: a\r\nX\u{e9}: b", 400),
    ("Host: a\r\nX: a\u{0}b", 400),
    ("Host: a\r\nX: a\rb", 400),
    ("Host: a\r\nX: a\nY: b", 400),
    ("Host: a\r\nX: a\u{7f}b", 400),
    ("X: y", 400),
    ("Host: a\r\nHost: a", 400),
    ("Host: a\r\nhOST: b", 400),
    ("Host: a b", 400),
    ("Host: a/b", 400),
    ("Host: u@a", 400),
    ("Host: a:b", 400),
    ("Host: a:123456", 400),
    ("Host: [::1", 400),
    ("Host: []", 400),
    ("Host: ::1", 400),
    ("Host: a\r\nContent-Length: 1\r\nContent-Length: 1", 400),
    ("Host: a\r\nContent-Length: 1, 1", 400),
    ("Host: a\r\nContent-Length: +1", 400),
    ("Host: a\r\nContent-Length: -1", 400),
    ("Host: a\r\nContent-Length: 0x1", 400),
    ("Host: a\r\nContent-Length: 1 1", 400),
    ("Host: a\r\nContent-Length:", 400),
    ("Host: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked", 400),
    ("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3", 400),
    ("Host: a\r\nTransfer-Encoding: chunked, chunked", 400),
    ("Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400),
    ("Host: a\r\nTransfer-Encoding: chunked, gzip", 400),
    ("Host: a\r\nTransfer-Encoding: chunked,", 400),
    ("Host: a\r\nTransfer-Encoding:", 400),
    ("Host: a\r\nTransfer-Encoding: gzip", 501),
    ("Host: a\r\nTransfer-Encoding: gzip, chunked", 501),
    ("Host: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked", 501),
    ("Host: a\r\nTransfer-Encoding: identity", 501),
    ("Host: a\r\nTransfer-Encoding: xchunked", 501),
    ("Host: a\r\nTransfer-Encoding: chunked;a=b", 501),
    ("Host: a\r\nTransfer-Encoding: \"chunked\"", 501),
    ("Host: a\r\nExpect: 200-ok", 417),
    ("Host: a\r\nExpect: 100-continue\r\nExpect: 100-continue", 400),
    ("Host: a\r\nExpect: 100-continue, x", 417),
  ])
  func refusedFields(fields: String, status: Int) {
    let text = "POST / HTTP/1.1\r\n\(fields)\r\n\r\n"
    #expect(Parsed(text).refusal?.status == status)
    #expect(Parsed(text, cut: 1).refusal?.status == status)
  }

  @Test(
    arguments: [
      ("Host: a.b:80", .none, true, "a.b:80"),
      ("Host:", .none, true, ""),
      ("host: [::1]:8080", .none, true, "[::1]:8080"),
      ("Host:\t a \t", .none, true, "a"),
      ("Host: a_b-c.d~e!$&'()*+,;=%41", .none, true, "a_b-c.d~e!$&'()*+,;=%41"),
      ("Host: a\r\nContent-Length: 0", .length(0), true, "a"),
      ("Host: a\r\ncontent-length: 007", .length(7), true, "a"),
      ("Host: a\r\nTransfer-Encoding: Chunked", .chunked, true, "a"),
      ("Host: a\r\nConnection: close", .none, false, "a"),
      ("Host: a\r\nConnection: x, CLOSE ,y", .none, false, "a"),
      ("Host: a\r\nConnection: closed", .none, true, "a"),
      ("Host: a\r\nX: \u{fc} \t\"quoted\"", .none, true, "a"),
    ] as [(String, BodyLength, Bool, String)])
  func accepted(fields: String, length: BodyLength, keepsAlive: Bool, authority: String) throws {
    let text = "POST / HTTP/1.1\r\n\(fields)\r\n\r\n"
    for cut in [1, .max] {
      let parsed = Parsed(text, cut: cut)
      let request = try #require(parsed.requests.first)
      #expect(parsed.refusal == nil)
      #expect(request.bodyLength == length)
      #expect(request.keepsAlive == keepsAlive)
      #expect(request.authority == authority)
    }
  }

  @Test(arguments: [
    ("", 200, false), ("Connection: keep-alive", 200, true), ("Connection: close, keep-alive", 200, false),
    ("Transfer-Encoding: chunked", 400, false), ("Expect: 100-continue", 200, false),
  ])
  func version10(fields: String, status: Int, keepsAlive: Bool) {
    let parsed = Parsed("GET / HTTP/1.0\r\n\(fields.isEmpty ? "" : fields + "\r\n")\r\n")
    #expect(parsed.refusal?.status ?? 200 == status)
    #expect(parsed.requests.first?.keepsAlive ?? false == keepsAlive)
  }

  @Test func absoluteTargetNamesTheHost() {
    let parsed = Parsed("GET http://one/ HTTP/1.1\r\nHost: two\r\n\r\n")
    #expect(parsed.requests.first?.authority == "one")
  }

  @Test func oneEmptyLineMayLead() {
    for cut in [1, 2, 3, .max] {
      #expect(Parsed("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", cut: cut).requests.count == 1)
    }
  }

  /// RFC 9112 §2.2: one that an old client sends after a body. A second one is no request.
  @Test(arguments: [1, 2, 3, .max])
  func oneEmptyLineMayFollowABody(cut: Int) {
    let (post, get) = ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    let one = Parsed(post + "\r\n" + get, cut: cut)
    #expect(one.requests.map(\.isComplete) == [true, true] && one.refusal == nil)
    let two = Parsed(post + "\r\n\r\n" + get, cut: cut)
    #expect(two.requests.count == 1 && two.refusal?.status == 400)
  }

  @Test func continuesOnlyWithABody() {
    func expects(_ fields: String) -> Bool {
      var parser = RequestParser(limits: RequestParser.Limits(ServerLimits()))
      var position = 0
      let bytes = Array("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n\(fields)\r\n".utf8)
      guard case .head(let head) = parser.next(bytes.span, at: &position) else { return false }
      return head.expectsContinue
    }
    #expect(expects("Content-Length: 1\r\n"))
    #expect(expects("Transfer-Encoding: chunked\r\n"))
    #expect(!expects("Content-Length: 0\r\n"))
    #expect(!expects(""))
  }

  @Test func fieldsAreFoundWithoutCase() throws {
    var parser = RequestParser(limits: RequestParser.Limits(ServerLimits()))
    var position = 0
    let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nAccept: x, y\r\naCCept:z\r\nEmpty:\r\n\r\n".utf8)
    guard case .head(let head) = parser.next(bytes.span, at: &position) else {
      Issue.record("no head")
      return
    }
    #expect(head.fields.count == 4)
    #expect(head.fields["ACCEPT"] == "x, y")
    #expect(head.fields.combined("accept") == "x, y, z")
    #expect(head.fields["empty"] == "")
    #expect(head.fields["none"] == nil)
    #expect(head.isMethod("GET"))
    #expect(!head.isMethod("get"))
    #expect(head.isPath("/"))
  }

  @Test func pipelinedRequestsAreEqualHoweverCut() {
    let text = """
      POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\
      GET /b HTTP/1.1\r\nHost: b\r\nX-Long: \(String(repeating: "v", count: 300))\r\n\r\n\
      PUT /c HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0A\r\n0123456789\r\n0\r\nT: u\r\n\r\n\
      GET /d HTTP/1.1\r\nHost: d\r\n\r\n
      """
    let whole = Parsed(text)
    #expect(whole.requests.map(\.body) == [Array("hello".utf8), [], Array("abc0123456789".utf8), []])
    #expect(whole.requests.map(\.isComplete) == [true, true, true, true])
    for cut in 1...60 { #expect(Parsed(text, cut: cut) == whole) }
  }

  @Test func refusalIsFinal() {
    var parser = RequestParser(limits: RequestParser.Limits(ServerLimits()))
    var position = 0
    _ = parser.next(Array("?\r\n".utf8).span, at: &position)
    position = 0
    guard case .refused = parser.next(Array("GET / HTTP/1.0\r\n\r\n".utf8).span, at: &position) else {
      Issue.record("went on")
      return
    }
  }
}
