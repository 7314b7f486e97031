extension DownloadRequest {
  /// Adds a handler that gets the URL of the file. It never makes the request ask its retriers.
  ///
  /// `queue`: The queue of the handler; nil: see ``SessionConfiguration/handlerExecution``.
  @preconcurrency
  @discardableResult
  public func response(
    queue: DispatchQueue? = nil, completionHandler: @escaping @Sendable (WeirDownloadResponse<URL?>) -> Void
  ) -> Self {
    addHandler(ResponseHandler(downloadOn: HandlerQueue(queue), completionHandler))
  }

  /// Adds a handler that gets the value that `serializer` makes of the file. The file is not removed.
  @preconcurrency
  @discardableResult
  public func response<Serializer: DownloadResponseSerializerProtocol>(
    queue: DispatchQueue? = nil, responseSerializer: Serializer,
    completionHandler: @escaping @Sendable (WeirDownloadResponse<Serializer.SerializedObject>) -> Void
  ) -> Self {
    addHandler(ResponseHandler(downloadOn: HandlerQueue(queue), by: responseSerializer, completionHandler))
  }

  /// Adds a handler for a serializer that has a short name: `.data`, `.string`, `.decodable(of:)`. The file is kept.
  @preconcurrency
  @discardableResult
  public func response<Serializer: ResponseSerializer>(
    queue: DispatchQueue? = nil, responseSerializer: Serializer,
    completionHandler: @escaping @Sendable (WeirDownloadResponse<Serializer.SerializedObject>) -> Void
  ) -> Self {
    addHandler(ResponseHandler(downloadOn: HandlerQueue(queue), by: responseSerializer, completionHandler))
  }

  /// Adds a handler that gets the URL of the file.
  @preconcurrency
  @discardableResult
  public func responseURL(
    queue: DispatchQueue? = nil, completionHandler: @escaping @Sendable (WeirDownloadResponse<URL>) -> Void
  ) -> Self {
    addHandler(ResponseHandler(downloadOn: HandlerQueue(queue), by: URLResponseSerializer(), completionHandler))
  }

  /// Adds a handler that gets the file's bytes. An empty file is an error unless the method or the status allows it.
  @preconcurrency
  @discardableResult
  public func responseData(
    queue: DispatchQueue? = nil,
    dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
    emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
    completionHandler: @escaping @Sendable (WeirDownloadResponse<Data>) -> Void
  ) -> Self {
    response(
      queue: queue,
      responseSerializer: DataResponseSerializer(
        dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods), completionHandler: completionHandler)
  }

  /// Adds a handler that gets the file as text, decoded by `encoding`, else by the response's charset.
  @preconcurrency
  @discardableResult
  public func responseString(
    queue: DispatchQueue? = nil,
    dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
    encoding: String.Encoding? = nil,
    emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods,
    completionHandler: @escaping @Sendable (WeirDownloadResponse<String>) -> Void
  ) -> Self {
    response(
      queue: queue,
      responseSerializer: StringResponseSerializer(
        dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods), completionHandler: completionHandler)
  }

  /// Adds a handler that gets a value decoded from the file.
  @preconcurrency
  @discardableResult
  public func responseDecodable<Value: Decodable & Sendable>(
    of type: Value.Type = Value.self, queue: DispatchQueue? = nil,
    dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer<Value>.defaultDataPreprocessor,
    decoder: any DataDecoder = JSONDecoder(),
    emptyResponseCodes: Set<Int> = DecodableResponseSerializer<Value>.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer<Value>.defaultEmptyRequestMethods,
    completionHandler: @escaping @Sendable (WeirDownloadResponse<Value>) -> Void
  ) -> Self {
    response(
      queue: queue,
      responseSerializer: DecodableResponseSerializer<Value>(
        dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods), completionHandler: completionHandler)
  }

  /// Adds a handler that gets the object that `JSONSerialization` makes of the file.
  @available(*, deprecated, message: "Use responseDecodable.")
  @preconcurrency
  @discardableResult
  public func responseJSON(
    queue: DispatchQueue? = nil,
    dataPreprocessor: any DataPreprocessor = JSONResponseSerializer.defaultDataPreprocessor,
    emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
    emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods,
    options: JSONSerialization.ReadingOptions = .allowFragments,
    completionHandler: @escaping @Sendable (WeirDownloadResponse<any Sendable>) -> Void
  ) -> Self {
    response(
      queue: queue,
      responseSerializer: JSONResponseSerializer(
        dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
        emptyRequestMethods: emptyRequestMethods, options: options), completionHandler: completionHandler)
  }
}
