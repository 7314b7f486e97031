extension DataRequest {
  /// Adds a handler that gets the body as it is. It never makes the request ask its retriers.
  ///
  /// `queue`: The queue of the handler; nil: see ``SessionConfiguration/handlerExecution``.
  @preconcurrency
  @discardableResult
  public func response(
    queue: DispatchQueue? = nil, completionHandler: @escaping @Sendable (WeirDataResponse<Data?>) -> Void
  ) -> Self {
    addHandler(ResponseHandler(on: HandlerQueue(queue), completionHandler))
  }

  /// Adds a handler that gets the value that `serializer` makes of the response.
  @preconcurrency
  @discardableResult
  public func response<Serializer: DataResponseSerializerProtocol>(
    queue: DispatchQueue? = nil, responseSerializer: Serializer,
    completionHandler: @escaping @Sendable (WeirDataResponse<Serializer.SerializedObject>) -> Void
  ) -> Self {
    addHandler(
      ResponseHandler(on: HandlerQueue(queue), serializing: responseSerializer.lazySerialization, completionHandler))
  }

  /// Does the same with serializers that have a short name: `.data`, `.string`, `.decodable(of:)`.
  @preconcurrency
  @discardableResult
  public func response<Serializer: ResponseSerializer>(
    queue: DispatchQueue? = nil, responseSerializer: Serializer,
    completionHandler: @escaping @Sendable (WeirDataResponse<Serializer.SerializedObject>) -> Void
  ) -> Self {
    addHandler(
      ResponseHandler(on: HandlerQueue(queue), serializing: responseSerializer.lazySerialization, completionHandler))
  }

  /// Adds a handler that gets the body. An empty body is an error unless the method or the status allows it.
  @preconcurrency
  @discardableResult
  public func responseData(
    queue: DispatchQueue? = nil,
    dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
    emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
    completionHandler: @escaping @Sendable (WeirDataResponse<Data>) -> Void
  ) -> Self {
    addHandler(
      ResponseHandler(
        on: HandlerQueue(queue),
        using: DataResponseSerializer(
          dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
          emptyRequestMethods: emptyRequestMethods), completionHandler))
  }

  /// Adds a handler that gets the body as text, decoded by `encoding`, else by the response's charset.
  @preconcurrency
  @discardableResult
  public func responseString(
    queue: DispatchQueue? = nil,
    dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
    encoding: String.Encoding? = nil,
    emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods,
    completionHandler: @escaping @Sendable (WeirDataResponse<String>) -> Void
  ) -> Self {
    addHandler(
      ResponseHandler(
        on: HandlerQueue(queue),
        using: StringResponseSerializer(
          dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
          emptyRequestMethods: emptyRequestMethods), completionHandler))
  }

  /// Adds a handler that gets a value decoded from the body.
  @preconcurrency
  @discardableResult
  public func responseDecodable<Value: Decodable & Sendable>(
    of type: Value.Type = Value.self, queue: DispatchQueue? = nil,
    dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer<Value>.defaultDataPreprocessor,
    decoder: any DataDecoder = JSONDecoder(),
    emptyResponseCodes: Set<Int> = DecodableResponseSerializer<Value>.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer<Value>.defaultEmptyRequestMethods,
    completionHandler: @escaping @Sendable (WeirDataResponse<Value>) -> Void
  ) -> Self {
    addHandler(
      ResponseHandler(
        on: HandlerQueue(queue),
        using: DecodableResponseSerializer<Value>(
          dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
          emptyRequestMethods: emptyRequestMethods), completionHandler))
  }

  /// Adds a handler that gets the object that `JSONSerialization` makes of the body.
  @available(*, deprecated, message: "Use responseDecodable.")
  @preconcurrency
  @discardableResult
  public func responseJSON(
    queue: DispatchQueue? = nil,
    dataPreprocessor: any DataPreprocessor = JSONResponseSerializer.defaultDataPreprocessor,
    emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods,
    options: JSONSerialization.ReadingOptions = .allowFragments,
    completionHandler: @escaping @Sendable (WeirDataResponse<any Sendable>) -> Void
  ) -> Self {
    response(
      queue: queue,
      responseSerializer: JSONResponseSerializer(
        dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods, options: options), completionHandler: completionHandler)
  }
}
