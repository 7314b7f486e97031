import Foundation
import FoundationNetworking
import Testing

@testable import Weir

@Suite struct URLRequestTests {
  @Test func stringsURLsAndComponentsConvert() throws {
    let url = try #require(URL(string: "https://h/p?q=1"))
    #expect(try "https://h/p?q=1".asURL() == url)
    #expect(try url.asURL() == url)
    #expect(try #require(URLComponents(string: "https://h/p?q=1")).asURL() == url)
  }

  @Test(
    "Escapes of a text stay, and what has to be escaped is",
    arguments: [
      ("http://h/x?f[a]=b%20c", "http://h/x?f%5Ba%5D=b%20c"), ("http://h/x?a=100%&b=%20", "http://h/x?a=100%25&b=%20"),
      ("http://h/x?sig=a%2Bb%3D%3D&p[0]=1", "http://h/x?sig=a%2Bb%3D%3D&p%5B0%5D=1"),
      ("http://[::1]:80/[%20]#%5B[", "http://[::1]:80/%5B%20%5D#%5B%5B"),
      ("http://\u{e9}.example/\u{e9}%20", "http://xn--9ca.example/%C3%A9%20"),
      ("http://u%40:[%20@h/", "http://u%40:%5B%20@h/"),
      ("http://h?a%20b|", "http://h?a%20b%7C"), ("http://h/a\r\nb%20", "http://h/a%0D%0Ab%20"),
    ])
  func escapes(text: String, url: String) throws {
    #expect(try text.asURL().absoluteString == url)
    #expect(try URLRequest(url: text, method: .get).url?.absoluteString == url)
  }

  /// Foundation has nothing left to escape.
  @Test("Each character, in a path, a query and a fragment", arguments: ["/", "/?", "/?#"])
  func everyCharacter(place: String) throws {
    for scalar in UInt8.min ... .max {
      let text = "http://h\(place)%2F\(Character(UnicodeScalar(scalar)))%2f"
      let url = try #require(URL(text: text))
      let escaped = String(UnicodeScalar(scalar)).utf8.map {
        "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true)
      }
      let begun = "http://h\(place)%2F"
      #expect(
        [begun + escaped.joined() + "%2f", begun + "\(Character(UnicodeScalar(scalar)))%2f"].contains(
          url.absoluteString))
      #expect(URL(string: url.absoluteString, encodingInvalidCharacters: false) == url)
    }
  }

  @Test(arguments: ["", "http://[bad", "http://a b/", " http://h/", "http://h:8[/"])
  func stringsThatAreNoURLs(text: String) throws {
    let error = try #require(throws: WeirError.self) { try text.asURL() }
    #expect(error.urlConvertible as? String == text)
  }

  @Test func componentsThatAreNoURL() throws {
    var components = URLComponents()
    components.path = "//x"
    let error = try #require(throws: WeirError.self) { try components.asURL() }
    #expect(error.urlConvertible as? URLComponents == components)
  }

  @Test func urlRequestIsNilWhenConversionThrows() throws {
    struct Failing: URLRequestConvertible {
      func asURLRequest() throws -> URLRequest { throw WeirError.explicitlyCancelled }
    }
    #expect(Failing().urlRequest == nil)
    let request = URLRequest(url: try "http://h".asURL())
    #expect(request.urlRequest == request)
  }

  @Test func initialization() throws {
    let plain = try URLRequest(url: "http://h/p", method: .get)
    #expect(plain.url?.absoluteString == "http://h/p")
    #expect(plain.method == .get)
    #expect(plain.headers.isEmpty)
    let full = try URLRequest(url: "http://h/p", method: .patch, headers: ["A": "1"])
    #expect(full.httpMethod == "PATCH")
    #expect(full.headers == ["A": "1"])
    #expect(throws: WeirError.self) { try URLRequest(url: "", method: .get) }
  }

  @Test func methodAndHeadersAreSet() throws {
    var request = try URLRequest(url: "http://h", method: .get, headers: ["A": "1", "B": "2"])
    request.method = .query
    request.headers = ["C": "3"]
    #expect(request.httpMethod == "QUERY")
    #expect(request.allHTTPHeaderFields == ["C": "3"])
  }

  @Test(arguments: [
    (HTTPMethod.connect, "CONNECT"), (.delete, "DELETE"), (.get, "GET"), (.head, "HEAD"), (.options, "OPTIONS"),
    (.patch, "PATCH"), (.post, "POST"), (.put, "PUT"), (.query, "QUERY"), (.trace, "TRACE"),
    (HTTPMethod(rawValue: "get"), "get"),
  ])
  func methods(method: HTTPMethod, text: String) {
    #expect(method.rawValue == text)
  }

  struct ValidationCase: Sendable {
    var method = "POST"
    var headers: [String: String] = [:]
    var body: Data?
    var reason: WeirError.URLRequestValidationFailureReason?
  }

  @Test(arguments: [
    ValidationCase(method: "GET"),
    ValidationCase(body: Data("x".utf8)),
    ValidationCase(method: "GET", body: Data(), reason: .bodyDataInGETRequest(Data())),
    ValidationCase(method: "GET", body: Data("x".utf8), reason: .bodyDataInGETRequest(Data("x".utf8))),
    ValidationCase(method: "M-SEARCH"),
    ValidationCase(method: "", reason: .invalidMethod("")),
    ValidationCase(method: "GET /x HTTP/1.1\r\nX: y", reason: .invalidMethod("GET /x HTTP/1.1\r\nX: y")),
    ValidationCase(method: "CONNECT", reason: .invalidMethod("CONNECT")),
    ValidationCase(method: "cOnNECT", reason: .invalidMethod("CONNECT")),
    ValidationCase(method: "PÖST", reason: .invalidMethod("PÖST")),
    ValidationCase(headers: ["X-A": "ü\u{7F}\t"]),
    ValidationCase(headers: ["X A": "v"], reason: .invalidHeaderField(name: "X A")),
    ValidationCase(headers: ["": "v"], reason: .invalidHeaderField(name: "")),
    ValidationCase(headers: ["X:": "v"], reason: .invalidHeaderField(name: "X:")),
    ValidationCase(headers: ["X": "a\r\nY: b"], reason: .invalidHeaderField(name: "X")),
    ValidationCase(headers: ["X": "a\nb"], reason: .invalidHeaderField(name: "X")),
    ValidationCase(headers: ["X": "a\rb"], reason: .invalidHeaderField(name: "X")),
    ValidationCase(headers: ["X": "a\0b"], reason: .invalidHeaderField(name: "X")),
  ])
  func validation(example: ValidationCase) throws {
    var request = URLRequest(url: try "http://h".asURL())
    request.httpMethod = example.method
    request.allHTTPHeaderFields = example.headers
    request.httpBody = example.body
    guard let reason = example.reason else { return try request.validate() }
    let error = try #require(throws: WeirError.self) { try request.validate() }
    guard case .urlRequestValidationFailed(let found) = error else {
      Issue.record("unexpected error \(error)")
      return
    }
    #expect(found == reason)
  }

  @Test func responseHeaders() throws {
    let response = try #require(
      HTTPURLResponse(
        url: try "http://h".asURL(), statusCode: 200, httpVersion: nil, headerFields: ["A": "1", "B": "2"]))
    #expect(response.headers.sorted() == ["A": "1", "B": "2"])
  }
}
