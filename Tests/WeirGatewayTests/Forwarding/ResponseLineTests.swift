import Testing
import WeirHTTP
import WeirServer

@testable import WeirGateway

/// Lines of a response's head that go on to the client as they came.
@Suite struct ResponseLineTests {
  @Test(
    "Each is the line that would have been written in its place",
    arguments: [
      "X-A: 1", "X-A:1", "X-A:  1", "X-A: 1 ", "X-A:\t1", "X-A: \t1", "X-A: a\tb", "X-A:", "X-A: ", "X-A:  ",
      "X-A : 1", "X A: 1", ": 1", "X-A: \u{1}", "X-A: \u{7f}", "X-A: \u{fc}", "X-\u{fc}: 1", "X-A: 1\n",
      "X-A: 1\nX-B: 2", "no colon", "Date: x", "Upgrade: h2c", "Via: 1.1 a", "Content-Length: 5",
      "Transfer-Encoding: chunked", "Connection: X-A", "Keep-Alive: 5", "Content-Type: a/b", "Removed: 1",
    ])
  func sameLines(line: String) throws {
    let text = "HTTP/1.1 200 OK\r\n\(line)\r\nX-A: 3\r\nB: c\r\n\r\n"
    let head = ResponseHead(status: 200, version: .http1_1, bytes: Array(text.utf8))
    let upstream = try Upstream(parsing: "http://up:81")
    var route = Route(name: "r", upstream: upstream)
    route.responseHeaders.remove = ["Removed"]
    let policy = HeaderPolicy(route: route, upstream: upstream, pseudonym: "weir")
    var (passed, written) = (WeirServer.ResponseFields(), WeirServer.ResponseFields())
    _ = policy.response(head, isHTTP10: false, to: &passed)
    _ = policy.response(FieldsAlone(head: head), isHTTP10: false, to: &written)
    #expect(String(decoding: passed.bytes, as: UTF8.self) == String(decoding: written.bytes, as: UTF8.self))
    #expect(passed.hasDate == written.hasDate && passed.isRepaired == written.isRepaired)
  }

  /// A response's fields without their lines.
  private struct FieldsAlone: FieldSource {
    let head: ResponseHead
    var mayNameFields: Bool { head.mayNameFields }
    func forEach(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) { head.forEach(body) }
  }
}
