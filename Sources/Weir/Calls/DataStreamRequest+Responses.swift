public import Dispatch

extension DataStreamRequest {
  /// Adds a handler that gets chunks as they arrive.
  ///
  /// `queue`: The queue of the handler; nil: see ``SessionConfiguration/handlerExecution``.
  @preconcurrency
  @discardableResult
  public func responseStream(on queue: DispatchQueue? = nil, stream: @escaping Handler<Data, Never>) -> Self {
    let queue = HandlerQueue(queue)
    add(StreamHandler(on: queue, stream), ResponseHandler(completing: stream, on: queue))
    return self
  }

  /// Adds a handler that gets the values that `serializer` makes of the chunks.
  @preconcurrency
  @discardableResult
  public func responseStream<Serializer: DataStreamSerializer>(
    using serializer: Serializer, on queue: DispatchQueue? = nil,
    stream: @escaping Handler<Serializer.SerializedObject, WeirError>
  ) -> Self {
    let queue = HandlerQueue(queue)
    add(StreamHandler(on: queue, using: serializer, stream), ResponseHandler(completing: stream, on: queue))
    return self
  }

  /// Adds a handler that gets chunks as text, read as UTF-8; invalid bytes become U+FFFD.
  @preconcurrency
  @discardableResult
  public func responseStreamString(on queue: DispatchQueue? = nil, stream: @escaping Handler<String, Never>) -> Self {
    let queue = HandlerQueue(queue)
    add(StreamHandler(stringsOn: queue, stream), ResponseHandler(completing: stream, on: queue))
    return self
  }

  /// Adds a handler that gets a value decoded from each chunk.
  @preconcurrency
  @discardableResult
  public func responseStreamDecodable<Value: Decodable & Sendable>(
    of type: Value.Type = Value.self, on queue: DispatchQueue? = nil, using decoder: any DataDecoder = JSONDecoder(),
    preprocessor: any DataPreprocessor = PassthroughPreprocessor(), stream: @escaping Handler<Value, WeirError>
  ) -> Self {
    responseStream(
      using: DecodableStreamSerializer<Value>(decoder: decoder, dataPreprocessor: preprocessor), on: queue,
      stream: stream)
  }
}
