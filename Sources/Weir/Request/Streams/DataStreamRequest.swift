import Synchronization
import WeirCurl
import WeirIO

/// A request whose response body is handed on in the chunks in which it arrives, and is not kept.
///
/// Every handler gets every chunk: one call at a time, in order, whatever its queue. At most 1 MiB waits for slow
/// handlers; beyond that, reading pauses, which slows the peer down. Each handler gets `.complete` once, after all
/// calls with chunks have returned.
///
/// `@unchecked Sendable`: see ``Request``; this class adds constants and a `Mutex`.
public final class DataStreamRequest: Request, @unchecked Sendable {
  /// Called with a stream's events. An error thrown for a chunk becomes ``Request/error`` and ends the attempt; an
  /// error thrown for `.complete` is ignored.
  public typealias Handler<Success: Sendable, Failure: Error> = @Sendable (Stream<Success, Failure>) throws -> Void

  /// Says whether a response is acceptable, after its body has ended. An error that is a ``WeirError`` is kept; any
  /// other becomes ``WeirError/ResponseValidationFailureReason/customValidationFailed(error:)``.
  public typealias Validation = @Sendable (URLRequest?, HTTPURLResponse) -> ValidationResult

  /// Makes the URL request of each attempt.
  public let convertible: any URLRequestConvertible
  /// Whether a chunk that can't be serialized cancels the request, once its handler was called with the error.
  public let automaticallyCancelOnStreamError: Bool
  let streaming = Mutex(StreamState())

  init(
    convertible: any URLRequestConvertible, automaticallyCancelOnStreamError: Bool, context: SessionContext,
    interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
  ) {
    self.convertible = convertible
    self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
    super.init(
      context: context, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
  }

  override func makeURLRequest() throws -> URLRequest { try convertible.asURLRequest() }

  override var mayBeCached: Bool { true }

  // MARK: The response, on the loop

  override var judgesHead: Bool { streaming.withLock { $0.head.isAwaited } }

  override var isAnswered: Bool { streaming.withLock { $0.head.isGiven } }

  override func receive(_ response: LazyHTTPResponse) -> BodyFlow {
    let (pauses, answer) = streaming.withLock { ($0.delivery.responseBegins(), $0.head.come()) }
    answer?(StreamState.Head.result(of: response))
    return flow(pauses: pauses)
  }

  override func receive(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    guard streaming.withLock({ $0.delivery.hasHandlers }) else { return .proceed }
    let data = Data(bytes)
    if let work = streaming.withLock({ $0.delivery.arrived(data, size: data.count) }) { serialize(work) }
    return flow(pauses: streaming.withLock { $0.delivery.mustPause() })
  }

  override var handsChunksOn: Bool { true }

  override func bodyMayEnd() -> Bool {
    let (mayEnd, actions) = streaming.withLock { $0.delivery.mayEnd() }
    perform(actions)
    return mayEnd
  }

  override func attemptFailed() { streaming.withLock { $0.delivery.attemptIsOver() } }

  override func settled() {
    // Released outside the lock: the handlers are the caller's, and may run any code when they are released.
    let unused = streaming.withLock { state in
      defer { state.handlers = [] }
      return (state.delivery.settle(), state.handlers)
    }
    withExtendedLifetime(unused) {}
  }

  /// Pauses reading while handlers are slow. The attempt keeps its connection but not its slot, which the handlers may
  /// need for a request of their own. The slot is freed by a posted job, not in the middle of libcurl's call.
  private func flow(pauses: Bool) -> BodyFlow {
    guard pauses else { return .proceed }
    context.loop.post { [self] in onPipeline { $0.attempt?.attempt.park(for: .sink) } }
    return .pause
  }
}

extension DataStreamRequest {
  /// One event of a stream, with a way to cancel the stream's request.
  public struct Stream<Success: Sendable, Failure: Error>: Sendable {
    /// The event.
    public let event: Event<Success, Failure>
    /// Cancels the request; may be kept.
    public let token: CancellationToken

    /// Cancels the request.
    public func cancel() { token.cancel() }

    /// The result of serializing a chunk; nil at completion.
    public var result: Result<Success, Failure>? {
      if case .stream(let result) = event { result } else { nil }
    }

    /// The value of a chunk; nil for a failure and at completion.
    public var value: Success? { result?.success }

    /// The error of a chunk that could not be serialized; nil for a value and at completion.
    public var error: Failure? { result?.failure }

    /// The completion of the request; nil for chunks.
    public var completion: Completion? {
      if case .complete(let completion) = event { completion } else { nil }
    }
  }

  /// An event of a stream.
  public enum Event<Success: Sendable, Failure: Error>: Sendable {
    /// A chunk has come: its value, or the error of its serializer.
    case stream(Result<Success, Failure>)
    /// The request has ended. Comes once, as the last event.
    case complete(Completion)
  }

  /// The end of a stream's request.
  public struct Completion: Sendable {
    private let contents: ResponseContents
    /// The times at which the stages of the last attempt began.
    public let timeline: Timeline
    /// Nil after a success.
    public let error: WeirError?

    /// The URL request of the last attempt.
    public var request: URLRequest? { contents.hop?.urlRequest }
    /// The head of the last attempt's response.
    public var response: HTTPURLResponse? { contents.head?.response }
    /// The metrics of the last attempt.
    public var metrics: TransferMetrics? { contents.metrics }

    init(_ input: SerializationInput) {
      contents = input.contents
      timeline = input.timeline(serializationCompleted: .now)
      error = input.failure
    }
  }

  /// Cancels a request without retaining it.
  public struct CancellationToken: Sendable {
    private(set) weak var request: DataStreamRequest?

    /// Cancels the request, if it still exists.
    public func cancel() { request?.cancel() }
  }
}
