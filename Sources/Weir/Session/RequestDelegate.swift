import Synchronization
import WeirIO

/// The settings and decisions that a request asks of its session or of its own delegate (``Request/delegate``).
@preconcurrency
public protocol RequestDelegate: AnyObject, Sendable {
  /// The session's settings.
  var sessionConfiguration: SessionConfiguration { get }
  /// Whether the first response handler resumes a request.
  var startImmediately: Bool { get }
  /// Starts setup; a second call for an active request does nothing.
  func readyToPerform(request: Request)
  /// Drops a request from the active ones.
  func cleanup(after request: Request)
  /// Asks the retriers and answers on the event loop; `.doNotRetry` if there are none.
  @preconcurrency
  func retryResult(
    for request: Request, dueTo error: WeirError, completion: @escaping @Sendable (RetryResult) -> Void)
  /// Retries a request about which retriers are being asked, and no other, after this many seconds; nil means at once.
  func retryRequest(_ request: Request, withDelay delay: TimeInterval?)
}

extension Session: RequestDelegate {
  public var startImmediately: Bool { startRequestsImmediately }

  public func readyToPerform(request: Request) {
    request.prepare()
  }

  public func cleanup(after request: Request) {
    context.loop.run { [core = context.core] in
      if request.fields.withLock({ $0.machine.isSettled }) { core.value.remove(request) }
    }
  }

  @preconcurrency
  public func retryResult(
    for request: Request, dueTo error: WeirError, completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    let retriers: [any RequestRetrier] = [request.sessionInterceptor, request.interceptor].compactMap { $0 }
    RetryChain(retriers: retriers, request: request, session: self, error: error) {
      [loop = context.loop] result, decision in
      loop.run {
        request.note(decision)
        if case .doNotRetryWithError(let cause) = result {
          completion(.doNotRetryWithError(WeirError.requestRetryFailed(retryError: cause, originalError: error)))
        } else {
          completion(result)
        }
      }
    }.run()
  }

  public func retryRequest(_ request: Request, withDelay delay: TimeInterval?) {
    request.onPipeline { $0.retryAsTold(after: delay ?? 0) }
  }
}

/// A delegate that the caller has set on a request.
///
/// `@unchecked Sendable`: it doesn't change.
final class OwnDelegate: @unchecked Sendable {
  private(set) weak var delegate: (any RequestDelegate)?

  init(_ delegate: (any RequestDelegate)?) {
    self.delegate = delegate
  }
}

extension Request {
  /// The session, as long as it lives, or the delegate set here. A delegate set here decides in the session's place
  /// whether the first handler resumes the request and whether a failure is retried. It is told when the request has
  /// settled.
  public var delegate: (any RequestDelegate)? {
    get {
      let own = fields.withLock { $0.ownDelegate }
      return own.map { $0.delegate } ?? context.session
    }
    set {
      let own = newValue === context.session ? nil : OwnDelegate(newValue)
      fields.withLock { $0.ownDelegate = own }
    }
  }

  /// The delegate in the session's place; nil if there is none.
  var ownDelegate: (any RequestDelegate)? { fields.withLock { $0.ownDelegate }?.delegate }

  /// Sets the request up without starting its transfer.
  func prepare() {
    context.loop.post { [self] in context.core.value.prepare(self) }
  }
}
