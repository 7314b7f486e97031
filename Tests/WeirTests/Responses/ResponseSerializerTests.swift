import Foundation
import FoundationNetworking
import Testing

@testable import Weir

@Suite struct ResponseSerializerTests {
  static func request(_ method: HTTPMethod = .get) throws -> URLRequest {
    try URLRequest(url: "http://h/", method: method)
  }

  static func response(_ status: Int = 200, _ fields: String = "") throws -> LazyHTTPResponse {
    try LazyHTTPResponseTests.response(fields, status: status)
  }

  /// Serializes through both doors, which must agree.
  static func serialize<S: ResponseSerializer>(
    _ serializer: S, method: HTTPMethod = .get, response: LazyHTTPResponse? = nil, data: Data?,
    error: (any Error)? = nil
  ) throws -> S.SerializedObject {
    let request = try request(method)
    let lazy = Result { try serializer.lazySerialization(HopRequest(request), response, data, error) }
    let eager = Result {
      try serializer.serialize(request: request, response: response?.response, data: data, error: error)
    }
    #expect("\(lazy)" == "\(eager)")
    return try lazy.get()
  }

  static func reason(
    _ body: () throws -> Any
  ) throws -> WeirError.ResponseSerializationFailureReason? {
    let error = try #require(throws: WeirError.self) { try body() }
    guard case .responseSerializationFailed(let reason) = error else { return nil }
    return reason
  }

  struct Value: Codable, Sendable, Equatable {
    var a: Int
  }

  @Test func defaults() {
    #expect(DataResponseSerializer.defaultEmptyRequestMethods == [.head])
    #expect(DataResponseSerializer.defaultEmptyResponseCodes == [204, 205])
    #expect(DataResponseSerializer.defaultDataPreprocessor is PassthroughPreprocessor)
    let serializer = DecodableResponseSerializer<Value>()
    #expect(serializer.emptyRequestMethods == [.head])
    #expect(serializer.emptyResponseCodes == [204, 205])
    #expect(serializer.decoder is JSONDecoder)
  }

  @Test func data() throws {
    #expect(try Self.serialize(.data, data: Data([1, 2])) == Data([1, 2]))
  }

