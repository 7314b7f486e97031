/// Makes a value of a response held in memory.
///
/// The serializer is called for failed requests too, with the error; it may rethrow the error or make a value all the
/// same. It is not called for requests that were ended from outside (cancelled, past their deadline, rejected, or of a
/// released session): their outcome waits for no serializer. A thrown ``WeirError`` is kept; any other error arrives as
/// ``WeirError/ResponseSerializationFailureReason/customSerializationFailed(error:)``.
@preconcurrency
public protocol DataResponseSerializerProtocol<SerializedObject>: Sendable {
  /// The type of the values.
  associatedtype SerializedObject: Sendable

  /// Returns the value. Runs on the session's ``Session/serializationQueue``, else on the event loop, or on a worker
  /// for bodies over 64 KiB.
  ///
  /// - Parameters:
  ///   - request: The last URL request.
  ///   - response: The last response head; nil if none came.
  ///   - data: The decoded body; nil if empty.
  ///   - error: The error with which the request failed.
  func serialize(
    request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
  ) throws -> SerializedObject
}

/// Makes a value of a downloaded file, by the rules of ``DataResponseSerializerProtocol``.
@preconcurrency
public protocol DownloadResponseSerializerProtocol<SerializedObject>: Sendable {
  /// The type of the values.
  associatedtype SerializedObject: Sendable

  /// Returns the value. Runs where ``DataResponseSerializerProtocol/serialize(request:response:data:error:)`` runs;
  /// `fileURL` is nil if there is no file.
  func serializeDownload(
    request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
  ) throws -> SerializedObject
}

/// A second interface of the built-in serializers, which needs neither a `URLRequest` nor an `HTTPURLResponse`.
protocol LazyResponseSerializer<SerializedObject>: Sendable {
  associatedtype SerializedObject: Sendable

  /// Whether a longer body takes longer; if not, the serializer runs on the event loop whatever the length.
  var readsBody: Bool { get }

  func serialize(
    hop: HopRequest?, lazyResponse: LazyHTTPResponse?, data: Data?, error: (any Error)?
  ) throws -> SerializedObject
}

extension LazyResponseSerializer {
  var readsBody: Bool { true }
}

/// A serializer as a function of the lazy response.
typealias LazySerialization<Value> =
  @Sendable (
    _ hop: HopRequest?, _ response: LazyHTTPResponse?, _ data: Data?, _ error: (any Error)?
  ) throws -> Value

extension DataResponseSerializerProtocol {
  /// This serializer as a function of the lazy response. Read it once, when a handler is added: it costs a cast.
  var lazySerialization: LazySerialization<SerializedObject> {
    if let lazy = self as? any LazyResponseSerializer<SerializedObject> {
      return { try lazy.serialize(hop: $0, lazyResponse: $1, data: $2, error: $3) }
    }
    return { try serialize(request: $0?.urlRequest, response: $1?.response, data: $2, error: $3) }
  }
}

extension WeirError {
  /// The error of the request after a serializer has thrown.
  package static func serialization(_ error: any Error) -> WeirError {
    error.asWeirError(or: .responseSerializationFailed(reason: .customSerializationFailed(error: error)))
  }
}

/// A serializer of bodies in memory and in files that knows when a body may be empty.
@preconcurrency
public protocol ResponseSerializer<SerializedObject>: DataResponseSerializerProtocol,
  DownloadResponseSerializerProtocol
{
  /// Changes a non-empty body before it is serialized.
  var dataPreprocessor: any DataPreprocessor { get }
  /// The methods whose responses may be empty.
  var emptyRequestMethods: Set<HTTPMethod> { get }
  /// The status codes whose responses may be empty.
  var emptyResponseCodes: Set<Int> { get }
}

/// The defaults of all serializers, kept once: statics of a protocol extension would be rebuilt on every read.
private enum SerializerDefaults {
  static let emptyRequestMethods: Set<HTTPMethod> = [.head]
  static let emptyResponseCodes: Set<Int> = [204, 205]
}

extension ResponseSerializer {
  /// The default is a ``PassthroughPreprocessor``.
  public static var defaultDataPreprocessor: any DataPreprocessor { PassthroughPreprocessor() }
  /// The default is HEAD.
  public static var defaultEmptyRequestMethods: Set<HTTPMethod> { SerializerDefaults.emptyRequestMethods }
  /// The default is 204 and 205.
  public static var defaultEmptyResponseCodes: Set<Int> { SerializerDefaults.emptyResponseCodes }

