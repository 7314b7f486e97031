import Dispatch
import Synchronization
import WeirIO

/// The end of a request: its handlers' values, its outcome, the delivery.
extension RequestPipeline {
  func finish() {
    stopWaiting(for: .retry)
    isFinished = true
    if request.fields.withLock({ $0.machine.finishing(hasHandlers: !$0.handlers.isEmpty) }) {
      monitors.requestDidFinish(request)
    }
    // Released one by one: a value may hold objects of the caller's, whose `deinit` may call back into this pipeline.
    while values.popLast() != nil {}
    verdict = nil
    nextHandler()
  }

  /// Goes on to the next value. If a retrier gave an error for the last value, that value takes the error first.
  func nextHandler() {
    if let verdict { replaceLastValue(with: verdict) }
    // A loop and not recursion, since there may be thousands of handlers.
    var action = RequestMachine.Action.nextHandler
    while action == .nextHandler {
      action = request.fields.withLock { $0.machine.nextHandler(of: $0.handlers.count) }
      if case .serialize(let index) = action { action = serialize(index) }
    }
    perform(action)
  }

  /// Makes a handler's value and returns the next action; `.none` if the value is made on another thread.
  private func serialize(_ index: Int) -> RequestMachine.Action {
    let (handler, input, step) = request.fields.withLock { fields in
      (fields.handlers[index], SerializationInput(request, fields), fields.machine.step)
    }
    if let executor = Self.executor(for: handler, input) {
      makeValue(index, by: handler, from: input, step, on: executor)
      return .none
    }
    return valueMade(handler.makeValue(input), index, step)
  }

  private func makeValue(
    _ index: Int, by handler: ResponseHandler, from input: SerializationInput, _ step: RequestMachine.Step,
    on executor: Executor
  ) {
    executor { [request] in
      // If the request was answered while this waited, no value is needed.
      guard request.fields.withLock({ $0.machine.isWaiting(in: step) }) else { return }
      let value = handler.makeValue(input)
      request.onPipeline { $0.perform($0.valueMade(value, index, step)) }
    }
  }

  private func valueMade(_ value: HandlerValue, _ index: Int, _ step: RequestMachine.Step) -> RequestMachine.Action {
    guard decide({ $0.isWaiting(in: step) }) else { return .none }
    values.append(value)
    if wants(.responses) { value.announce(from: request) }
    return request.fields.withLock { fields in
      let asks = value.error != nil && fields.handlers[index].consultsRetriers
      return fields.machine.serialized(index, asksRetriers: asks, step)
    }
  }

  private func replaceLastValue(with error: WeirError) {
    verdict = nil
    guard values.popLast() != nil else { return }
    let index = values.count
    let (handler, input) = request.fields.withLock { fields in
      var input = SerializationInput(request, fields)
      input.verdict = input.verdict ?? error
      return (fields.handlers[index], input)
    }
    values.append(handler.makeValue(input))
  }

  func deliver() {
    stopTimers()
    attempt = nil
    closeBodyStream()
    let failure = values.first { $0.error != nil }?.error
    let values = values
    self.values = []
    let (handlers, observers, outcome, end, own, unheard, abandoned) = request.fields.withLock { fields in
      let handlers = fields.takeHandlers(values.count)
      let status = fields.presentTask?.lazyResponse?.statusCode
      let outcome = RequestOutcome(error: handlers.isEmpty ? fields.error : failure, status: status)
      fields.outcome = outcome
      fields.ended = .now
      if !handlers.isEmpty { fields.serializationDuration = values.reduce(0) { $0 + $1.duration } }
      fields.machine.delivered()
      defer { fields.observers = nil }
      return (
        handlers, fields.observers, outcome, fields.end(outcome), fields.ownDelegate, fields.machine.takeUnheard(),
        fields.takePendingAnswers()
      )
    }
    // After the request has settled, monitors hear of no verbs.
    for verb in unheard { announce(verb) }
    core.remove(request)
    own?.delegate?.cleanup(after: request)
    if let observers { request.describe(to: observers.cURL.filter { !$0.isForEachAttempt }) }
    request.settled()
    if let end { observer?.exchange(self, didSettle: end) }
    monitors.requestDidSettle(request, outcome: outcome)
    for (handler, value) in zip(handlers, values) { request.deliver(value, on: handler.queue) }
    for answer in abandoned { answer.abandon() }
  }

  // MARK: Without a pipeline

  /// Serves handlers that came after the outcome with the stored result. They are served one after another, wherever
  /// their serializers run, so that they keep their order. Called on the loop.
  static func serveLateHandlers(of request: Request) {
    let isFree = request.fields.withLock { fields in
      defer { fields.servesLateHandlers = true }
      return !fields.servesLateHandlers
    }
    if isFree { serveNextHandler(of: request) }
  }

  private static func serveNextHandler(of request: Request) {
    while let (handler, input) = takeLateHandler(of: request) {
      guard let executor = executor(for: handler, input) else {
        serve(handler.makeValue(input), of: handler, request)
        continue
      }
      return executor {
        let value = handler.makeValue(input)
        request.context.loop.run {
          serve(value, of: handler, request)
          serveNextHandler(of: request)
        }
      }
    }
  }

  private static func takeLateHandler(of request: Request) -> (ResponseHandler, SerializationInput)? {
    request.fields.withLock { fields in
      guard !fields.handlers.isEmpty else {
        fields.servesLateHandlers = false
        return nil
      }
      return (fields.handlers.removeFirst(), SerializationInput(request, fields))
    }
  }

  private static func serve(_ value: HandlerValue, of handler: ResponseHandler, _ request: Request) {
    value.announce(from: request)
    request.fields.withLock { if $0.handlers.isEmpty { $0.machine.delivered() } }
    request.deliver(value, on: handler.queue)
  }

  /// The executor on which a handler's value is made; nil: the loop. If the outcome is fixed, no serializer runs, so
  /// there is nothing to wait for.
  private static func executor(for handler: ResponseHandler, _ input: SerializationInput) -> Executor? {
    if input.verdict != nil { return nil }
    let length = handler.readsBody ? input.data?.count ?? 0 : 0
    return input.request.context.serializationExecutor(reading: handler.readsFile ? .max : length)
  }
}

extension SerializationInput {
  init(_ request: Request, _ fields: borrowing RequestFields) {
    self.init(
      request: request,
      contents: ResponseContents(
        hop: fields.attempt?.hop, head: fields.presentTask?.lazyResponse, data: fields.data,
        metrics: fields.attempt?.metrics),
      times: fields.times, error: fields.error,
      verdict: fields.verdict)
  }
}

extension RequestFields {
  /// The end of the exchange, for observers; nil if the request ended before it began.
  fileprivate func end(_ outcome: RequestOutcome) -> ExchangeEnd? {
    guard let began, let ended else { return nil }
    let status = last(\.metrics)?.statusCode
    return ExchangeEnd(
      outcome: outcome, isDestinationsFault: outcome.isDestinationsFault(error, status: status), status: status,
      attempts: startedCount, duration: ended.seconds(since: began), serialization: serializationDuration)
  }
}

extension RequestOutcome {
  /// Whether the destination is to blame for the outcome, as ``isDestinationsFault(status:)`` says. If a retrier has
  /// set its own error, the error that it was asked about decides.
  func isDestinationsFault(_ error: WeirError?, status: Int?) -> Bool {
    guard case .requestRetryFailed(_, let original)? = error, self == .retryFailed else {
      return isDestinationsFault(status: status)
    }
    let before = original.asWeirError
    return RequestOutcome(error: before, status: status).isDestinationsFault(before, status: status)
  }
}