  @Test func anEarlierErrorIsRethrownFirst() throws {
    let response = try Self.response(204)
    let body = Data(#"{"a":1}"#.utf8)
    #expect(throws: SampleError()) {
      try Self.serialize(.data, response: response, data: body, error: SampleError())
    }
    #expect(throws: SampleError()) { try Self.serialize(.string, data: nil, error: SampleError()) }
    #expect(throws: SampleError()) {
      try Self.serialize(.decodable(of: Value.self), data: body, error: SampleError())
    }
  }

  @Test(arguments: [nil, Data()])
  func emptyBodies(data: Data?) throws {
    guard case .inputDataNilOrZeroLength = try Self.reason({ try Self.serialize(.data, data: data) }) else {
      Issue.record("an empty body is not allowed by default")
      return
    }
    let created = try Self.response(201)
    #expect(throws: WeirError.self) { try Self.serialize(.data, response: created, data: data) }
    for status in [204, 205] {
      let response = try Self.response(status)
      #expect(try Self.serialize(.data, response: response, data: data) == Data())
      #expect(try Self.serialize(.string, response: response, data: data) == "")
    }
    #expect(try Self.serialize(.data, method: .head, data: data) == Data())
    let custom = DataResponseSerializer(emptyResponseCodes: [201], emptyRequestMethods: [.post])
    #expect(try Self.serialize(custom, response: created, data: data) == Data())
    #expect(try Self.serialize(custom, method: .post, data: data) == Data())
    #expect(throws: WeirError.self) { try Self.serialize(custom, method: .head, data: data) }
  }

  @Test func emptyBodiesWithoutRequestAndResponse() {
    #expect(throws: WeirError.self) {
      try DataResponseSerializer().serialize(request: nil, response: nil, data: nil, error: nil)
    }
  }

  @Test func questionsAboutEmptyBodies() throws {
    let serializer = DataResponseSerializer()
    #expect(serializer.requestAllowsEmptyResponseData(nil) == nil)
    let head = try Self.request(.head)
    let get = try Self.request()
    #expect(serializer.requestAllowsEmptyResponseData(head) == true)
    #expect(serializer.requestAllowsEmptyResponseData(get) == false)
    let noContent = try #require(try Self.response(204).response)
    let okay = try #require(try Self.response(200).response)
    #expect(serializer.responseAllowsEmptyResponseData(nil) == nil)
    #expect(serializer.responseAllowsEmptyResponseData(noContent) == true)
    #expect(serializer.responseAllowsEmptyResponseData(okay) == false)
    #expect(serializer.emptyResponseAllowed(forRequest: get, response: noContent))
    #expect(serializer.emptyResponseAllowed(forRequest: head, response: okay))
    #expect(!serializer.emptyResponseAllowed(forRequest: get, response: okay))
    #expect(!serializer.emptyResponseAllowed(forRequest: nil, response: nil))
  }

  @Test(
    arguments: [
      (nil, true), ("", true), ("text/plain; charset=utf-8", false), ("text/plain; charset=utf8", false),
      ("text/plain; charset=", true), ("text/plain", true),
    ] as [(String?, Bool)])
  func charsetOfTheResponse(type: String?, isLatin1: Bool) throws {
    let response = try type.map { try Self.response(200, "Content-Type: \($0)\r\n") }
    let text = try Self.serialize(.string, response: response, data: Data("ü".utf8))
    #expect(text == (isLatin1 ? "Ã¼" : "ü"))
  }

  @Test(arguments: ["nonsense", "euc-jp", "utf-7", "x-user-defined"])
  func anUnknownCharsetIsNamed(name: String) throws {
    let response = try Self.response(200, "Content-Type: text/plain; charset=\"\(name.uppercased())\"\r\n")
    let reason = try Self.reason { try Self.serialize(.string, response: response, data: Data("a".utf8)) }
    guard case .unknownCharset(name) = reason else {
      Issue.record("\(String(describing: reason))")
      return
    }
    let text = try Self.serialize(.string(encoding: .utf8), response: response, data: Data("ü".utf8))
    #expect(text == "ü")
  }

  @Test func theGivenEncodingGoesFirst() throws {
    let response = try Self.response(200, "Content-Type: text/plain; charset=utf-8\r\n")
    let text = try Self.serialize(.string(encoding: .isoLatin1), response: response, data: Data("ü".utf8))
    #expect(text == "Ã¼")
  }

  @Test func bytesThatAreNoText() throws {
    let reason = try Self.reason { try Self.serialize(.string(encoding: .utf8), data: Data([0xFF])) }
    guard case .stringSerializationFailed(.utf8) = reason else {
      Issue.record("\(String(describing: reason))")
      return
    }
    for (charset, octet, shown) in [("us-ascii", 0x80, "ASCII"), ("GBK", 0xFF, "gb18030"), ("cp1252", 0x81, "Windows")]
    {
      let response = try Self.response(200, "Content-Type: text/plain; charset=\(charset)\r\n")
      let reason = try Self.reason { try Self.serialize(.string, response: response, data: Data([UInt8(octet)])) }
      #expect(reason?.summary.text().contains(shown) == true, "\(String(describing: reason))")
    }
  }

  @Test func decodable() throws {
    let value = try Self.serialize(.decodable(of: Value.self), data: Data(#"{"a":1}"#.utf8))
    #expect(value == Value(a: 1))
    let encoder = PropertyListEncoder()
    let list = try Self.serialize(
      .decodable(of: Value.self, decoder: PropertyListDecoder()), data: try encoder.encode(Value(a: 2)))
    #expect(list == Value(a: 2))
  }

  @Test func decodingFailure() throws {
    let reason = try Self.reason { try Self.serialize(.decodable(of: Value.self), data: Data("{}".utf8)) }
    guard case .decodingFailed(let error) = reason else {
      Issue.record("\(String(describing: reason))")
      return
    }
    #expect(error is DecodingError)
  }

  @Test func emptyDecodables() throws {
    let response = try Self.response(204)
    #expect(try Self.serialize(.decodable(of: Empty.self), response: response, data: nil) == .value)
    #expect(try Self.serialize(.decodable(of: Empty.self), data: Data("{}".utf8)) == .value)
    let reason = try Self.reason {
      try Self.serialize(.decodable(of: [Int].self), response: response, data: nil)
    }
    guard case .invalidEmptyResponse("Array<Int>") = reason else {
      Issue.record("\(String(describing: reason))")
      return
    }
  }

  struct Reversing: DataPreprocessor {
    func preprocess(_ data: Data) throws -> Data { Data(data.reversed()) }
  }

  struct Refusing: DataPreprocessor {
    func preprocess(_ data: Data) throws -> Data { throw SampleError() }
  }

  @Test func preprocessorsRunOnBodiesThatAreNotEmpty() throws {
    #expect(try Self.serialize(.data(dataPreprocessor: Reversing()), data: Data([1, 2])) == Data([2, 1]))
    #expect(throws: SampleError()) { try Self.serialize(.data(dataPreprocessor: Refusing()), data: Data([1])) }
    let response = try Self.response(204)
    #expect(try Self.serialize(.data(dataPreprocessor: Refusing()), response: response, data: Data()) == Data())
  }

  @Test(arguments: [
    (")]}',\n{}", "{}"), ("{}", "{}"), (")]}',", ")]}',"), (" )]}',\n", " )]}',\n"), (")]}',\n)]}',\n", ")]}',\n"),
  ])
  func googleXSSI(body: String, rest: String) throws {
    let data = try (.googleXSSI as GoogleXSSIPreprocessor).preprocess(Data(body.utf8))
    #expect(data == Data(rest.utf8))
    #expect(data.startIndex == 0)
  }

  @Test func errorsOfSerializers() {
    #expect(WeirError.serialization(WeirError.explicitlyCancelled).isExplicitlyCancelledError)
    guard
      case .responseSerializationFailed(.customSerializationFailed(let error)) = WeirError.serialization(SampleError())
    else {
      Issue.record("not wrapped")
      return
    }
    #expect(error is SampleError)
  }

  /// A serializer of a user: it gets the built response, and may turn an error into a value.
  struct Custom: ResponseSerializer {
    func serialize(
      request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> String {
      "\(request?.httpMethod ?? "-") \(response?.statusCode ?? 0) \(data?.count ?? -1) \(error != nil)"
    }
  }

  @Test func customSerializers() throws {
    let text = try Self.serialize(
      Custom(), response: try Self.response(404), data: Data([1]), error: SampleError())
    #expect(text == "GET 404 1 true")
  }

  @Test func builtInSerializersBuildNoResponse() throws {
    let response = try Self.response(204)
    _ = try DecodableResponseSerializer<Empty>().lazySerialization(nil, response, nil, nil)
    #expect(!response.isBuilt)
    _ = try Custom().lazySerialization(nil, response, nil, nil)
    #expect(response.isBuilt)
  }
}
