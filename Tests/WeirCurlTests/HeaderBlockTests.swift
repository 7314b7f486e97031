import Testing
import WeirTestSupport

@testable import WeirCurl

@Suite struct HeaderBlockTests {
  @Test(
    arguments: [
      (["A: b"], "A: b\r\n"), (["A:b", "C:  d e "], "A: b\r\nC: d e \r\n"), (["A:", "B: \t"], "A:\r\nB:\r\n"),
      (["A: x:y;z"], "A: x:y;z\r\n"),
    ])
  func keepsLines(lines: [String], expected: String) {
    var block = HeaderBlock()
    for line in lines { block.append(line: line) }
    #expect(String(decoding: block.bytes, as: UTF8.self) == expected)
    #expect(block.defect == nil)
    #expect(block.count == lines.count)
  }

  @Test(arguments: ["", "A", ": b", "A B: c", "A;: b", "A: b\r\nC: d", "A: b\0", "A\n: b", " A: b"])
  func refusesLines(line: String) {
    var block = HeaderBlock()
    block.append(line: "Ok: 1")
    block.append(line: line)
    #expect(block.defect != nil)
    #expect(block.count == 1)
  }

  @Test func showsItsFields() {
    var block = HeaderBlock()
    let lines = ["A: b", "C:", "D: e: f; g"]
    for line in lines { block.append(line: line) }
    var seen: [String] = []
    block.forEach { seen.append(String(decoding: $0, as: UTF8.self) + "|" + String(decoding: $1, as: UTF8.self)) }
    #expect(seen == ["A|b", "C|", "D|e: f; g"])
  }

  @Test func knowsWhatLibcurlWouldAdd() {
    var block = HeaderBlock()
    block.append(line: "accept: */*")
    #expect(block.noted == .accept)
    block.append(line: "CONTENT-TYPE: a")
    block.append(line: "Expect: 100-continue")
    block.append(line: "Accepts: x")
    #expect(block.noted == [.accept, .contentType, .expect])
    #expect(PreparedHeaders(block).expectsContinue)
    #expect(!PreparedHeaders(lines: []).expectsContinue)
  }

  @Test(
    "Framing is left out, whoever adds it",
    arguments: [
      "Content-Length: 5", "content-length: 5", "CONTENT-LENGTH:", "Transfer-Encoding: chunked", "TE: trailers",
      "te:gzip", "Connection: close", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "Trailer: X",
      "Upgrade: h2c",
    ])
  func leavesOutFraming(line: String) {
    var block = HeaderBlock()
    for line in ["A: b", line, "C: d"] { block.append(line: line) }
    #expect(String(decoding: block.bytes, as: UTF8.self) == "A: b\r\nC: d\r\n")
    #expect(block.defect == nil)
  }

  @Test(arguments: ["Content-Lengt: 5", "Content-Length2: 5", "X-TE: a", "tee: a", "Connections: a", "Trailers: a"])
  func keepsWhatOnlyLooksLikeFraming(line: String) {
    var block = HeaderBlock()
    block.append(line: line)
    #expect(String(decoding: block.bytes, as: UTF8.self) == "\(line)\r\n")
  }

  @Test(arguments: ["h", "h:80", "[::1]:80", "a-b.c_d", "h%20", "a!$&'()*+;=~"])
  func takesAHost(value: String) {
    var block = HeaderBlock()
    block.append(line: "hOSt: \(value)")
    #expect(block.defect == nil)
    #expect(block.noted == .host)
    block.append(line: "Host: other")
    #expect(block.defect != nil)
    #expect(String(decoding: block.bytes, as: UTF8.self) == "hOSt: \(value)\r\n")
  }

  @Test(arguments: ["", " ", "a, b", "a,b", "a b", "a\tb", "a/b", "a?b", "a#b", "u@a", "a\\b", "\"a\"", "<a>", "a "])
  func refusesWhatIsNoHost(value: String) {
    var block = HeaderBlock()
    block.append(line: "Host: \(value)")
    #expect(block.defect != nil)
    #expect(block.count == 0)
  }

  @Test func twoBlocksHaveOneHost() {
    var first = HeaderBlock(), second = HeaderBlock()
    first.append(line: "Host: a")
    second.append(line: "Host: a")
    first.append(contentsOf: second)
    #expect(first.defect != nil)
  }
}
