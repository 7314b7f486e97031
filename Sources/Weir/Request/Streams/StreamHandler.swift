import WeirIO

/// One handler of a stream: it makes values of chunks and runs on a queue.
///
/// The type is not generic, for the same reason as ``ResponseHandler``.
struct StreamHandler: Sendable {
  let queue: HandlerQueue
  /// Whether the handler has a serializer, which may take long.
  let serializes: Bool
  let makeValue: @Sendable (Data, DataStreamRequest.CancellationToken) -> StreamValue
}

/// The value with which a handler is called for a chunk.
struct StreamValue: Sendable {
  /// Whether the serializer failed.
  let isFailure: Bool
  /// Tells monitors about the value; nil for raw bytes.
  let announce: (@Sendable (DataStreamRequest, CompositeEventMonitor) -> Void)?
  let call: @Sendable () throws -> Void
}

/// The state of a stream's request, kept under a lock of its own.
struct StreamState: Sendable {
  var delivery = StreamDelivery<Data, StreamValue>()
  var handlers: [StreamHandler] = []
  /// The completions that wait until the calls under way have returned.
  var completions: [@Sendable () -> Void] = []
}

extension StreamHandler {
  /// A handler of the bytes as they arrive.
  init(on queue: HandlerQueue, _ stream: @escaping DataStreamRequest.Handler<Data, Never>) {
    self.init(queue: queue, serializes: false) { data, token in
      StreamValue(isFailure: false, announce: nil) {
        try stream(DataStreamRequest.Stream(event: .stream(.success(data)), token: token))
      }
    }
  }

  /// A handler of text, which can't fail.
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

  /// A handler of the values that a serializer makes of the chunks.
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
  /// The completion of a stream's handler.
  init<Success: Sendable, Failure: Error>(
    completing stream: @escaping DataStreamRequest.Handler<Success, Failure>, on queue: HandlerQueue
  ) {
    // Delivered inline: the request waits for the handler's calls itself, and then chooses the queue.
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
