public import Foundation
public import FoundationNetworking

/// A serializer of bodies in memory and in files that knows when a body may be empty.
@preconcurrency
public protocol ResponseSerializer<SerializedObject>: DataResponseSerializerProtocol,
  DownloadResponseSerializerProtocol
{
  /// Changes a non-empty body before it is serialized.
  var dataPreprocessor: any DataPreprocessor { get }
  /// Methods whose responses may be empty.
  var emptyRequestMethods: Set<HTTPMethod> { get }
  /// Status codes whose responses may be empty.
  var emptyResponseCodes: Set<Int> { get }
}

/// The defaults of all serializers, kept once: statics of a protocol extension would be rebuilt on every read.
private enum SerializerDefaults {
  static let emptyRequestMethods: Set<HTTPMethod> = [.head]
  static let emptyResponseCodes: Set<Int> = [204, 205]
}

extension ResponseSerializer {
  /// ``PassthroughPreprocessor``.
  public static var defaultDataPreprocessor: any DataPreprocessor { PassthroughPreprocessor() }
  /// HEAD.
  public static var defaultEmptyRequestMethods: Set<HTTPMethod> { SerializerDefaults.emptyRequestMethods }
  /// 204 and 205.
  public static var defaultEmptyResponseCodes: Set<Int> { SerializerDefaults.emptyResponseCodes }

  public var dataPreprocessor: any DataPreprocessor { Self.defaultDataPreprocessor }
  public var emptyRequestMethods: Set<HTTPMethod> { Self.defaultEmptyRequestMethods }
  public var emptyResponseCodes: Set<Int> { Self.defaultEmptyResponseCodes }

  /// Whether the request's method allows an empty body; nil without request or method.
  public func requestAllowsEmptyResponseData(_ request: URLRequest?) -> Bool? {
    request?.method.map(emptyRequestMethods.contains)
  }

  /// Whether the status allows an empty body; nil without response.
  public func responseAllowsEmptyResponseData(_ response: HTTPURLResponse?) -> Bool? {
    (response?.statusCode).map(emptyResponseCodes.contains)
  }

  /// Whether the method or the status allows an empty body.
  public func emptyResponseAllowed(forRequest request: URLRequest?, response: HTTPURLResponse?) -> Bool {
    emptyResponseAllowed(forRequest: request, status: response?.statusCode)
  }

  func emptyResponseAllowed(forRequest request: URLRequest?, status: Int?) -> Bool {
    // The status first: a URL request's method is the dearer of the two to read.
    status.map(emptyResponseCodes.contains) == true || requestAllowsEmptyResponseData(request) == true
  }

  public func serializeDownload(
    request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
  ) throws -> SerializedObject {
    try serialize(
      request: request, response: response, data: try downloadedData(at: fileURL, error: error), error: nil)
  }

  func downloadedData(at fileURL: URL?, error: (any Error)?) throws -> Data {
    if let error { throw error }
    guard let fileURL else { throw WeirError.responseSerializationFailed(reason: .inputFileNil) }
    do {
      return try Data(contentsOf: fileURL)
    } catch {
      throw WeirError.responseSerializationFailed(reason: .inputFileReadFailed(at: fileURL))
    }
  }
}

/// How the built-in serializers begin: an earlier error first, then the rule for empty bodies, then the preprocessor.
protocol BodySerializer: ResponseSerializer, LazyResponseSerializer {
  /// The value of an allowed empty body.
  func emptyValue() throws -> SerializedObject
  /// The value of a preprocessed, non-empty body.
  func value(of body: Data, response: (some ResponseFacts)?) throws -> SerializedObject
}

extension BodySerializer {
  public func serialize(
    request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
  ) throws -> SerializedObject {
    try serialize(request: request, facts: response, data: data, error: error)
  }

  package func serialize(
    request: URLRequest?, lazyResponse: LazyHTTPResponse?, data: Data?, error: (any Error)?
  ) throws -> SerializedObject {
    try serialize(request: request, facts: lazyResponse, data: data, error: error)
  }

  private func serialize(
    request: URLRequest?, facts: (some ResponseFacts)?, data: Data?, error: (any Error)?
  ) throws -> SerializedObject {
    if let error { throw error }
    guard let data, !data.isEmpty else {
      guard emptyResponseAllowed(forRequest: request, status: facts?.statusCode) else {
        throw WeirError.responseSerializationFailed(reason: .inputDataNilOrZeroLength)
      }
      return try emptyValue()
    }
    return try value(of: try dataPreprocessor.preprocess(data), response: facts)
  }
}
