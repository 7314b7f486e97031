import Foundation
import FoundationNetworking
import Testing
import WeirHTTP
import WeirTestSupport

@testable import Weir

@Suite("§8.3 Downloads: what a response means to a resumed one")
struct ResumeRuleTests {
  static func head(_ status: Int, _ fields: String...) -> LazyHTTPResponse { head(status, fields) }

  static func head(_ status: Int, _ fields: [String]) -> LazyHTTPResponse {
    let text = "HTTP/1.1 \(status) X\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    return LazyHTTPResponse(ResponseHead(status: status, bytes: Array(text.utf8)), url: URL(string: "http://h/"))
  }

  @Test func verdicts() {
    let rule = ResumeRule(offset: 5, validator: .entityTag("\"v1\""), total: 10)
    let tag = "ETag: \"v1\""
    let append = ResumeRule.Verdict.append(length: 5, total: 10)
    let table: [(LazyHTTPResponse, ResumeRule.Verdict)] = [
      (Self.head(206, tag, "Content-Range: bytes 5-9/10"), append),
      (Self.head(206, tag, "Content-Range: Bytes 5-9/10", "Content-Length: 5"), append),
      (Self.head(206, tag, "Content-Range: bytes 5-9/*"), append),
      (Self.head(206, tag, "Content-Range: bytes 5-9/10", "Content-Encoding: identity"), append),
      (Self.head(206, "Content-Range: bytes 5-9/10"), .askAgain),
      (Self.head(206, "ETag: \"v2\"", "Content-Range: bytes 5-9/10"), .askAgain),
      (Self.head(206, "ETag: W/\"v1\"", "Content-Range: bytes 5-9/10"), .askAgain),
      (Self.head(206, tag), .askAgain),
      (Self.head(206, tag, "Content-Range: bytes 4-9/10"), .askAgain),
      (Self.head(206, tag, "Content-Range: bytes 6-9/10"), .askAgain),
      (Self.head(206, tag, "Content-Range: bytes 5-8/10"), .askAgain),
      (Self.head(206, tag, "Content-Range: bytes 5-9/11"), .askAgain),
      (Self.head(206, tag, "Content-Range: bytes 5-8/*"), .askAgain),
      (Self.head(206, tag, "Content-Range: bytes 5-9/10", "Content-Length: 6"), .askAgain),
      (Self.head(206, tag, "Content-Range: bytes 5-9/10", "Content-Encoding: gzip"), .askAgain),
      (Self.head(206, tag, "Content-Type: multipart/byteranges; boundary=x"), .askAgain),
      (Self.head(206, tag, "Content-Range: bytes 9223372036854775807-9223372036854775808/*"), .askAgain),
      (Self.head(200, tag, "Content-Range: bytes 5-9/10"), .whole),
      (Self.head(416, "Content-Range: bytes */10"), .askAgain),
      (Self.head(304), .other), (Self.head(401), .other), (Self.head(500), .other), (Self.head(204), .other),
    ]
    for (response, verdict) in table {
      #expect(rule.verdict(on: response) == verdict, "\(String(decoding: response.head.bytes, as: UTF8.self))")
    }
  }

  @Test func datesAreComparedAsTheyAreWritten() {
    let rule = ResumeRule(offset: 1, validator: .lastModified("Sun, 06 Nov 1994 08:49:37 GMT"), total: nil)
    let range = "Content-Range: bytes 1-3/4"
    #expect(
      rule.verdict(on: Self.head(206, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", range))
        == .append(length: 3, total: 4))
    #expect(rule.verdict(on: Self.head(206, "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT", range)) == .askAgain)
    #expect(rule.verdict(on: Self.head(206, range)) == .askAgain)
  }

  @Test func contentRanges() {
    let good: [(String, Int64, Int64, Int64?)] = [
      ("bytes 0-0/1", 0, 0, 1), ("bytes 5-9/*", 5, 9, nil), ("BYTES 1-2/3", 1, 2, 3),
    ]
    for (text, first, last, total) in good {
      let range = ContentRange(text)
      #expect(range?.first == first && range?.last == last && range?.total == total, "\(text)")
    }
    let bad = [
      "", "bytes", "bytes 5-9", "bytes */10", "bytes 9-5/10", "bytes 5-10/10", "bytes -5-9/10", "bytes 5-9/10/11",
      "items 5-9/10", "bytes  5-9/10", "bytes 5–9/10", "bytes 5-99999999999999999999/*", "bytes +5-9/10",
      "bytes=5-9/10",
    ]
    for text in bad { #expect(ContentRange(text) == nil, "\(text)") }
  }

  @Test func whichResponsesCanBeResumed() throws {
    let url = try #require(URL(string: "http://h/"))
    let get = URLRequest(url: url)
    let post = try URLRequest(url: url, method: .post)
    let changed = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"
    let later = "Date: Sun, 06 Nov 1994 08:49:38 GMT"
    func validator(_ response: LazyHTTPResponse, _ request: URLRequest, isRest: Bool = false) -> ResumeData.Validator? {
      Resumability.validator(of: response, to: request, isRest: isRest)
    }
    #expect(validator(Self.head(200, "ETag: \"v\""), get) == .entityTag("\"v\""))
    #expect(validator(Self.head(200, "ETag: \"v\"", changed), get) == .entityTag("\"v\""))
    #expect(validator(Self.head(200, changed, later), get) == .lastModified("Sun, 06 Nov 1994 08:49:37 GMT"))
    // RFC 9110 sections 13.1.5 and 8.8.2.2.
    for fields in [
      [changed], [changed, "Date: Sun, 06 Nov 1994 08:49:37 GMT"], [changed, "Date: lately"],
      [changed, later, "ETag: W/\"v\""], [changed, later, "ETag: v"], ["Last-Modified: lately", later],
    ] {
      #expect(validator(Self.head(200, fields), get) == nil, "\(fields)")
    }
    #expect(validator(Self.head(206, "ETag: \"v\""), get, isRest: true) != nil)
    let not: [(LazyHTTPResponse, URLRequest)] = [
      (Self.head(200), get), (Self.head(200, "ETag: W/\"v\""), get), (Self.head(200, "ETag: v"), get),
      (Self.head(200, "ETag: \"v\"", "Accept-Ranges: none"), get),
      (Self.head(200, "ETag: \"v\"", "Accept-Ranges: None"), get),
      (Self.head(200, "ETag: \"v\"", "Content-Encoding: gzip"), get), (Self.head(404, "ETag: \"v\""), get),
      (Self.head(203, "ETag: \"v\""), get), (Self.head(200, "ETag: \"v\""), post),
      (Self.head(206, "ETag: \"v\""), get),
    ]
    for (response, request) in not {
      #expect(validator(response, request) == nil, "\(String(decoding: response.head.bytes, as: UTF8.self))")
    }
  }
}
