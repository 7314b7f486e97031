import Testing

@testable import WeirServer

@Suite struct ChunkedBodyTests {
  private static let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

  @Test(arguments: [
    ("0\r\n\r\n", ""),
    ("000\r\n\r\n", ""),
    ("1\r\na\r\n0\r\n\r\n", "a"),
    ("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789"),
    ("1;x\r\na\r\n0\r\n\r\n", "a"),
    ("1;x=\"y;z\\\"\";b;c=d\r\na\r\n0;last\r\n\r\n", "a"),
    ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
    ("0\r\nTrailer: value\r\nOther:\r\n\r\n", ""),
  ])
  func accepted(text: String, body: String) {
    for cut in [1, 2, 3, .max] {
      let parsed = Parsed(Self.head + text, cut: cut)
      #expect(parsed.refusal == nil)
      #expect(parsed.requests.first?.isComplete == true)
      #expect(parsed.requests.first.map { String(decoding: $0.body, as: UTF8.self) } == body)
    }
  }

  @Test(arguments: [
    ("\r\n", 400),
    ("g\r\n", 400),
    ("-1\r\n", 400),
    (" 1\r\na\r\n", 400),
    ("0x1\r\na\r\n", 400),
    ("1\na\r\n", 400),
    ("1\r\rn", 400),
    ("1 \r\na\r\n", 400),
    ("1 2\r\na\r\n", 400),
    ("1,x\r\na\r\n", 400),
    ("1\r\nab\r\n", 400),
    ("1\r\na\n0\r\n\r\n", 400),
    ("1\r\na\r0\r\n\r\n", 400),
    ("1;\r\na\r\n", 400),
    ("1 ;x\r\na\r\n", 400),
    ("1\t;x\r\na\r\n", 400),
    ("1; x\r\na\r\n", 400),
    ("1;=x\r\na\r\n", 400),
    ("1;x;\r\na\r\n", 400),
    ("1;;x\r\na\r\n", 400),
    ("1;x=\"y\r\na\r\n", 400),
    ("0;\r\n\r\n", 400),
    ("1;x\u{1}\r\na\r\n", 400),
    ("1;x\ry\r\na\r\n", 400),
    ("0\r\n folded\r\n\r\n", 400),
    ("0\r\nno colon\r\n\r\n", 400),
    ("0\r\n: no name\r\n\r\n", 400),
    ("0\r\nX: a\nY: b\r\n\r\n", 400),
    ("0\r\nX: a\u{0}\r\n\r\n", 400),
    ("0\r\n\ra", 400),
    ("1;\(String(repeating: "x", count: 300))\r\na\r\n", 400),
    ("10000000000000000\r\n", 400),
    ("00000000000000001\r\na\r\n", 400),
    ("ffffffffffffffffffffff\r\n", 400),
    ("ffffffffffffffff\r\n", 400),
    ("7fffffffffffffff\r\n", 413),
    ("65\r\n", 413),
    ("32\r\n\(String(repeating: "a", count: 50))\r\n33\r\n", 413),
    ("0\r\nX: \(String(repeating: "x", count: 300))\r\n\r\n", 431),
  ])
  func refused(text: String, status: Int) {
    let limits = ServerLimits.with {
      $0.bodyBytes = 100
      $0.headerBytes = 256
    }
    for cut in [1, 2, .max] { #expect(Parsed(Self.head + text, limits: limits, cut: cut).refusal?.status == status) }
  }

  @Test func extensionsAreBoundedOverAllChunks() {
    let chunk = "1;\(String(repeating: "x", count: 200))\r\na\r\n"
    let parsed = Parsed(Self.head + String(repeating: chunk, count: 100))
    #expect(parsed.refusal?.status == 400)
    #expect(parsed.requests.first.map { $0.body.count < 90 } == true)
  }

  /// A stream that lasts has as many extensions as chunks.
  @Test func extensionsAreBoundedByTheirShare() {
    let short = Parsed(Self.head + String(repeating: "1;a\r\na\r\n", count: 20_000) + "0;a\r\n\r\n")
    #expect(short.refusal == nil && short.requests.first?.body.count == 20_000)
    let content = String(repeating: "a", count: 256)
    let long = "100;\(String(repeating: "x", count: 240))\r\n\(content)\r\n"
    let signed = Parsed(Self.head + String(repeating: long, count: 200) + "0\r\n\r\n")
    #expect(signed.refusal == nil && signed.requests.first?.body.count == 200 * 256)
  }
}
