/// The future value of a data request, which can be awaited.
///
/// Making this value adds a handler, so automatic resuming applies then. Awaiting tasks are resumed directly from the
/// event loop.
public struct DataTask<Value: Sendable>: Sendable {
  fileprivate let awaiting: ResponseAwaiting<WeirDataResponse<Value>>

  /// The response; every read returns the same one.
  public var response: WeirDataResponse<Value> {
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

  /// Cancels the request.
  public func cancel() { awaiting.request.cancel() }
  /// Starts or continues the request.
  public func resume() { awaiting.request.resume() }
  /// Stops reading and writing until ``resume()``.
  public func suspend() { awaiting.request.suspend() }
}

extension DataRequest {
  /// The body, which can be awaited.
  ///
  /// `shouldAutomaticallyCancel`: Whether cancelling a Swift task that awaits the value, or making it in a
  ///   cancelled one, cancels the request.
  public func serializingData(
    automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
    dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
    emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
  ) -> DataTask<Data> {
    serializing(
      DataResponseSerializer(
        dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods), cancelsAutomatically: shouldAutomaticallyCancel)
  }

  /// The body as text, which can be awaited.
  public func serializingString(
    automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
    dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
    encoding: String.Encoding? = nil,
    emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
  ) -> DataTask<String> {
    serializing(
      StringResponseSerializer(
        dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods), cancelsAutomatically: shouldAutomaticallyCancel)
  }

  /// A value decoded from the body, which can be awaited.
  @preconcurrency
  public func serializingDecodable<Value: Decodable & Sendable>(
    _ type: Value.Type = Value.self, automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
    dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer<Value>.defaultDataPreprocessor,
    decoder: any DataDecoder = JSONDecoder(),
    emptyResponseCodes: Set<Int> = DecodableResponseSerializer<Value>.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer<Value>.defaultEmptyRequestMethods
  ) -> DataTask<Value> {
    serializing(
      DecodableResponseSerializer<Value>(
        dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods), cancelsAutomatically: shouldAutomaticallyCancel)
  }

  /// The value that `serializer` makes of the response, which can be awaited.
  public func serializingResponse<Serializer: DataResponseSerializerProtocol>(
    using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
  ) -> DataTask<Serializer.SerializedObject> {
    serializing(by: serializer.lazySerialization, cancelsAutomatically: shouldAutomaticallyCancel)
  }

  /// Does the same with serializers that have a short name: `.data`, `.string`, `.decodable(of:)`.
  public func serializingResponse<Serializer: ResponseSerializer>(
    using serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true
  ) -> DataTask<Serializer.SerializedObject> {
    serializing(by: serializer.lazySerialization, cancelsAutomatically: shouldAutomaticallyCancel)
  }

  /// Does the same with one of weir's own serializers, which need no built `HTTPURLResponse`.
  private func serializing<Value: Sendable>(
    _ serializer: some LazyResponseSerializer<Value>, cancelsAutomatically: Bool
  ) -> DataTask<Value> {
    DataTask(
      awaiting: ResponseAwaiting(self, cancelsAutomatically: cancelsAutomatically) {
        ResponseHandler(on: .awaiter, using: serializer, $0)
      })
  }

  private func serializing<Value: Sendable>(
    by serialize: @escaping LazySerialization<Value>, cancelsAutomatically: Bool
  ) -> DataTask<Value> {
    DataTask(
      awaiting: ResponseAwaiting(self, cancelsAutomatically: cancelsAutomatically) {
        ResponseHandler(on: .awaiter, serializing: serialize, $0)
      })
  }
}
