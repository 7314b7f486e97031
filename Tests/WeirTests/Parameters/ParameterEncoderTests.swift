import Foundation
import FoundationNetworking
import Testing

@testable import Weir

@Suite("§14 Parameter encoders") struct ParameterEncoderTests {
  struct Value: Encodable, Sendable {
    var b = "x y"
    var a = [1, 2]
  }

  struct Failing: Encodable, Sendable {
    func encode(to encoder: any Encoder) throws { throw SampleError() }
  }

  struct Nothing: Encodable, Sendable {}

  struct Keyed: Encodable, Sendable {
    var oneTwo = 1
  }

  static func encoded(_ encoder: some ParameterEncoder) throws -> Data? {
    try encoder.encode(Keyed(), into: try request()).httpBody
  }

  static func request(
    _ method: HTTPMethod = .post, url: String = "http://h/p", headers: HTTPHeaders? = nil
  ) throws -> URLRequest {
    try URLRequest(url: url, method: method, headers: headers)
  }

  @Test func nilChangesNothing() throws {
    let request = try Self.request()
    #expect(try JSONParameterEncoder.default.encode(Value?.none, into: request) == request)
    #expect(try URLEncodedFormParameterEncoder.default.encode(Value?.none, into: request) == request)
  }

  @Test func json() throws {
    let request = try JSONParameterEncoder.sortedKeys.encode(Value(), into: try Self.request())
    #expect(request.httpBody == Data(#"{"a":[1,2],"b":"x y"}"#.utf8))
    #expect(request.headers["Content-Type"] == "application/json")
    let pretty = try JSONParameterEncoder.prettyPrinted.encode(
      Value(), into: try Self.request(headers: ["Content-Type": "a/b"]))
    #expect(pretty.httpBody?.contains(UInt8(ascii: "\n")) == true)
    #expect(pretty.headers["Content-Type"] == "a/b")
  }

  @Test func jsonWithTheCallersEncoder() throws {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    #expect(try Self.encoded(.json(encoder: encoder)) == Data(#"{"one_two":1}"#.utf8))
    #expect(try Self.encoded(.json) == Data(#"{"oneTwo":1}"#.utf8))
  }

