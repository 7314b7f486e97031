import WeirIO

extension ResponseHandler {
  /// Gives the body as it is, and asks no retrier.
  init(
    on queue: HandlerQueue, _ completion: @escaping @Sendable (WeirDataResponse<Data?>) -> Void
  ) {
    self.init(queue: queue, consultsRetriers: false, readsBody: false) { input in
      let now = MonotonicTime.now
      return HandlerValue(
        input.failure.map { .failure($0) } ?? .success(input.data), of: input, now, now, completion)
    }
  }

  /// Gives the value that a serializer makes of the response.
  init<Value: Sendable>(
    on queue: HandlerQueue, serializing serialize: @escaping LazySerialization<Value>,
    _ completion: @escaping @Sendable (WeirDataResponse<Value>) -> Void
  ) {
    self.init(queue: queue, consultsRetriers: true, readsBody: true) { input in
      HandlerValue(of: input, completion) {
        try serialize(input.hop, input.response, input.data, input.error)
      }
    }
  }

  /// Does the same for one of weir's own serializers, which need no built `HTTPURLResponse`.
  init<Value: Sendable>(
    on queue: HandlerQueue, using serializer: some LazyResponseSerializer<Value>,
    _ completion: @escaping @Sendable (WeirDataResponse<Value>) -> Void
  ) {
    self.init(queue: queue, consultsRetriers: true, readsBody: serializer.readsBody) { input in
      HandlerValue(of: input, completion) {
        try serializer.serialize(
          hop: input.hop, lazyResponse: input.response, data: input.data, error: input.error)
      }
    }
  }
}

extension HandlerValue {
  /// The value that a serializer makes of a data request's response, unless the outcome is fixed without it.
  fileprivate init<Value: Sendable>(
    of input: SerializationInput, _ completion: @escaping @Sendable (WeirDataResponse<Value>) -> Void,
    serialize: () throws -> Value
  ) {
    let began = MonotonicTime.now
    let result = input.result(serialize)
    self.init(result, of: input, began, .now, completion)
  }

  /// The only place where a data request's response is put together.
  fileprivate init<Value: Sendable>(
    _ result: Result<Value, WeirError>, of input: SerializationInput, _ began: MonotonicTime, _ ended: MonotonicTime,
    _ completion: @escaping @Sendable (WeirDataResponse<Value>) -> Void
  ) {
    let response = WeirDataResponse(
      contents: input.contents, serializationDuration: ended.seconds(since: began), result: result,
      timeline: input.timeline(serializationCompleted: ended))
    self.init(error: result.failure, duration: response.serializationDuration) { use in
      switch use {
      case .announce(let request, let monitors): response.announce(from: request, to: monitors)
      case .deliver: completion(response)
      }
    }
  }
}

extension DataResponse where Failure == WeirError {
  fileprivate func announce(from request: Request, to monitors: CompositeEventMonitor) {
    guard let request = request as? DataRequest else { return }
    if let plain = self as? WeirDataResponse<Data?> {
      monitors.request(request, didParseResponse: plain)
    } else {
      monitors.request(request, didParseResponse: self)
    }
  }
}
