import Testing
import WeirHTTP

@testable import WeirCurl

/// What is left of a response that libcurl did not read.
struct UnreadResponseTests {
  /// The body as far as it goes, and whether it is whole.
  private func body(_ response: String, hasBody: Bool = true, atMost: Int = 3) -> (text: String, end: String) {
    var unread = UnreadResponse(Array(response.utf8))
    var framing = ResponseFraming()
    while let line = unread.line() {
      unread.bytes[line].withUnsafeBytes { bytes in try? framing.take(uncheckedLine: bytes) }
      if line.count <= 2 { break }
    }
    unread.bodyBegins(framing, hasBody: hasBody)
    var text: [UInt8] = []
    while true {
      switch unread.next(atMost: atMost) {
      case .bytes(let range): text += unread.bytes[range]
      case .end: return (String(decoding: text, as: UTF8.self), "end")
      case .cut: return (String(decoding: text, as: UTF8.self), "cut")
      }
    }
  }

  static let length = "HTTP/1.1 413 x\r\nContent-Length: 5\r\n\r\n"
  static let chunked = "HTTP/1.1 413 x\r\nTransfer-Encoding: chunked\r\n\r\n"
  static let toEnd = "HTTP/1.1 413 x\r\n\r\n"

  @Test(arguments: [
    (length + "hello", "hello", "end"), (length + "hello, more", "hello", "end"), (length + "hel", "hel", "cut"),
    (length, "", "cut"), ("HTTP/1.1 413 x\r\nContent-Length: 0\r\n\r\n", "", "end"),
    (chunked + "5\r\nhello\r\n0\r\n\r\n", "hello", "end"),
    (chunked + "A;x=y\r\n0123456789\r\n1 \r\n!\r\n0\r\n\r\n", "0123456789!", "end"),
    (chunked + "5  \r\nhello\r\n3\t;a=b\r\n!!!\r\n1;\r\n?\r\n0 \r\n\r\n", "hello!!!?", "end"),
    (chunked + "5 x\r\nhello\r\n0\r\n\r\n", "", "cut"), (chunked + "5\nhello\n0\n\n", "", "cut"),
    (chunked + "0\r\nX: y\r\n\r\nmore", "", "end"), (chunked + "5\r\nhello\r\n0\r\n", "hello", "cut"),
    (chunked + "5\r\nhello\r\n", "hello", "cut"), (chunked + "5\r\nhel", "hel", "cut"),
    (chunked + "5\r\nhello!\r\n", "hello", "cut"),
    (chunked + "x\r\n", "", "cut"), (chunked + "-1\r\n", "", "cut"), (chunked + "+1\r\nx\r\n", "", "cut"),
    (chunked + "ffffffffffffffffff\r\n", "", "cut"), (chunked + "7fffffffffffffff\r\nx", "x", "cut"),
    (chunked + "\r\n", "", "cut"),
    (toEnd + "some", "some", "cut"), (toEnd, "", "cut"),
  ])
  func bodies(response: String, text: String, end: String) {
    for count in [1, 3, 100] {
      let found = body(response, atMost: count)
      #expect(found.text == text && found.end == end, "\(found)")
    }
  }

  @Test
  func withoutBody() {
    let found = body(Self.length + "hello", hasBody: false)
    #expect(found.text == "" && found.end == "end")
  }

  @Test
  func headThatIsNotWhole() {
    var unread = UnreadResponse(Array("HTTP/1.1 413 x\r\nContent-".utf8))
    #expect(unread.line() == 0..<16)
    let rest = unread.line()
    #expect(rest == nil)
  }
}
