import Foundation
import Synchronization
import WeirIO

/// What a request asks of its session.
public protocol RequestDelegate: AnyObject, Sendable {
  var sessionConfiguration: SessionConfiguration { get }
  /// Whether the first response handler resumes a request.
  var startImmediately: Bool { get }
  /// Starts setup; a second call for an active request does nothing.
  func readyToPerform(request: Request)
  /// Drops a request from the active ones.
  func cleanup(after request: Request)
  /// Asks the retriers and answers on the event loop; `.doNotRetry` if there are none.
  func retryResult(
    for request: Request, dueTo error: WeirError, completion: @escaping @Sendable (RetryResult) -> Void)
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

  public func retryResult(
    for request: Request, dueTo error: WeirError, completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    let retriers: [any RequestRetrier] = [interceptor, request.interceptor].compactMap { $0 }
    RetryChain(retriers: retriers, request: request, session: self, error: error) { [loop = context.loop] result in
      loop.run {
        if case .doNotRetryWithError(let cause) = result {
          completion(.doNotRetryWithError(WeirError.requestRetryFailed(retryError: cause, originalError: error)))
        } else {
          completion(result)
        }
      }
    }.run()
  }
}

extension Request {
  /// The session, as long as it lives.
  public var delegate: (any RequestDelegate)? { context.session }

  /// Sets the request up without starting its transfer.
  func prepare() {
    context.loop.post { [self] in context.core.value.prepare(self) }
  }
}
