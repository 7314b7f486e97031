import Testing
import WeirCurl
import WeirTestSupport

@testable import WeirHTTP1

/// The exact bytes of request heads.
@Suite struct RequestHeadWriterTests {
  private static func head(
    _ method: String = "GET", target: String = "/", lines: [String] = [], body: TransferBody = .none,
    isWithoutExpect: Bool = false, after: String = ""
  ) -> String {
    let headers = PreparedHeaders(lines: lines)
    var bytes = Array(after.utf8)
    let upload = Upload(body, expectsContinue: headers.expectsContinue, isForHead: method == "HEAD")
    RequestHeadWriter.append(
      to: &bytes, method: method, target: target[...], host: Array("a.example".utf8),
      fields: isWithoutExpect ? headers.block.leavingOut("expect") : headers.block, isChunked: upload.isChunked,
      length: upload.isEmpty ? nil : upload.length)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(arguments: ["/", "/b/c?d=%20e", "*", "?q", "http://a.example/absolute"])
  func targets(target: String) {
    #expect(Self.head(target: target) == "GET \(target) HTTP/1.1\r\nHost: a.example\r\n\r\n")
  }

  @Test func anUpgradeIsNamedByConnection() {
    var bytes: [UInt8] = []
    RequestHeadWriter.append(
      to: &bytes, method: "GET", target: "/", host: Array("h".utf8), fields: PreparedHeaders(lines: ["A: 1"]).block,
      upgrade: "websocket, x/1")
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket, x/1\r\nA: 1\r\n\r\n")
  }

  @Test func aProxysCredentialComesBehindTheFields() {
    var bytes: [UInt8] = []
    RequestHeadWriter.append(
      to: &bytes, method: "GET", target: "http://h/", host: Array("h".utf8),
      fields: PreparedHeaders(lines: ["A: 1"]).block, proxyAuthorization: Array("Bearer x".utf8))
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == "GET http://h/ HTTP/1.1\r\nHost: h\r\nA: 1\r\nProxy-Authorization: Bearer x\r\n\r\n")
  }

  @Test(arguments: ["HEAD", "OPTIONS", "PATCH", "get", "M-SEARCH"])
  func methods(method: String) {
    #expect(Self.head(method) == "\(method) / HTTP/1.1\r\nHost: a.example\r\n\r\n")
  }

  @Test func theHeadGoesBehindWhatIsThere() {
    #expect(Self.head(after: "before") == "beforeGET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
  }

  /// A target from the middle of a URL that is not in contiguous storage of its own.
  @Test func aTargetThatIsAPartOfAText() {
    let url = "http://a.example/b/c?d"
    var bytes: [UInt8] = []
    RequestHeadWriter.append(
      to: &bytes, method: "GET", target: url.dropFirst(16), host: Array("h".utf8), fields: HeaderBlock())
    #expect(String(decoding: bytes, as: UTF8.self) == "GET /b/c?d HTTP/1.1\r\nHost: h\r\n\r\n")
  }

  @Test func fieldsKeepTheirOrderAndSpelling() {
    #expect(
      Self.head(lines: ["x-A: 1", "Accept: */*", "X-a:  2 ", "Empty:", "Ü: é"])
        == "GET / HTTP/1.1\r\nHost: a.example\r\nx-A: 1\r\nAccept: */*\r\nX-a: 2 \r\nEmpty:\r\nÜ: é\r\n\r\n")
  }

  @Test func fieldsOfTheConnectionAreLeftOut() {
    #expect(
      Self.head(lines: [
        "Connection: close", "Content-Length: 5", "TE: trailers", "Transfer-Encoding: chunked", "Upgrade: x",
      ])
        == "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
  }

  @Test(arguments: [
    ["A: 1", "host:other:81", "B: 2"], ["Host: other:81", "A: 1", "B: 2"], ["A: 1", "B: 2", "HOST:  other:81"],
  ])
  func aHostOfTheUser(lines: [String]) {
    let expected = "Host: other:81\r\nA: 1\r\nB: 2\r\n\r\n"
    #expect(Self.head(lines: lines) == "GET / HTTP/1.1\r\n\(expected)")
    #expect(Self.head(lines: lines, isWithoutExpect: true) == "GET / HTTP/1.1\r\n\(expected)")
  }

  @Test func aHostOfTheUserAmongFramingAndLength() {
    #expect(
      Self.head("PUT", lines: ["A: 1", "Host: other", "B: 2"], body: .pulled(length: nil))
        == "PUT / HTTP/1.1\r\nHost: other\r\nTransfer-Encoding: chunked\r\nA: 1\r\nB: 2\r\n\r\n")
    #expect(
      Self.head("PUT", lines: ["Host: other"], body: .pulled(length: 7))
        == "PUT / HTTP/1.1\r\nHost: other\r\nContent-Length: 7\r\n\r\n")
  }

  @Test(arguments: [0, 1, 9, 10, 99, 100, 1_234_567_890, Int64.max])
  func lengths(length: Int64) {
    let expected = "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: \(length)\r\n\r\n"
    #expect(Self.head("POST", body: .pulled(length: length)) == expected)
    #expect(Self.head("POST", body: .file(path: "/f", size: length)) == expected)
  }

  @Test func bodiesOfOtherKinds() {
    #expect(Self.head("POST", body: .bytes([1, 2, 3])).hasSuffix("\r\nContent-Length: 3\r\n\r\n"))
    #expect(Self.head("POST", body: .bytes([])).hasSuffix("\r\nContent-Length: 0\r\n\r\n"))
    #expect(Self.head("POST", body: .file(path: "/f", size: -1)).hasSuffix("\r\nContent-Length: 0\r\n\r\n"))
    #expect(Self.head("POST") == "POST / HTTP/1.1\r\nHost: a.example\r\n\r\n")
    #expect(Self.head("HEAD", body: .bytes([1])) == "HEAD / HTTP/1.1\r\nHost: a.example\r\n\r\n")
  }

  @Test func theQuestionBeforeABody() {
    let lines = ["A: 1", "expect: 100-continue", "Empty:", "B: 2"]
    #expect(
      Self.head("PUT", lines: lines, body: .bytes([1]))
        == "PUT / HTTP/1.1\r\nHost: a.example\r\nA: 1\r\nexpect: 100-continue\r\nEmpty:\r\nB: 2\r\nContent-Length: 1\r\n\r\n"
    )
    #expect(
      Self.head("PUT", lines: lines, body: .bytes([1]), isWithoutExpect: true)
        == "PUT / HTTP/1.1\r\nHost: a.example\r\nA: 1\r\nEmpty:\r\nB: 2\r\nContent-Length: 1\r\n\r\n")
  }
}
