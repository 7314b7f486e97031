import Foundation
import FoundationNetworking
import Testing
import WeirHTTP

@testable import Weir

@Suite struct LazyHTTPResponseTests {
  static func response(_ head: [UInt8], status: Int = 200) throws -> LazyHTTPResponse {
    LazyHTTPResponse(ResponseHead(status: status, bytes: head), url: try "http://h/p".asURL())
  }

  static func response(_ fields: String, status: Int = 200) throws -> LazyHTTPResponse {
    try response(Array("HTTP/1.1 200 OK\r\n\(fields)\r\n".utf8), status: status)
  }

  @Test(arguments: [
    ("A: 1\r\n", "a", "1"),
    ("A: 1\r\nB: 2\r\n", "b", "2"),
    ("A:1\r\n", "A", "1"),
    ("A: \t 1 2 \t\r\n", "A", "1 2"),
    ("A:\r\n", "A", ""),
    ("A: 1\r\na: 2\r\nB: x\r\nA: 3\r\n", "A", "1, 2, 3"),
    ("A: 1\r\n  2\r\n\t3\r\nB: 4\r\n", "B", "4"),
    ("A: a:b\r\n", "A", "a:b"),
    ("no colon\r\nA: 1\r\n", "A", "1"),
    (": x\r\nA: 1\r\n", "A", "1"),
    ("A: 1\nB: 2\n", "B", "2"),
    ("AB: 1\r\n", "A", nil),
    ("", "A", nil),
    ("A: ü\r\n", "A", "ü"),
  ])
  func fields(fields: String, name: String, value: String?) throws {
    let response = try Self.response(fields)
    #expect(response.value(forHeader: name) == value)
    #expect(response.response?.value(forHTTPHeaderField: name) == value)
  }

  @Test func repeatedFieldsByThemselves() throws {
    let response = try Self.response("A: 1, 2\r\nB: x\r\na: 3\r\n")
    #expect(response.values(ofHeader: "A") == ["1, 2", "3"])
    #expect(response.values(ofHeader: "C") == [])
  }

  @Test func statusLineIsNoField() throws {
    let response = try Self.response(Array("HTTP/1.1 200 a: b\r\n\r\n".utf8))
    #expect(response.value(forHeader: "HTTP/1.1 200 a") == nil)
    #expect(response.response?.allHeaderFields.isEmpty == true)
  }

  @Test func bytesThatAreNotUTF8AreLatin1() throws {
    let response = try Self.response(Array("HTTP/1.1 200 OK\r\nA: caf".utf8) + [0xE9] + Array("\r\n\r\n".utf8))
    #expect(response.value(forHeader: "A") == "café")
    #expect(response.response?.value(forHTTPHeaderField: "A") == "café")
  }

  @Test func buildsOnce() throws {
    let response = try Self.response("Content-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n", status: 404)
    #expect(response.statusCode == 404)
    let built = try #require(response.response)
    #expect(response.response === built)
    #expect(built.statusCode == 404)
    #expect(built.url?.absoluteString == "http://h/p")
    #expect(built.mimeType == "text/plain")
    #expect(built.expectedContentLength == 5)
  }

  @Test func wrapsABuiltResponse() throws {
    let built = try #require(
      HTTPURLResponse(url: try "http://h".asURL(), statusCode: 201, httpVersion: nil, headerFields: ["A": "1"]))
    let response = LazyHTTPResponse(built)
    #expect(response.response === built)
    #expect(response.statusCode == 201)
    #expect(response.value(forHeader: "a") == "1")
    #expect(response.value(forHeader: "b") == nil)
    #expect(response.values(ofHeader: "a") == ["1"])
    #expect(response.values(ofHeader: "b") == [])
    #expect(response.url == built.url)
  }

  @Test func manyFieldsAreReadInLinearTime() throws {
    let lines = (0..<5_000).map { "a\($0): 1\r\nA\($0): 2\r\n" }.joined()
    let response = try Self.response(lines)
    #expect(response.value(forHeader: "a4999") == "1, 2")
    let headers = try #require(response.response).headers
    #expect(headers.count == 5_000)
    #expect(headers["A7"] == "1, 2")
  }

  @Test func anyBytesAreRead() throws {
    var generator = SplitMix(state: 1)
    let alphabet = Array("aA:\r\n \t,;\u{E9}0".utf8) + [0, 0xFF]
    for _ in 0..<2000 {
      let head = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
        alphabet.randomElement(using: &generator) ?? 0
      }
      let response = try Self.response(head)
      _ = response.value(forHeader: "a")
      #expect(response.response != nil)
    }
  }
}

/// A small deterministic generator.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