  @Test func jsonFailure() throws {
    let request = try Self.request()
    let error = try #require(throws: WeirError.self) {
      try JSONParameterEncoder.default.encode(Failing(), into: request)
    }
    guard case .parameterEncodingFailed(.jsonEncodingFailed(let inner)) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(inner is SampleError)
  }

  @Test(arguments: [(HTTPMethod.get, true), (.head, true), (.delete, true), (.post, false), (.put, false)])
  func formDestinations(method: HTTPMethod, isInURL: Bool) throws {
    let query = "a%5B%5D=1&a%5B%5D=2&b=x%20y"
    let request = try URLEncodedFormParameterEncoder.default.encode(
      Value(), into: try Self.request(method, url: "http://h/p?c=1#f"))
    #expect(request.url?.absoluteString == (isInURL ? "http://h/p?c=1&\(query)#f" : "http://h/p?c=1#f"))
    #expect(request.httpBody == (isInURL ? nil : Data(query.utf8)))
    #expect(
      request.headers["Content-Type"] == (isInURL ? nil : "application/x-www-form-urlencoded; charset=utf-8"))
  }

  @Test func formDestinationsByChoice() throws {
    func encode(_ encoder: some ParameterEncoder, _ method: HTTPMethod) throws -> URLRequest {
      try encoder.encode(["a": 1], into: try Self.request(method))
    }
    #expect(try encode(.urlEncodedForm(destination: .queryString), .post).url?.absoluteString == "http://h/p?a=1")
    #expect(try encode(.urlEncodedForm(destination: .httpBody), .get).httpBody == Data("a=1".utf8))
    #expect(try encode(.urlEncodedForm, .get).url?.absoluteString == "http://h/p?a=1")
  }

  @Test func anEmptyResultLeavesTheURLAlone() throws {
    let request = try URLEncodedFormParameterEncoder.default.encode(Nothing(), into: try Self.request(.get))
    #expect(request.url?.absoluteString == "http://h/p")
    let body = try URLEncodedFormParameterEncoder.default.encode(Nothing(), into: try Self.request(.post))
    #expect(body.httpBody == Data())
  }

  @Test func missingURL() throws {
    var request = try Self.request()
    request.url = nil
    let incomplete = request
    let error = try #require(throws: WeirError.self) {
      try URLEncodedFormParameterEncoder.default.encode(Value(), into: incomplete)
    }
    guard case .parameterEncoderFailed(.missingRequiredComponent(.url)) = error else {
      Issue.record("\(error)")
      return
    }
  }

  @Test("A request without a method", arguments: [URLEncoding.Destination.methodDependent, .queryString, .httpBody])
  func missingMethod(destination: URLEncoding.Destination) throws {
    var request = try Self.request()
    request.httpMethod = nil
    let incomplete = request
    let encoder = URLEncodedFormParameterEncoder(destination: destination)
    // Foundation may have put GET in its place.
    guard incomplete.httpMethod == nil else {
      #expect(incomplete.httpMethod == "GET")
      #expect(throws: Never.self) { try encoder.encode(Value(), into: incomplete) }
      return
    }
    let error = #expect(throws: WeirError.self) { try encoder.encode(Value(), into: incomplete) }
    guard case .parameterEncoderFailed(.missingRequiredComponent(.httpMethod)) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test("The content type of the caller stays, and there is none without a body")
  func formContentType() throws {
    let own = try URLEncodedFormParameterEncoder.default.encode(
      Value(), into: try Self.request(headers: ["CONTENT-type": "a/b"]))
    #expect(own.headers["Content-Type"] == "a/b")
    let query = try URLEncodedFormParameterEncoder(destination: .queryString).encode(Value(), into: try Self.request())
    #expect(query.headers.isEmpty && query.httpBody == nil)
  }

  @Test("An error of a custom closure is wrapped once")
  func customClosure() throws {
    let encoder = URLEncodedFormEncoder(dateEncoding: .custom { _ in throw SampleError() })
    let request = try Self.request()
    let error = #expect(throws: WeirError.self) {
      try URLEncodedFormParameterEncoder(encoder: encoder).encode(["d": Date()], into: request)
    }
    guard case .parameterEncoderFailed(.encoderFailed(let inner)) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(inner is SampleError)
  }

  @Test func formFailure() throws {
    let request = try Self.request()
    let error = try #require(throws: WeirError.self) {
      try URLEncodedFormParameterEncoder.default.encode([1, 2], into: request)
    }
    guard case .parameterEncoderFailed(.encoderFailed(let inner)) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(inner as? URLEncodedFormEncoder.Error == .invalidRootObject(#"["1", "2"]"#))
  }

  /// Escaping rules of the caller may leave anything in the query; nothing may trap on it.
  @Test func badEscapingIsNoTrap() throws {
    let encoder = URLEncodedFormEncoder(allowedCharacters: CharacterSet(charactersIn: "\0"..."\u{7F}"))
    let request = try URLEncodedFormParameterEncoder(encoder: encoder).encode(
      ["%z": "%% [\n"], into: try Self.request(.get))
    #expect(request.url != nil)
  }

  @Test("Escapes in a query stay, whatever else the caller's rules leave in it")
  func escapesStay() throws {
    let encoder = URLEncodedFormEncoder(
      allowedCharacters: CharacterSet(charactersIn: "[]|").union(.weirURLQueryAllowed))
    let request = try URLEncodedFormParameterEncoder(encoder: encoder).encode(
      ["a[0]|": "b c"], into: URLRequest(url: "http://h/?f[a]=%20#%20", method: .get))
    #expect(request.url?.absoluteString == "http://h/?f%5Ba%5D=%20&a%5B0%5D%7C=b%20c#%20")
  }

  @Test("The parameters of a QUERY are its body, as those of a POST are")
  func query() throws {
    let request = try URLEncodedFormParameterEncoder.default.encode(
      ["a": "1"], into: URLRequest(url: "http://h/?b", method: .query))
    #expect(request.url?.absoluteString == "http://h/?b")
    #expect(request.httpBody == Data("a=1".utf8))
  }
}
