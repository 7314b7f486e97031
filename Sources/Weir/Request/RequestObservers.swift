import Dispatch
import Synchronization
import WeirIO

/// The closures that watch a request: one of each kind, except for command lines.
///
/// `@unchecked Sendable`: the request's lock guards it until the request settles, which takes it out.
final class RequestObservers: @unchecked Sendable {
  var uploadProgress: RequestObserver<Request.ProgressHandler>?
  var downloadProgress: RequestObserver<Request.ProgressHandler>?
  var urlRequest: RequestObserver<@Sendable (URLRequest) -> Void>?
  var task: RequestObserver<@Sendable (TransferTask) -> Void>?
  var httpResponse: RequestObserver<Request.ResponseObserver>?
  var cURL: [CURLObserver] = []
  /// Whether the progress objects exist and have to be kept up to date.
  var showsProgress = false

  /// The observers that wait for an attempt's command line. Those for every attempt stay in the list.
  func takeWaitingForDescription() -> [CURLObserver] {
    let waiting = cURL
    if !waiting.isEmpty { cURL.removeAll { !$0.isForEachAttempt } }
    return waiting
  }
}

struct RequestObserver<Handler: Sendable>: Sendable {
  let handler: Handler
  let queue: HandlerQueue
}

/// An observer that waits for the final URL request of an attempt, or of each attempt.
struct CURLObserver: Sendable {
  let handler: @Sendable (String) -> Void
  let queue: HandlerQueue
  let isForEachAttempt: Bool
}

/// The place where a handler runs.
enum HandlerQueue: Sendable {
  /// The session's choice: its completion queue or the loop.
  case session
  /// At once, where the event happens: for streams, which only store the value.
  case inline
  /// On the loop: for continuations, which choose their own executor.
  case awaiter
  case explicit(DispatchQueue)

  init(_ queue: DispatchQueue?) {
    self = queue.map { .explicit($0) } ?? .session
  }
}

/// Handlers without a queue of their own. One request's run one after another, different requests' run in parallel.
struct HandlerLane {
  private var waiting: [@Sendable () -> Void] = []
  private var isRunning = false

  /// Returns true if the lane is idle, so that the caller has to start running handlers.
  mutating func add(_ handler: @escaping @Sendable () -> Void) -> Bool {
    waiting.append(handler)
    defer { isRunning = true }
    return !isRunning
  }

  /// The next handler to run; nil ends the run.
  mutating func next() -> (@Sendable () -> Void)? {
    isRunning = !waiting.isEmpty
    return waiting.isEmpty ? nil : waiting.removeFirst()
  }

  var isEmpty: Bool { waiting.isEmpty }
}

extension Request {
  func deliver(_ value: HandlerValue, on queue: HandlerQueue) {
    if case .session = queue, context.configuration.handlerExecution == .eventLoop, context.loop.isCurrent {
      value.deliver()
    } else {
      deliver(on: queue) { value.deliver() }
    }
  }

  /// Runs a handler where it is to run. The handlers of one turn of the loop are handed over together at its end, so
  /// that other threads are woken once for all of them: each wake-up costs about as much as a request.
  func deliver(on queue: HandlerQueue, _ handler: @escaping @Sendable () -> Void) {
    if case .inline = queue {
      handler()
    } else if case .session = queue, context.configuration.handlerExecution == .eventLoop {
      context.loop.run(handler)
    } else if context.loop.isCurrent {
      context.loop.atEndOfTurn { [self] in handOver(handler, to: queue) }
    } else {
      handOver(handler, to: queue)
    }
  }

  private func handOver(_ handler: @escaping @Sendable () -> Void, to queue: HandlerQueue) {
    switch queue {
    case .inline, .awaiter: handler()
    case .explicit(let queue): queue.async(execute: handler)
    case .session:
      let (isFirst, own) = fields.withLock { ($0.lane.add(handler), $0.deliveryQueue) }
      if isFirst { runHandlers(on: own) }
    }
  }

  /// Runs the lane's handlers on the request's own queue if there is one, else on the session's. Moves to the own queue
  /// as soon as the caller has asked for it.
  private func runHandlers(on own: DispatchQueue?) {
    (own ?? context.queues.completion).async { [self] in
      while true {
        let (handler, present) = fields.withLock { fields in
          fields.deliveryQueue === own || fields.lane.isEmpty
            ? (fields.lane.next(), own) : (nil, fields.deliveryQueue)
        }
        guard let handler else {
          if present !== own { runHandlers(on: present) }
          return
        }
        handler()
      }
    }
  }

  /// Sets the one observer of a kind. An observer set after the request has settled is released at once.
  ///
  /// Returns the result of `latest`, read under the same lock, so that the observer misses nothing in between.
  @discardableResult
  func observe<Handler, Latest: Sendable>(
    _ kind: ReferenceWritableKeyPath<RequestObservers, RequestObserver<Handler>?>, _ observer: RequestObserver<Handler>,
    latest: (RequestFields) -> Latest?
  ) -> Latest? {
    let (replaced, latest) = fields.withLock { fields in
      let latest = latest(fields)
      guard !fields.machine.isSettled else { return (observer as RequestObserver<Handler>?, latest) }
      let observers = fields.madeObservers()
      defer { observers[keyPath: kind] = observer }
      return (observers[keyPath: kind], latest)
    }
    // Released outside the lock: what the closure captured may be the caller's, and its `deinit` may do anything.
    withExtendedLifetime(replaced) {}
    return latest
  }

  /// Does the same for events without a latest value.
  @discardableResult
  func observe<Handler>(
    _ kind: ReferenceWritableKeyPath<RequestObservers, RequestObserver<Handler>?>, _ handler: Handler,
    on queue: HandlerQueue
  ) -> Self {
    observe(kind, RequestObserver(handler: handler, queue: queue)) { _ in nil as Void? }
    return self
  }

  // MARK: Response heads

  func observeResponses(on queue: HandlerQueue, _ handler: @escaping ResponseObserver) -> Self {
    observe(\.httpResponse, handler, on: queue)
  }

  func observeResponses(
    on queue: HandlerQueue, _ handler: @escaping @Sendable (HTTPURLResponse) -> Void
  ) -> Self {
    observeResponses(on: queue) { response, completion in
      handler(response)
      completion(.allow)
    }
  }

  func observeResponses(
    inTask handler: @escaping @Sendable (HTTPURLResponse) async -> ResponseDisposition
  ) -> Self {
    observeResponses(on: .inline) { response, completion in Task { completion(await handler(response)) } }
  }

  func streamResponses(_ policy: StreamOf<HTTPURLResponse>.BufferingPolicy) -> StreamOf<HTTPURLResponse> {
    StreamOf(bufferingPolicy: policy) { feed in _ = observeResponses(on: .inline) { feed.yield($0) } }
  }
}
