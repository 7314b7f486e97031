import Testing
import WeirServer

@testable import WeirGateway

@Suite struct ReframingTests {
  @Test(
    arguments: [
      ([], 200, false, .chunked), ([("Content-Length", "5")], 200, false, .length(5)),
      ([("content-length", "0")], 200, false, .length(0)),
      ([("Content-Length", "5, 5"), ("Content-Length", " 5")], 200, false, .length(5)),
      ([("Transfer-Encoding", "chunked")], 200, false, .chunked),
      ([("Transfer-Encoding", "chunked"), ("Content-Length", "5")], 200, false, .chunked),
      ([("Content-Length", "x"), ("Transfer-Encoding", "chunked")], 200, false, .chunked),
      ([("Content-Length", "5"), ("Content-Length", "6")], 200, false, nil),
      ([("Content-Length", "5, 6")], 200, false, nil), ([("Content-Length", "5,")], 200, false, nil),
      ([("Content-Length", "")], 200, false, nil), ([("Content-Length", "-1")], 200, false, nil),
      ([("Content-Length", "+1")], 200, false, nil), ([("Content-Length", "1 2")], 200, false, nil),
      ([("Content-Length", "1234567890123456789")], 200, false, nil),
      ([], 204, false, BodyLength.none), ([("Content-Length", "5")], 204, false, BodyLength.none),
      ([], 304, false, BodyLength.none), ([("Content-Length", "5")], 304, false, .length(5)),
      ([], 200, true, BodyLength.none), ([("Content-Length", "5")], 200, true, .length(5)),
      ([("Transfer-Encoding", "chunked")], 200, true, BodyLength.none),
      ([("Transfer-Encoding", "chunked")], 304, false, BodyLength.none),
    ] as [([(String, String)], Int, Bool, BodyLength?)])
  func framesAnew(fields: [(String, String)], status: Int, isHead: Bool, expected: BodyLength?) {
    var framing = Reframing()
    for (name, value) in fields {
      Array(name.utf8).withUnsafeBytes { name in Array(value.utf8).withUnsafeBytes { framing.note(name, $0) } }
    }
    #expect(framing.bodyLength(status: status, isHead: isHead) == expected)
  }
}
