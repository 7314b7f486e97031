import WeirIO

/// One handler of a stream: how its values are made and where it runs.
///
/// Not generic, for the same reason as ``ResponseHandler``.
struct StreamHandler: Sendable {
  let queue: HandlerQueue
  /// Whether it has a serializer, which may take long.
  let serializes: Bool
  let makeValue: @Sendable (Data, DataStreamRequest.CancellationToken) -> StreamValue
}

/// What a handler is called with for a chunk.
struct StreamValue: Sendable {
  /// Whether the serializer failed.
  let isFailure: Bool
  /// Tells monitors of it; nil for raw bytes.
  let announce: (@Sendable (DataStreamRequest, CompositeEventMonitor) -> Void)?
  let call: @Sendable () throws -> Void
}

/// What a stream's request keeps under its own lock.
struct StreamState: Sendable {
  var delivery = StreamDelivery<Data, StreamValue>()
  var handlers: [StreamHandler] = []
  /// Those that wait for calls to return.
  var completions: [@Sendable () -> Void] = []
}

extension StreamHandler {
  /// Gets the bytes as they come.
  init(on queue: HandlerQueue, _ stream: @escaping DataStreamRequest.Handler<Data, Never>) {
    self.init(queue: queue, serializes: false) { data, token in
      StreamValue(isFailure: false, announce: nil) {
        try stream(DataStreamRequest.Stream(event: .stream(.success(data)), token: token))
      }
    }
  }

  /// Gets text, which can't fail.
  init(stringsOn queue: HandlerQueue, _ stream: @escaping DataStreamRequest.Handler<String, Never>) {
    self.init(queue: queue, serializes: true) { data, token in
      let text = StringStreamSerializer().serialize(data)
      return StreamValue(
        isFailure: false, announce: { $1.request($0, didParseStream: Result<String, WeirError>.success(text)) }
      ) {
        try stream(DataStreamRequest.Stream(event: .stream(.success(text)), token: token))
      }
    }
  }

  /// Gets what a serializer makes of the chunks.
  init<Serializer: DataStreamSerializer>(
    on queue: HandlerQueue, using serializer: Serializer,
    _ stream: @escaping DataStreamRequest.Handler<Serializer.SerializedObject, WeirError>
  ) {
    self.init(queue: queue, serializes: true) { data, token in
      let result = Result.serialized { try serializer.serialize(data) }
      return StreamValue(isFailure: result.failure != nil, announce: { $1.request($0, didParseStream: result) }) {
        try stream(DataStreamRequest.Stream(event: .stream(result), token: token))
      }
    }
  }
}

extension ResponseHandler {
  /// Completes a stream's handler.
  init<Success: Sendable, Failure: Error>(
    completing stream: @escaping DataStreamRequest.Handler<Success, Failure>, on queue: HandlerQueue
  ) {
    // Delivered at once: the request says when it is the handler's turn.
    self.init(queue: .inline, consultsRetriers: false, readsBody: false) { input in
      let completion = DataStreamRequest.Completion(input)
      let request = input.request
      return HandlerValue(error: completion.error, duration: 0) { use in
        guard case .deliver = use, let request = request as? DataStreamRequest else { return }
        request.complete {
          request.deliver(on: queue) {
            try? stream(DataStreamRequest.Stream(event: .complete(completion), token: .init(request)))
          }
        }
      }
    }
  }
}
