import Foundation
import FoundationNetworking
import Testing

@testable import Weir

@Suite("§13 Parameter encoding: into URL or body") struct URLEncodingTests {
  static func query(_ parameters: Parameters, _ encoding: URLEncoding = .queryString) throws -> String? {
    let request = try encoding.encode(try URLRequest(url: "http://h/", method: .get), with: parameters)
    let text = try #require(request.url).absoluteString
    return text.split(separator: "?", maxSplits: 1).dropFirst().first.map(String.init)
  }

  @Test func nilParametersChangeNothing() throws {
    let request = try URLRequest(url: "http://h/?a=1", method: .post)
    #expect(try URLEncoding.default.encode(request, with: nil) == request)
  }

  @Test func emptyParameters() throws {
    let get = try URLEncoding.default.encode(try URLRequest(url: "http://h/p", method: .get), with: [:])
    #expect(get.url?.absoluteString == "http://h/p")
    #expect(get.headers.isEmpty)
    let post = try URLEncoding.default.encode(try URLRequest(url: "http://h/p", method: .post), with: [:])
    #expect(post.httpBody == Data())
    #expect(post.headers["Content-Type"] == "application/x-www-form-urlencoded; charset=utf-8")
  }

  @Test(arguments: [
    (HTTPMethod.get, true), (.head, true), (.delete, true), (.post, false), (.put, false), (.patch, false),
    (.query, false), (.options, false),
  ])
  func methodDecides(method: HTTPMethod, isInURL: Bool) throws {
    let plain = try URLRequest(url: "http://h/", method: method)
    for destination in [URLEncoding.Destination.methodDependent, .queryString, .httpBody] {
      let request = try URLEncoding(destination: destination).encode(plain, with: ["a": 1])
      let expected =
        switch destination {
        case .methodDependent: isInURL
        case .queryString: true
        case .httpBody: false
        }
      #expect(request.url?.absoluteString == (expected ? "http://h/?a=1" : "http://h/"))
      #expect(request.httpBody == (expected ? nil : Data("a=1".utf8)))
    }
  }

  @Test(arguments: [
    ("http://h/p", "http://h/p?a=1"), ("http://h/p?b=%20", "http://h/p?b=%20&a=1"), ("http://h/p?", "http://h/p?a=1"),
    ("http://h/p#f", "http://h/p?a=1#f"), ("http://h/p?b#f?c", "http://h/p?b&a=1#f?c"), ("http://h", "http://h?a=1"),
  ])
  func queryIsAppended(url: String, extended: String) throws {
    let request = try URLEncoding.queryString.encode(try URLRequest(url: url, method: .get), with: ["a": 1])
    #expect(request.url?.absoluteString == extended)
  }

  @Test func missingURL() throws {
    var request = try URLRequest(url: "http://h", method: .get)
    request.url = nil
    let error = try #require(throws: WeirError.self) { try URLEncoding.default.encode(request, with: ["a": 1]) }
    guard case .parameterEncodingFailed(.missingURL) = error else {
      Issue.record("\(error)")
      return
    }
  }

  @Test("Without a URL nothing is encoded anywhere, and nothing traps", arguments: [HTTPMethod.get, .post])
  func noURL(method: HTTPMethod) throws {
    var request = try URLRequest(url: "http://h", method: method)
    request.url = nil
    let incomplete = request
    #expect(try URLEncoding.default.encode(incomplete, with: nil) == incomplete)
    #expect(try JSONEncoding.default.encode(incomplete, with: nil) == incomplete)
    let encodings: [any ParameterEncoding] = [URLEncoding.default, URLEncoding.queryString, JSONEncoding.default]
    for encoding in encodings {
      for parameters in [["a": 1], [:]] as [Parameters] {
        let error = #expect(throws: WeirError.self) { try encoding.encode(incomplete, with: parameters) }
        #expect(error?.label == "missing_url")
      }
    }
    let error = #expect(throws: WeirError.self) { try JSONParameterEncoder.default.encode([1], into: incomplete) }
    #expect(error?.label == "missing_url")
  }

