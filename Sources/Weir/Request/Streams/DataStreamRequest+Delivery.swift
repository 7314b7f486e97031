import Synchronization
import WeirIO

/// The way of a chunk: it is serialized, then each handler is called with its value. ``StreamDelivery`` decides.
extension DataStreamRequest {
  typealias Work = StreamDelivery<Data, StreamValue>.Work
  typealias DeliveryActions = StreamDelivery<Data, StreamValue>.Actions

  /// Adds a handler for chunks and one for the end. Returns the number of the chunk handler; nil after the end.
  @discardableResult
  func add(_ handler: StreamHandler, isRead: Bool = false, _ completion: ResponseHandler) -> Int? {
    let number = streaming.withLock { state in
      let number = state.delivery.addHandler(isRead: isRead)
      if number != nil { state.handlers.append(handler) }
      return number
    }
    addHandler(completion)
    return number
  }

  // MARK: Serialization

  /// Serializes a chunk and those that wait behind it. Called on the loop.
  func serialize(_ work: Work) {
    var next: Work? = work
    while let work = next {
      let handlers = streaming.withLock { $0.handlers.prefix(work.handlers) }
      guard handlers.contains(where: \.serializes),
        let executor = context.serializationExecutor(reading: work.chunk.count)
      else {
        next = serialized(values(for: handlers, work), work)
        continue
      }
      return executor { [self] in
        // A chunk that no handler will get is not serialized.
        let values = streaming.withLock({ $0.delivery.isWanted(work.number) }) ? values(for: handlers, work) : []
        context.loop.post { [self] in
          if let next = serialized(values, work) { serialize(next) }
        }
      }
    }
  }

  private func values(for handlers: ArraySlice<StreamHandler>, _ work: Work) -> [StreamValue] {
    let token = CancellationToken(request: self)
    return handlers.map { $0.makeValue(work.chunk, token) }
  }

  /// Hands a chunk's values to the handlers' queues; returns the next chunk to serialize.
  private func serialized(_ values: [StreamValue], _ work: Work) -> Work? {
    if streaming.withLock({ $0.delivery.isWanted(work.number) }) {
      let monitors = fields.withLock { $0.monitors }
      if monitors.wants(.responses) { for value in values { value.announce?(self, monitors) } }
    }
    let (due, next, actions) = streaming.withLock { state in
      let (due, next, actions) = state.delivery.serialized(values, work.number)
      return (due.map { ($0, state.handlers[$0].queue) }, next, actions)
    }
    for (index, queue) in due { schedule(index, on: queue) }
    perform(actions)
    return next
  }

  // MARK: Calls

  private func schedule(_ index: Int, on queue: HandlerQueue) {
    deliver(on: queue) { [self] in takeTurn(index, on: queue) }
  }

  private func takeTurn(_ index: Int, on queue: HandlerQueue) {
    let isOver = isCancelled
    let (call, dropped) = streaming.withLock { state in
      let dropped = isOver ? state.delivery.drop() : []
      return (state.delivery.begin(index), dropped)
    }
    withExtendedLifetime(dropped) {}
    guard let call else { return }
    do {
      try call.value.call()
    } catch {
      failed(.serialization(error), call.number)
    }
    if call.value.isFailure, automaticallyCancelOnStreamError { cancelAtOnce() }
    let (actions, completions) = streaming.withLock { state in
      let actions = state.delivery.returned(index)
      defer { if actions.contains(.complete) { state.completions = [] } }
      return (actions, actions.contains(.complete) ? state.completions : [])
    }
    if actions.contains(.schedule) { schedule(index, on: queue) }
    perform(actions)
    for complete in completions { complete() }
  }

  /// A handler has thrown: no more chunks are delivered, and its error ends the attempt.
  private func failed(_ error: WeirError, _ number: Int) {
    guard let dropped = streaming.withLock({ $0.delivery.failed(number) }) else { return }
    withExtendedLifetime(dropped) {}
    context.loop.post { [self] in onPipeline { $0.attempt?.receiverFailed(error) } }
  }

  /// Cancels the request, and drops the chunks that wait, so that no handler is called with them.
  private func cancelAtOnce() {
    cancel()
    withExtendedLifetime(streaming.withLock { $0.delivery.drop() }) {}
  }

  /// Runs a handler's completion once no call is under way. Called on the loop.
  func complete(_ completion: @escaping @Sendable () -> Void) {
    let isQuiet = streaming.withLock { state in
      if state.delivery.calls > 0 { state.completions.append(completion) }
      return state.delivery.calls == 0
    }
    if isQuiet { completion() }
  }

  /// Lets the attempt read on or end. Posted, so that it does not happen in the middle of one of the attempt's steps.
  func perform(_ actions: DeliveryActions) {
    guard actions.contains(.goOn) else { return }
    context.loop.post { [self] in onPipeline { $0.attempt?.release(.sink) } }
  }
}

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
  var head = Head.unasked

  /// The response's head, for the caller who asks for it first.
  enum Head: Sendable {
    typealias Answer = @Sendable (Result<HTTPURLResponse, WeirError>) -> Void

    /// No head has come, and none was asked for.
    case unasked
    /// The caller waits for it.
    case awaited(Answer)
    /// The caller has it, or the error in its place.
    case given
    /// One has come before it was asked for.
    case missed

    var isAwaited: Bool { if case .awaited = self { true } else { false } }
    var isGiven: Bool { if case .given = self { true } else { false } }

    /// Begins to wait. False: it is too late for that, or it was asked for before.
    mutating func wait(_ answer: @escaping Answer) -> Bool {
      guard case .unasked = self else { return false }
      self = .awaited(answer)
      return true
    }

    /// A head has come, or the request's end. Returns the closure that takes it, if one waits.
    mutating func come() -> Answer? {
      guard case .awaited(let answer) = self else {
        if case .unasked = self { self = .missed }
        return nil
      }
      self = .given
      return answer
    }

    static func result(of response: LazyHTTPResponse?) -> Result<HTTPURLResponse, WeirError> {
      response?.response.map { .success($0) } ?? .failure(missing)
    }

    /// The error of a caller who gets no head although nothing else has failed.
    static var missing: WeirError {
      let text = "streaming() has to be called once, before the response's head comes"
      return .sessionTaskFailed(
        error: URLError(.badServerResponse, userInfo: [NSLocalizedDescriptionKey: text]))
    }
  }
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
  /// Ends the wait for the head of a response when the request has ended before one was passed on.
  static func endingHead() -> ResponseHandler {
    ResponseHandler(queue: .inline, consultsRetriers: false, readsBody: false) { input in
      HandlerValue(error: input.failure, duration: 0) { use in
        guard case .deliver = use, let request = input.request as? DataStreamRequest,
          let answer = request.streaming.withLock({ $0.head.come() })
        else { return }
        answer(input.failure.map { .failure($0) } ?? StreamState.Head.result(of: input.response))
      }
    }
  }

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
            try? stream(DataStreamRequest.Stream(event: .complete(completion), token: .init(request: request)))
          }
        }
      }
    }
  }
}