  public var dataPreprocessor: any DataPreprocessor { Self.defaultDataPreprocessor }
  public var emptyRequestMethods: Set<HTTPMethod> { Self.defaultEmptyRequestMethods }
  public var emptyResponseCodes: Set<Int> { Self.defaultEmptyResponseCodes }

  /// Whether the request's method allows an empty body; nil without a request or a method.
  public func requestAllowsEmptyResponseData(_ request: URLRequest?) -> Bool? {
    request?.method.map(emptyRequestMethods.contains)
  }

  /// Whether the status allows an empty body; nil without a response.
  public func responseAllowsEmptyResponseData(_ response: HTTPURLResponse?) -> Bool? {
    (response?.statusCode).map(emptyResponseCodes.contains)
  }

  /// Whether the method or the status allows an empty body.
  public func emptyResponseAllowed(forRequest request: URLRequest?, response: HTTPURLResponse?) -> Bool {
    responseAllowsEmptyResponseData(response) == true || requestAllowsEmptyResponseData(request) == true
  }

  func emptyResponseAllowed(for hop: HopRequest?, status: Int?) -> Bool {
    status.map(emptyResponseCodes.contains) == true
      || hop.map { emptyRequestMethods.contains(HTTPMethod(rawValue: $0.method)) } == true
  }
}

extension DownloadResponseSerializerProtocol where Self: DataResponseSerializerProtocol {
  /// The default reads the whole file for ``DataResponseSerializerProtocol/serialize(request:response:data:error:)``.
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

/// The order of the built-in serializers: an earlier error, then the rule for empty bodies, then the preprocessor.
protocol BodySerializer: ResponseSerializer, LazyResponseSerializer {
  /// The value of an empty body that is allowed.
  func emptyValue() throws -> SerializedObject
  /// The value of a preprocessed, non-empty body.
  func value(of body: Data, response: (some ResponseFacts)?) throws -> SerializedObject
}

extension BodySerializer {
  public func serialize(
    request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
  ) throws -> SerializedObject {
    try serialize(hop: request.map { HopRequest($0) }, facts: response, data: data, error: error)
  }

  func serialize(
    hop: HopRequest?, lazyResponse: LazyHTTPResponse?, data: Data?, error: (any Error)?
  ) throws -> SerializedObject {
    try serialize(hop: hop, facts: lazyResponse, data: data, error: error)
  }

  private func serialize(
    hop: HopRequest?, facts: (some ResponseFacts)?, data: Data?, error: (any Error)?
  ) throws -> SerializedObject {
    if let error { throw error }
    guard let data, !data.isEmpty else {
      guard emptyResponseAllowed(for: hop, status: facts?.statusCode) else {
        throw WeirError.responseSerializationFailed(reason: .inputDataNilOrZeroLength)
      }
      return try emptyValue()
    }
    return try value(of: try dataPreprocessor.preprocess(data), response: facts)
  }
}

/// Changes a body before it is serialized. It is not called for empty bodies.
@preconcurrency
public protocol DataPreprocessor: Sendable {
  /// Returns the body to serialize. Runs where the serializer runs; an error it throws arrives as the serializer's own.
  func preprocess(_ data: Data) throws -> Data
}

/// Leaves the body as it is.
public struct PassthroughPreprocessor: DataPreprocessor {
  /// There is nothing to set.
  public init() {}

  public func preprocess(_ data: Data) throws -> Data { data }
}

/// Removes the six bytes `)]}',\n` that some services put before JSON against script inclusion.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
  private static let prefix = Data(")]}',\n".utf8)

  /// There is nothing to set.
  public init() {}

  public func preprocess(_ data: Data) throws -> Data {
    // A new Data, so that indices start at 0.
    data.starts(with: Self.prefix) ? Data(data.dropFirst(Self.prefix.count)) : data
  }
}

extension DataPreprocessor where Self == PassthroughPreprocessor {
  /// Leaves the body as it is.
  public static var passthrough: PassthroughPreprocessor { PassthroughPreprocessor() }
}

extension DataPreprocessor where Self == GoogleXSSIPreprocessor {
  /// Removes the XSSI prefix.
  public static var googleXSSI: GoogleXSSIPreprocessor { GoogleXSSIPreprocessor() }
}