  @Test("Parameters in the URL set no content type")
  func noContentType() throws {
    let request = try URLEncoding.queryString.encode(try URLRequest(url: "http://h/", method: .post), with: ["a": 1])
    #expect(request.headers.isEmpty && request.httpBody == nil)
  }

  @Test("What the convertible throws passes through")
  func convertible() throws {
    struct Failing: URLRequestConvertible {
      func asURLRequest() throws -> URLRequest { throw SampleError() }
    }
    #expect(throws: SampleError()) { try URLEncoding.default.encode(Failing(), with: ["a": 1]) }
    #expect(throws: SampleError()) { try JSONEncoding.default.encode(Failing(), with: ["a": 1]) }
  }

  @Test func contentTypeOfTheCallerStays() throws {
    let request = try URLEncoding.default.encode(
      try URLRequest(url: "http://h/", method: .post, headers: ["content-type": "x/y"]), with: ["a": 1])
    #expect(request.headers["Content-Type"] == "x/y")
  }

  @Test(
    arguments: [
      (["b": 1, "a": 2], "a=2&b=1"),
      (["a": "x y"], "a=x%20y"),
      (["a": ["x", 1] as [any Sendable]], "a%5B%5D=x&a%5B%5D=1"),
      (["a": ["y": 1, "x": ["z": 2]] as Parameters], "a%5Bx%5D%5Bz%5D=2&a%5By%5D=1"),
      (["a": [["x": [1, 2]]]], "a%5B%5D%5Bx%5D%5B%5D=1&a%5B%5D%5Bx%5D%5B%5D=2"),
      (["a": [String]()], ""),
      (["a": Parameters()], ""),
      (["a": [[1, 2], [3]]], "a%5B%5D%5B%5D=1&a%5B%5D%5B%5D=2&a%5B%5D%5B%5D=3"),
      (["b": 1, "B": 2, "a[]": 3, "a": 4], "B=2&a=4&a%5B%5D=3&b=1"),
      (["a": [1] as [Int]?], "a%5B%5D=1"),
      (["ä": "ö"], "%C3%A4=%C3%B6"),
      (["a&b=c": "d&e=f"], "a%26b%3Dc=d%26e%3Df"),
    ] as [(Parameters, String)])
  func structure(parameters: Parameters, query: String) throws {
    #expect(try Self.query(parameters) ?? "" == query)
  }

  @Test func arrayEncodings() throws {
    let parameters: Parameters = ["a": [1, 2]]
    #expect(try Self.query(parameters, URLEncoding(arrayEncoding: .brackets)) == "a%5B%5D=1&a%5B%5D=2")
    #expect(try Self.query(parameters, URLEncoding(arrayEncoding: .noBrackets)) == "a=1&a=2")
    #expect(try Self.query(parameters, URLEncoding(arrayEncoding: .indexInBrackets)) == "a%5B0%5D=1&a%5B1%5D=2")
    let custom = URLEncoding(arrayEncoding: .custom { "\($0).\($1 + 1)" })
    #expect(try Self.query(parameters, custom) == "a.1=1&a.2=2")
    let nested: Parameters = ["a": [[1, 2], ["k": [3]]] as [any Sendable]]
    #expect(try Self.query(nested, custom) == "a.1.1=1&a.1.2=2&a.2%5Bk%5D.1=3")
    #expect(try Self.query(nested, URLEncoding(arrayEncoding: .noBrackets)) == "a=1&a=2&a%5Bk%5D=3")
  }

  @Test("Foundation's collections are collections")
  func foundationCollections() {
    let value = NSDictionary(dictionary: ["b": NSArray(array: [NSNumber(value: true), NSString(string: "x")]), "a": 1])
    let pairs = URLEncoding(boolEncoding: .literal).queryComponents(fromKey: "k", value: value)
    #expect(pairs.map { "\($0.0)=\($0.1)" } == ["k%5Ba%5D=1", "k%5Bb%5D%5B%5D=true", "k%5Bb%5D%5B%5D=x"])
  }

