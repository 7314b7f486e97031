import Synchronization
import WeirCurl
import WeirIO

/// A request whose response body is handed on in the chunks in which it comes, and not kept.
///
/// Every handler gets every chunk: one call at a time, in order, whatever its queue. At most 1 MiB waits for handlers
/// that are slow; then reading waits for them, and the peer with it. Each handler gets `.complete` once, after all calls
/// with chunks have returned.
///
/// `@unchecked Sendable`: see ``Request``; what this class adds is constant or in a `Mutex`.
public final class DataStreamRequest: Request, @unchecked Sendable {
  /// Gets a stream's events. An error thrown for a chunk becomes ``Request/error`` and ends the attempt; one thrown for
  /// `.complete` is ignored.
  public typealias Handler<Success: Sendable, Failure: Error> = @Sendable (Stream<Success, Failure>) throws -> Void

  /// Says whether a response is acceptable, after its body has ended; its error is kept if it is a ``WeirError``, else it
  /// becomes ``WeirError/ResponseValidationFailureReason/customValidationFailed(error:)``.
  public typealias Validation = @Sendable (URLRequest?, HTTPURLResponse) -> ValidationResult

  /// What gives the URL request of each attempt.
  public let convertible: any URLRequestConvertible
  /// Whether a chunk that can't be serialized cancels the request, once its handler has been told.
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

  // MARK: The body, on the loop

  override func receive(_ response: LazyHTTPResponse) -> BodyFlow {
    flow(pauses: streaming.withLock { $0.delivery.responseBegins() })
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
    // Let go of outside of the lock: it is the caller's.
    let unused = streaming.withLock { state in
      defer { state.handlers = [] }
      return (state.delivery.settle(), state.handlers)
    }
    withExtendedLifetime(unused) {}
  }

  /// While its handlers are slow the attempt keeps its connection and not its slot: they may want one for a request of
  /// their own. Not in the middle of libcurl's call.
  private func flow(pauses: Bool) -> BodyFlow {
    guard pauses else { return .proceed }
    context.loop.post { [self] in onPipeline { $0.attempt?.attempt.park(for: .sink) } }
    return .pause
  }
}
