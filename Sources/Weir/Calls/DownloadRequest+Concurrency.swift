/// The value that a download will have, to be awaited.
///
/// The handler is added when the value is made, so automatic resuming applies then. Awaiters are resumed straight from
/// the event loop.
public struct DownloadTask<Value: Sendable>: Sendable {
  fileprivate let awaiting: ResponseAwaiting<WeirDownloadResponse<Value>>

  /// The response; the same however often it is read.
  public var response: WeirDownloadResponse<Value> {
    get async { await awaiting.response }
  }

  /// The response's result.
  public var result: Result<Value, WeirError> {
    get async { await response.result }
  }

  /// The response's value; throws the ``WeirError``, as a ``RequestFailure`` whose text names the request and its
  /// attempts.
  public var value: Value {
    get async throws { try await result.value(of: awaiting.request) }
  }

  /// Cancels the request; nothing is kept of what has come.
  public func cancel() { awaiting.request.cancel() }
  /// Starts or continues the request.
  public func resume() { awaiting.request.resume() }
  /// Stops reading and writing until ``resume()``.
  public func suspend() { awaiting.request.suspend() }
}

extension DownloadRequest {
  /// The file's bytes, to be awaited.
  ///
  /// `shouldAutomaticallyCancel`: Whether cancelling a Swift task that awaits the value, or making it in a
  ///   cancelled one, cancels the request.
  public func serializingData(
    automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
    dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
    emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
  ) -> DownloadTask<Data> {
    serializingDownload(
      using: DataResponseSerializer(
        dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: shouldAutomaticallyCancel)
  }

  /// The file as text, to be awaited.
  public func serializingString(
    automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
    dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
    encoding: String.Encoding? = nil,
    emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
  ) -> DownloadTask<String> {
    serializingDownload(
      using: StringResponseSerializer(
        dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: shouldAutomaticallyCancel)
  }

  /// A value decoded from the file, to be awaited.
  @preconcurrency
  public func serializingDecodable<Value: Decodable & Sendable>(
    _ type: Value.Type = Value.self, automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
    dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer<Value>.defaultDataPreprocessor,
    decoder: any DataDecoder = JSONDecoder(),
    emptyResponseCodes: Set<Int> = DecodableResponseSerializer<Value>.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer<Value>.defaultEmptyRequestMethods
  ) -> DownloadTask<Value> {
    serializingDownload(
      using: DecodableResponseSerializer<Value>(
        dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods), automaticallyCancelling: shouldAutomaticallyCancel)
  }

  /// The file's URL, to be awaited.
  public func serializingDownloadedFileURL(
    automaticallyCancelling shouldAutomaticallyCancel: Bool = true
  ) -> DownloadTask<URL> {
    serializingDownload(using: URLResponseSerializer(), automaticallyCancelling: shouldAutomaticallyCancel)
  }

  /// What `serializer` makes of the file, to be awaited.
  public func serializingDownload<Serializer: DownloadResponseSerializerProtocol>(
    using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
  ) -> DownloadTask<Serializer.SerializedObject> {
    awaiting(serializer, shouldAutomaticallyCancel)
  }

  /// The same, for serializers that have a short name: `.data`, `.string`, `.decodable(of:)`.
  public func serializingDownload<Serializer: ResponseSerializer>(
    using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
  ) -> DownloadTask<Serializer.SerializedObject> {
    awaiting(serializer, shouldAutomaticallyCancel)
  }

  /// The same as `serializingDownload(using:)`.
  public func serializingResponse<Serializer: ResponseSerializer>(
    using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
  ) -> DownloadTask<Serializer.SerializedObject> {
    awaiting(serializer, shouldAutomaticallyCancel)
  }

  private func awaiting<Serializer: DownloadResponseSerializerProtocol>(
    _ serializer: Serializer, _ cancelsAutomatically: Bool
  ) -> DownloadTask<Serializer.SerializedObject> {
    DownloadTask(
      awaiting: ResponseAwaiting(self, cancelsAutomatically: cancelsAutomatically) {
        ResponseHandler(downloadOn: .awaiter, by: serializer, $0)
      })
  }
}
