import Dispatch
public import Foundation
public import FoundationNetworking
import Synchronization
import WeirIO

extension Request {
  public var state: State { fields.withLock { $0.machine.state } }
  public var isInitialized: Bool { state == .initialized }
  public var isResumed: Bool { state == .resumed }
  public var isSuspended: Bool { state == .suspended }
  public var isCancelled: Bool { state == .cancelled }
  public var isFinished: Bool { state == .finished }

  /// The error so far; final once the request has finished.
  public var error: WeirError? { fields.withLock { $0.error } }
  /// How often the request was tried again.
  public var retryCount: Int { fields.withLock { $0.retryCount } }
  /// Why the present attempt is made, if it is a retry: set before `requestIsRetrying`. Nil for the first attempt.
  public var retryReason: RetryReason? { fields.withLock { $0.retryReason } }
  /// How the request ended; nil until it settles.
  public var outcome: RequestOutcome? { fields.withLock { $0.outcome } }
  /// Where the request goes, by its initial URL; nil until one was built.
  public var destination: Destination? { fields.withLock { $0.destination } }
  /// The method of the initial URL request; nil until one was built. Cheaper than asking that request.
  public var method: HTTPMethod? { fields.withLock { $0.method }.map(HTTPMethod.init(rawValue:)) }

  /// Seconds from the beginning of setup to settling, or to now; nil when setup never began.
  public var duration: TimeInterval? {
    fields.withLock { fields in
      fields.began.map { (fields.ended ?? .now).seconds(since: $0) }
    }
  }

  /// Attempts that were put on the wire.
  public var attemptCount: Int { fields.withLock { $0.startedCount } }

  /// Seconds the serializers of the last attempt took together; nil before the request has settled.
  public var serializationDuration: TimeInterval? { fields.withLock { $0.serializationDuration } }

  /// Every URL request of every attempt: the initial one and, where adapters changed it, the adapted one.
  public var requests: [URLRequest] {
    fields.withLock { $0.attempts.flatMap { [$0.initial, $0.adapted].compactMap { $0 } } }
  }
  public var firstRequest: URLRequest? { fields.withLock { $0.attempts.first?.initial } }
  public var lastRequest: URLRequest? { fields.withLock { $0.attempt?.urlRequest } }
  /// The same as ``lastRequest``.
  public var request: URLRequest? { lastRequest }
  /// What the tasks sent last, after redirects.
  public var performedRequests: [URLRequest] { tasks.compactMap(\.currentRequest) }

  /// One task per attempt.
  public var tasks: [TransferTask] { fields.withLock { $0.attempts.compactMap(\.task) } }
  public var firstTask: TransferTask? { fields.withLock { $0.attempts.first?.task } }
  public var lastTask: TransferTask? { fields.withLock { $0.attempts.last { $0.task != nil }?.task } }
  /// The same as ``lastTask``.
  public var task: TransferTask? { lastTask }

  /// The last response head.
  public var response: HTTPURLResponse? { lazyResponse?.response }
  package var lazyResponse: LazyHTTPResponse? { fields.withLock { $0.lastTask }?.lazyResponse }

  /// One entry per attempt.
  public var allMetrics: [TransferMetrics] { fields.withLock { $0.attempts.compactMap(\.metrics) } }
  public var firstMetrics: TransferMetrics? { fields.withLock { $0.attempts.first?.metrics } }
  public var lastMetrics: TransferMetrics? { fields.withLock { $0.attempt?.metrics } }
  /// The same as ``lastMetrics``.
  public var metrics: TransferMetrics? { lastMetrics }

  public var interceptor: (any RequestInterceptor)? { fields.withLock { $0.interceptor } }
  public var eventMonitor: (any EventMonitor)? { fields.withLock { $0.monitors } }
  public var redirectHandler: (any RedirectHandler)? { fields.withLock { $0.redirectHandler } }

  /// The serial queue of this request's handlers, which targets the session's completion queue.
  public var underlyingQueue: DispatchQueue { context.queues.root ?? deliveryQueue }
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
