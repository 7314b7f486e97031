import Testing
import WeirHTTP

@Suite struct ResponseHeadTests {
  @Test(
    arguments: [
      ("HTTP/1.1 200 OK\r\n", 1, 1, 200), ("HTTP/1.0 404\r\n", 1, 0, 404), ("HTTP/2 200\r\n", 2, 0, 200),
      ("HTTP/2 200 \r\n", 2, 0, 200), ("HTTP/1.1 999 x", 1, 1, 999), ("HTTP/3 103\n", 3, 0, 103),
      ("HTTP/1.1 000 x", 1, 1, 0),
      ("HTTP/1.1 2000 OK\r\n", nil, 0, 0), ("HTTP/1.1 20 OK\r\n", nil, 0, 0), ("HTTP/1.1  200 OK\r\n", nil, 0, 0),
      ("HTTP/1.1 2x0 OK\r\n", nil, 0, 0), ("http/1.1 200 OK\r\n", nil, 0, 0), ("HTTP/x.1 200 OK\r\n", nil, 0, 0),
      ("HTTP/1.x 200 OK\r\n", nil, 0, 0), ("HTTP/11 200 OK\r\n", nil, 0, 0), ("ICY 200 OK\r\n", nil, 0, 0),
      ("HTTP/1.1 +20 OK", nil, 0, 0), ("HTTP/1.1 200OK\r\n", nil, 0, 0), ("HTTP/1.1\t200 OK\r\n", nil, 0, 0),
      ("HTTP/1.1 2", nil, 0, 0), ("HTTP/2 20", nil, 0, 0), ("", nil, 0, 0),
    ] as [(String, UInt8?, UInt8, Int)])
  func statusLines(line: String, major: UInt8?, minor: UInt8, status: Int) {
    let read = line.withOctets { StatusLine($0) }
    #expect(read?.version == major.map { HTTPVersionNumber(major: $0, minor: minor) })
    if let read { #expect(read.status == status) }
  }

  @Test(arguments: [
    (100, true, false), (101, false, false), (103, true, false), (200, false, true), (204, false, false),
    (304, false, false), (404, false, true), (999, false, true),
  ])
  func kinds(status: Int, isInterim: Bool, mayHaveBody: Bool) throws {
    let line = try #require("HTTP/1.1 \(status) x".withOctets { StatusLine($0) })
    #expect(line.isInterim == isInterim)
    #expect(line.mayHaveBody == mayHaveBody)
  }

  @Test func everyFieldAsReceived() {
    var fields: [String] = []
    let head = ResponseHead(status: 200, bytes: Array("HTTP/1.1 200 OK\r\nA: 1\r\na:2 \r\nB: x\r\n y: z\r\n\r\n".utf8))
    head.forEach { fields.append("\(FieldSyntax.text($0))=\(FieldSyntax.text($1))") }
    #expect(fields == ["A=1", "a=2", "B=x"])
    #expect(head.value(forField: "A") == "1, 2")
    #expect(head.value(forField: "y") == nil)
    #expect(head.values(ofField: "a") == ["1", "2"])
    #expect(head.values(ofField: "y") == [])
    #expect(head.combinedFields() == ["A": "1, 2", "B": "x"])
  }

  @Test(
    "A location that comes twice is one, two are none",
    arguments: [
      ("", nil), ("Location: /a\r\n", "/a"), ("location: /a\r\nLocation: /a\r\n", "/a"),
      ("Location: /a\r\nLocation: /b\r\n", nil), ("Location: /a\r\nLocation:\r\n", nil),
      ("Location: /a, /a\r\n", "/a,%20/a"), ("Location: /x?f[a]=b%20c%\r\n", "/x?f%5Ba%5D=b%20c%25"),
    ] as [(String, String?)])
  func location(fields: String, leads: String?) {
    let head = ResponseHead(status: 302, bytes: Array("HTTP/1.1 302 Found\r\n\(fields)\r\n".utf8))
    #expect(head.location == leads)
  }

  /// The octets decide, not the text that Latin 1 would make of them.
  @Test func aLocationThatIsNotUTF8() {
    let fields = Array("Location: /a%20".utf8) + [0xe9, 0x20, 0xff] + Array("b\r\n\r\n".utf8)
    let head = ResponseHead(status: 302, bytes: Array("HTTP/1.1 302 Found\r\n".utf8) + fields)
    #expect(head.location == "/a%20%E9%20%FFb")
  }
}