  @Test(
    arguments: [
      (true, "1", "true"), (false, "0", "false"), (NSNumber(value: true), "1", "true"),
      (NSNumber(value: false), "0", "false"), (1, "1", "1"), (0, "0", "0"), (NSNumber(value: 1), "1", "1"),
      (NSNumber(value: 0), "0", "0"), (Int8(1), "1", "1"), (NSNumber(value: Int8(1)), "1", "1"), (UInt8(1), "1", "1"),
      (UInt64.max, "18446744073709551615", "18446744073709551615"), (-7, "-7", "-7"),
      (1.0, "1", "1"), (NSNumber(value: 1.0), "1", "1"), (Float(1), "1", "1"), (0.0, "0", "0"),
      (1.1, "1.1", "1.1"), (NSNumber(value: 1.1), "1.1", "1.1"), (Float(1.1), "1.1", "1.1"),
      (NSNumber(value: Float(1.1)), "1.1", "1.1"), (1e300, "1e%2B300", "1e%2B300"), (Double.nan, "nan", "nan"),
      (1_234_567.0, "1234567", "1234567"), (NSDecimalNumber(string: "1.5"), "1.5", "1.5"),
      (Decimal(1.25), "1.25", "1.25"), ("text", "text", "text"),
      (NSNull(), "%3Cnull%3E", "%3Cnull%3E"), (true as Bool?, "1", "true"),
      (1.0 as Double?, "1", "1"), (CGFloat(1), "1", "1"), (CGFloat(1.5), "1.5", "1.5"), (-1.0, "-1", "-1"),
      (-0.5, "-0.5", "-0.5"), (Double.infinity, "inf", "inf"),
      (NSNumber(value: Int64.min), "\(Int64.min)", "\(Int64.min)"),
      (NSNumber(value: UInt64.max), "\(UInt64.max)", "\(UInt64.max)"), (Character("c"), "c", "c"),
      (1e15, "1000000000000000", "1000000000000000"), (Decimal(1), "1", "1"),
      ("1", "1", "1"), (URLError.Code.timedOut.rawValue, "-1001", "-1001"),
    ] as [(any Sendable, String, String)])
  func scalars(value: any Sendable, numeric: String, literal: String) throws {
    #expect(try Self.query(["k": value]) == "k=\(numeric)")
    #expect(try Self.query(["k": value], URLEncoding(boolEncoding: .literal)) == "k=\(literal)")
  }

  @Test func booleansInsideCollections() throws {
    let parameters: Parameters = ["a": [true, false], "b": ["c": true]]
    let numbers: Parameters = ["a": [NSNumber(value: true), NSNumber(value: 1), NSNumber(value: 1.0)]]
    let literal = URLEncoding(boolEncoding: .literal)
    #expect(try Self.query(numbers, literal) == "a%5B%5D=true&a%5B%5D=1&a%5B%5D=1")
    #expect(
      try Self.query(parameters, URLEncoding(boolEncoding: .literal)) == "a%5B%5D=true&a%5B%5D=false&b%5Bc%5D=true")
  }

  @Test func escaping() {
    let encoding = URLEncoding.default
    let unescaped = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/?"
    #expect(encoding.escape(unescaped) == unescaped)
    #expect(encoding.escape(":#[]@!$&'()*+,;=") == "%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D")
    #expect(encoding.escape(" \"%<>\\^`{}|") == "%20%22%25%3C%3E%5C%5E%60%7B%7D%7C")
    #expect(encoding.escape("\0\n\u{7F}") == "%00%0A%7F")
    #expect(encoding.escape("日本€😀") == "%E6%97%A5%E6%9C%AC%E2%82%AC%F0%9F%98%80")
    #expect(encoding.escape("") == "")
    for byte in UInt8(0)..<128 {
      let text = String(Unicode.Scalar(byte))
      #expect(encoding.escape(text) == text.addingPercentEncoding(withAllowedCharacters: .weirURLQueryAllowed))
    }
  }

  @Test func queryComponents() {
    let pairs = URLEncoding.default.queryComponents(fromKey: "k y", value: ["a": [1, true]])
    #expect(pairs.map(\.0) == ["k%20y%5Ba%5D%5B%5D", "k%20y%5Ba%5D%5B%5D"])
    #expect(pairs.map(\.1) == ["1", "1"])
  }
}
