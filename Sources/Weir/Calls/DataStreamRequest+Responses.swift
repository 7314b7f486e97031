import Synchronization

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

/// The chunks of a stream as asynchronous sequences.
///
/// Making a stream adds a handler, so automatic resuming applies then. Elements come directly from the event loop, in
/// order; `.complete` is the last one. With an unbounded buffer, elements that the reader has not taken count as
/// undelivered, and the request stops reading until they are taken. With another policy, elements are dropped instead.
public struct DataStreamTask: Sendable {
  /// A stream's events.
  public typealias Stream<Success: Sendable, Failure: Error> = StreamOf<DataStreamRequest.Stream<Success, Failure>>

  fileprivate let request: DataStreamRequest

  /// The chunks as they arrive.
  ///
  /// - Parameters:
  ///   - shouldAutomaticallyCancel: Whether the request is cancelled when the loop over the stream is left, or its task
  ///     is cancelled, before the end.
  ///   - bufferingPolicy: The events to keep until the reader takes them.
  public func streamingData(
    automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
    bufferingPolicy: Stream<Data, Never>.BufferingPolicy = .unbounded
  ) -> Stream<Data, Never> {
    stream(shouldAutomaticallyCancel, bufferingPolicy) { StreamHandler(on: .inline, $0) }
  }

  /// The chunks as text, read as UTF-8; invalid bytes become U+FFFD.
  public func streamingStrings(
    automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
    bufferingPolicy: Stream<String, Never>.BufferingPolicy = .unbounded
  ) -> Stream<String, Never> {
    stream(shouldAutomaticallyCancel, bufferingPolicy) { StreamHandler(stringsOn: .inline, $0) }
  }

  /// A value decoded from each chunk.
  @preconcurrency
  public func streamingDecodables<Value: Decodable & Sendable>(
    _ type: Value.Type = Value.self, automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
    bufferingPolicy: Stream<Value, WeirError>.BufferingPolicy = .unbounded
  ) -> Stream<Value, WeirError> {
    streamingResponses(
      serializedUsing: DecodableStreamSerializer<Value>(), automaticallyCancelling: shouldAutomaticallyCancel,
      bufferingPolicy: bufferingPolicy)
  }

  /// The values that `serializer` makes of the chunks.
  public func streamingResponses<Serializer: DataStreamSerializer>(
    serializedUsing serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
    bufferingPolicy: Stream<Serializer.SerializedObject, WeirError>.BufferingPolicy = .unbounded
  ) -> Stream<Serializer.SerializedObject, WeirError> {
    stream(shouldAutomaticallyCancel, bufferingPolicy) { StreamHandler(on: .inline, using: serializer, $0) }
  }

  /// Cancels the request.
  public func cancel() { request.cancel() }
  /// Starts or continues the request.
  public func resume() { request.resume() }
  /// Stops reading and writing until ``resume()``.
  public func suspend() { request.suspend() }

  private func stream<Success: Sendable, Failure: Error>(
    _ cancelsAutomatically: Bool, _ policy: Stream<Success, Failure>.BufferingPolicy,
    by handler: (@escaping DataStreamRequest.Handler<Success, Failure>) -> StreamHandler
  ) -> Stream<Success, Failure> {
    let reader = StreamReader(request)
    return StreamOf(
      bufferingPolicy: policy, onNext: { reader.take() },
      onTermination: { [request] in
        // Before the reader is gone: with nobody to wait for, the rest of a body would come at once, perhaps to its end.
        if cancelsAutomatically { request.cancel() }
        reader.close()
      },
      { feed in
        // The stream ends when its last reference is released, after `.complete`.
        let yield: DataStreamRequest.Handler<Success, Failure> = { feed.yield($0) }
        var isRead = false
        if case .unbounded = policy { isRead = true }
        feed.onTermination { reader.close() }
        reader.begin(
          request.add(handler(yield), isRead: isRead, ResponseHandler(completing: yield, on: .inline)))
      })
  }
}

extension DataStreamRequest {
  /// The request's streams as asynchronous sequences.
  public func streamTask() -> DataStreamTask { DataStreamTask(request: self) }
}

/// The reader that takes a stream's events out of their buffer, as the request knows it.
private final class StreamReader: Sendable {
  private weak let request: DataStreamRequest?
  private let state = Mutex<(handler: Int?, isClosed: Bool)>((nil, false))

  init(_ request: DataStreamRequest) {
    self.request = request
  }

  func begin(_ handler: Int?) {
    let isClosed = state.withLock { state in
      state.handler = handler
      return state.isClosed
    }
    if isClosed { close() }
  }

  func take() { tell { $0.taken($1) } }

  func close() {
    state.withLock { $0.isClosed = true }
    tell { $0.close($1) }
  }

  private func tell(
    _ input: (inout StreamDelivery<Data, StreamValue>, Int) -> StreamDelivery<Data, StreamValue>.Actions
  ) {
    guard let request, let handler = state.withLock({ $0.handler }) else { return }
    request.perform(request.streaming.withLock { input(&$0.delivery, handler) })
  }
}
