import Dispatch
import Synchronization
import WeirIO

extension Request {
  /// The state. A verb changes it in the call; the consequences follow later, on the event loop.
  public var state: State { fields.withLock { $0.machine.state } }
  /// Neither resumed, suspended nor cancelled yet.
  public var isInitialized: Bool { state == .initialized }
  /// Started, or to be started as soon as it is set up.
  public var isResumed: Bool { state == .resumed }
  /// Stopped by ``suspend()``.
  public var isSuspended: Bool { state == .suspended }
  /// Ended by ``cancel()``; stays true after its handlers have run.
  public var isCancelled: Bool { state == .cancelled }
  /// Settled: its outcome is fixed and its handlers are dispatched.
  public var isFinished: Bool { state == .finished }

  /// The last error so far; final once the request has finished.
  public var error: WeirError? { fields.withLock { $0.error } }
  /// The number of retries.
  public var retryCount: Int { fields.withLock { $0.retryCount } }
  /// The reason for the present attempt if it is a retry; set before `requestIsRetrying`. Nil for the first attempt.
  public var retryReason: RetryReason? { fields.withLock { $0.retryReason } }
  /// The trace in which the request's attempts are recorded as spans; nil if they are not, and before the first attempt is
  /// made.
  public var recordedTrace: RecordedTrace? { fields.withLock { $0.recordedTrace } }
  /// How the request ended; nil until it settles.
  public var outcome: RequestOutcome? { fields.withLock { $0.outcome } }
  /// The destination of the initial URL request; nil until one was built.
  public var destination: Destination? { fields.withLock { $0.destination } }
  /// The method of the initial URL request; nil until one was built. Cheaper than reading it from that request.
  public var method: HTTPMethod? { fields.withLock { $0.method }.map(HTTPMethod.init(rawValue:)) }

  /// The seconds from the beginning of setup to settling, or to now; nil if setup has not begun.
  public var duration: TimeInterval? {
    fields.withLock { fields in
      fields.began.map { (fields.ended ?? .now).seconds(since: $0) }
    }
  }

  /// The number of attempts that were put on the wire.
  public var attemptCount: Int { fields.withLock { $0.startedCount } }

  /// The seconds that all serializers of the last attempt took together; nil before the request has settled.
  public var serializationDuration: TimeInterval? { fields.withLock { $0.serializationDuration } }

  /// Every URL request of every attempt: the initial one and, where adapters changed it, the adapted one.
  public var requests: [URLRequest] {
    fields.withLock { $0.attempts.flatMap { [$0.initial, $0.adapted].compactMap { $0?.urlRequest } } }
  }
  /// The initial URL request of the first attempt; nil until it was built.
  public var firstRequest: URLRequest? { fields.withLock { $0.attempts.first?.initial }?.urlRequest }
  /// The URL request of the last attempt that has one, adapted if it was; nil until one was built.
  public var lastRequest: URLRequest? { fields.withLock { $0.last(\.hop) }?.urlRequest }
  /// The same as ``lastRequest``.
  public var request: URLRequest? { lastRequest }
  /// The last URL request that each task sent, after redirects.
  public var performedRequests: [URLRequest] { tasks.compactMap(\.currentRequest) }

  /// One task per attempt.
  public var tasks: [TransferTask] { fields.withLock { $0.attempts.compactMap(\.task) } }
  /// The task of the first attempt; nil until it was made.
  public var firstTask: TransferTask? { fields.withLock { $0.attempts.first?.task } }
  /// The task of the last attempt that has one.
  public var lastTask: TransferTask? { fields.withLock { $0.last(\.task) } }
  /// The same as ``lastTask``.
  public var task: TransferTask? { lastTask }

  /// The response head of ``lastTask``. A retry's adapters still see the head of the response that caused the retry.
  public var response: HTTPURLResponse? { lastTask?.lazyResponse?.response }

  // Retriers are asked about the present attempt alone, which these describe:
  package var lazyResponse: LazyHTTPResponse? { fields.withLock { $0.presentTask }?.lazyResponse }
  var presentRequest: URLRequest? { fields.withLock { $0.attempt?.hop }?.urlRequest }
  /// The present request before its adaptation.
  var initialRequest: URLRequest? { fields.withLock { $0.attempt?.initial }?.urlRequest }
  /// The present request after its redirects.
  var sentRequest: URLRequest? { fields.withLock { $0.presentTask }?.currentRequest }

  /// One entry per attempt.
  public var allMetrics: [TransferMetrics] { fields.withLock { $0.attempts.compactMap(\.metrics) } }
  /// The metrics of the first attempt; nil until it ended.
  public var firstMetrics: TransferMetrics? { fields.withLock { $0.attempts.first?.metrics } }
  /// The metrics of the last attempt that has ended; nil until one has.
  public var lastMetrics: TransferMetrics? { fields.withLock { $0.last(\.metrics) } }
  /// The same as ``lastMetrics``.
  public var metrics: TransferMetrics? { lastMetrics }

  /// Adapts and retries this request, after the session's interceptor.
  public var interceptor: (any RequestInterceptor)? { fields.withLock { $0.interceptor } }
  /// A ``CompositeEventMonitor`` of the session's monitors and those of this request.
  public var eventMonitor: (any EventMonitor)? { fields.withLock { $0.monitors } }
  /// Decides about this request's redirects in place of the session's handler.
  public var redirectHandler: (any RedirectHandler)? { fields.withLock { $0.redirectHandler } }
  /// Decides whether and how the response is cached; nil: the session's handler decides.
  public var cachedResponseHandler: (any CachedResponseHandler)? { fields.withLock { $0.cachedResponseHandler } }

  /// The closure of ``uploadProgress(queue:closure:)`` or of a progress stream, and the queue on which it runs: the
  /// given queue, else the request's. Nil without a closure, and once the request has settled.
  public var uploadProgressHandler: (handler: ProgressHandler, queue: DispatchQueue)? {
    progressHandler(\.uploadProgress)
  }
  /// The same for ``downloadProgress(queue:closure:)``.
  public var downloadProgressHandler: (handler: ProgressHandler, queue: DispatchQueue)? {
    progressHandler(\.downloadProgress)
  }

  private func progressHandler(
    _ kind: KeyPath<RequestObservers, RequestObserver<ProgressHandler>?>
  ) -> (handler: ProgressHandler, queue: DispatchQueue)? {
    guard let observer = fields.withLock({ $0.observers?[keyPath: kind] }) else { return nil }
    if case .explicit(let queue) = observer.queue { return (observer.handler, queue) }
    return (observer.handler, underlyingQueue)
  }

  /// The session's ``Session/rootQueue``, else the serial queue of this request's handlers, which targets the session's
  /// completion queue.
  public var underlyingQueue: DispatchQueue { context.queues.root ?? deliveryQueue }
  /// The session's ``Session/serializationQueue``, else the queue of this request's handlers.
  public var serializationQueue: DispatchQueue { context.queues.serialization ?? deliveryQueue }

  private var deliveryQueue: DispatchQueue {
    fields.withLock { fields in
      if let queue = fields.deliveryQueue { return queue }
      let queue = DispatchQueue(label: "weir.request.delivery", target: context.queues.completion)
      fields.deliveryQueue = queue
      return queue
    }
  }
}
