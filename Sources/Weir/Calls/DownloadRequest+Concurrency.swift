/// The future value of a download, which can be awaited.
///
/// Making this value adds a handler, so automatic resuming applies then. Awaiting tasks are resumed directly from the
/// event loop.
public struct DownloadTask<Value: Sendable>: Sendable {
  fileprivate let awaiting: ResponseAwaiting<WeirDownloadResponse<Value>>

  /// The response; every read returns the same one.
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

  /// Cancels the request; the bytes received so far are not kept.
  public func cancel() { awaiting.request.cancel() }
  /// Starts or continues the request.
  public func resume() { awaiting.request.resume() }
  /// Stops reading and writing until ``resume()``.
  public func suspend() { awaiting.request.suspend() }
}

extension DownloadRequest {
  /// The file's bytes, which can be awaited.
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

  /// The file as text, which can be awaited.
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

  /// A value decoded from the file, which can be awaited.
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

  /// The file's URL, which can be awaited.
  public func serializingDownloadedFileURL(
    automaticallyCancelling shouldAutomaticallyCancel: Bool = true
  ) -> DownloadTask<URL> {
    serializingDownload(using: URLResponseSerializer(), automaticallyCancelling: shouldAutomaticallyCancel)
  }

  /// The value that `serializer` makes of the file, which can be awaited.
  public func serializingDownload<Serializer: DownloadResponseSerializerProtocol>(
    using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
  ) -> DownloadTask<Serializer.SerializedObject> {
    awaiting(serializer, shouldAutomaticallyCancel)
  }

  /// Does the same with serializers that have a short name: `.data`, `.string`, `.decodable(of:)`.
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
