import Synchronization

/// A response that comes once and is awaited any number of times. It is not generic; see `ResponseHandler` for why.
final class ResponseBox: Sendable {
  /// The continuations are unsafe ones, which cost no allocation. `fulfill` takes each out of the state once.
  private enum State {
    case pending
    /// Nearly always one task waits. Each further continuation is the new head of a list.
    indirect case awaited(UnsafeContinuation<Void, Never>, others: State)
    case done(AwaitedResponse)

    var response: AwaitedResponse? {
      if case .done(let response) = self { response } else { nil }
    }
  }

  private let state = Mutex(State.pending)

  func fulfill(_ response: AwaitedResponse) {
    var waiting = state.withLock { state in
      defer { state = .done(response) }
      return state
    }
    while case .awaited(let continuation, let others) = waiting {
      continuation.resume()
      waiting = others
    }
  }

  /// A waiting task reads the response from the state, not from its continuation: ThreadSanitizer doesn't see that the
  /// runtime orders memory where a continuation is resumed before its task has stopped.
  var response: AwaitedResponse {
    get async {
      while true {
        if let response = state.withLock({ $0.response }) { return response }
        await withUnsafeContinuation { continuation in
          let isDone = state.withLock { state in
            if state.response != nil { return true }
            state = .awaited(continuation, others: state)
            return false
          }
          if isDone { continuation.resume() }
        }
      }
    }
  }
}

/// An ``Awaited`` of any value.
typealias AwaitedResponse = any AnyObject & Sendable

final class Awaited<Response: Sendable>: Sendable {
  let response: Response

  init(_ response: Response) {
    self.response = response
  }
}

/// A request, and the box for the response of a handler added to it; the content of ``DataTask`` and ``DownloadTask``.
struct ResponseAwaiting<Response: Sendable>: Sendable {
  let request: Request
  private let box = ResponseBox()
  private let cancelsAutomatically: Bool

  /// Adds a handler to the request. `handler` makes it, given the closure that takes the response.
  init(
    _ request: Request, cancelsAutomatically: Bool,
    by handler: (@escaping @Sendable (Response) -> Void) -> ResponseHandler
  ) {
    self.request = request
    self.cancelsAutomatically = cancelsAutomatically
    if cancelsAutomatically, Task.isCancelled { request.cancel() }
    request.addHandler(handler { [box] in box.fulfill(Awaited($0)) })
  }

  var response: Response {
    get async {
      let awaited = cancelsAutomatically ? await cancellableResponse : await box.response
      // The box is filled by the handler made together with it, so the response has this type.
      return unsafeDowncast(awaited, to: Awaited<Response>.self).response
    }
  }

  private var cancellableResponse: AwaitedResponse {
    get async {
      await withTaskCancellationHandler {
        await box.response
      } onCancel: {
        request.cancel()
      }
    }
  }
}
