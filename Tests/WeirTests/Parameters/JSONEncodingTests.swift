import Foundation
import FoundationNetworking
import Testing

@testable import Weir

@Suite("§13 Parameter encoding: JSON") struct JSONEncodingTests {
  static func request(_ headers: HTTPHeaders? = nil) throws -> URLRequest {
    try URLRequest(url: "http://h/", method: .post, headers: headers)
  }

  @Test func nilChangesNothing() throws {
    let request = try Self.request()
    #expect(try JSONEncoding.default.encode(request, with: nil) == request)
    #expect(try JSONEncoding.default.encode(request, withJSONObject: nil) == request)
  }

  @Test func dictionaries() throws {
    let request = try JSONEncoding(options: .sortedKeys).encode(
      try Self.request(), with: ["a": [1, "x", true] as [any Sendable], "b": NSNull()])
    #expect(request.httpBody.map { String(decoding: $0, as: UTF8.self) } == #"{"a":[1,"x",true],"b":null}"#)
    #expect(request.headers["Content-Type"] == "application/json")
  }

  @Test func arrays() throws {
    let request = try JSONEncoding.default.encode(try Self.request(), withJSONObject: ["a", "b"])
    #expect(request.httpBody == Data(#"["a","b"]"#.utf8))
  }

  @Test("Of no parameters, and of numbers as they are")
  func emptyAndNumbers() throws {
    #expect(try JSONEncoding.default.encode(try Self.request(), with: [:]).httpBody == Data("{}".utf8))
    #expect(try JSONEncoding.default.encode(try Self.request(), withJSONObject: [Any]()).httpBody == Data("[]".utf8))
    let request = try JSONEncoding.default.encode(
      try Self.request(), withJSONObject: [1, 1.5, true, false, "1"] as [any Sendable])
    #expect(request.httpBody == Data(#"[1,1.5,true,false,"1"]"#.utf8))
  }

  @Test func prettyPrinted() throws {
    let request = try JSONEncoding.prettyPrinted.encode(try Self.request(), with: ["a": 1])
    #expect(request.httpBody?.contains(UInt8(ascii: "\n")) == true)
  }

  @Test func contentTypeOfTheCallerStays() throws {
    let request = try JSONEncoding.default.encode(try Self.request(["CONTENT-TYPE": "a/b"]), with: ["a": 1])
    #expect(request.headers["Content-Type"] == "a/b")
  }

  @Test(arguments: [["a": Date()], ["a": Double.nan], ["a": Data()], ["a": SplitMix(state: 0)]] as [Parameters])
  func whatIsNoJSON(parameters: Parameters) throws {
    let request = try Self.request()
    let error = try #require(throws: WeirError.self) { try JSONEncoding.default.encode(request, with: parameters) }
    guard case .parameterEncodingFailed(.jsonEncodingFailed(let inner)) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(inner as? JSONEncoding.Error == .invalidJSONObject)
  }

  @Test func scalarsAreNoRoots() throws {
    let request = try Self.request()
    #expect(throws: WeirError.self) { try JSONEncoding.default.encode(request, withJSONObject: "text") }
  }
}
