/// Gives the body as it is.
public final class DataResponseSerializer: ResponseSerializer {
  public let dataPreprocessor: any DataPreprocessor
  public let emptyResponseCodes: Set<Int>
  public let emptyRequestMethods: Set<HTTPMethod>
  let readsBody: Bool

  /// Makes a serializer with a preprocessor, and the status codes and methods that allow an empty body.
  public init(
    dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
    emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
  ) {
    self.dataPreprocessor = dataPreprocessor
    self.emptyResponseCodes = emptyResponseCodes
    self.emptyRequestMethods = emptyRequestMethods
    // Recognized by its type; see `Session.request`.
    readsBody = type(of: dataPreprocessor) != PassthroughPreprocessor.self
  }
}

extension DataResponseSerializer: BodySerializer {
  public typealias SerializedObject = Data

  func emptyValue() throws -> Data { Data() }

  func value(of body: Data, response: (some ResponseFacts)?) throws -> Data { body }
}

extension ResponseSerializer where Self == DataResponseSerializer {
  /// Gives the body as it is.
  public static var data: DataResponseSerializer { DataResponseSerializer() }

  /// Gives the body as it is.
  public static func data(
    dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
    emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
  ) -> DataResponseSerializer {
    DataResponseSerializer(
      dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
      emptyRequestMethods: emptyRequestMethods)
  }
}

/// Gives the URL of a downloaded file.
public struct URLResponseSerializer: DownloadResponseSerializerProtocol {
  /// There is nothing to set.
  public init() {}

  public func serializeDownload(
    request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
  ) throws -> URL {
    if let error { throw error }
    guard let fileURL else { throw WeirError.responseSerializationFailed(reason: .inputFileNil) }
    return fileURL
  }
}

extension DownloadResponseSerializerProtocol where Self == URLResponseSerializer {
  /// Gives the URL of the downloaded file.
  public static var url: URLResponseSerializer { URLResponseSerializer() }
}
