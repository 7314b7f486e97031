import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import WeirIO

/// Closures that watch a request; one of each kind.
struct RequestObservers: Sendable {
  var uploadProgress: RequestObserver<Request.ProgressHandler>?
  var downloadProgress: RequestObserver<Request.ProgressHandler>?
  var urlRequest: RequestObserver<@Sendable (URLRequest) -> Void>?
  var task: RequestObserver<@Sendable (TransferTask) -> Void>?
  var httpResponse: RequestObserver<Request.ResponseObserver>?
  var cURL: [CURLObserver] = []
}

struct RequestObserver<Handler: Sendable>: Sendable {
  let handler: Handler
  let queue: HandlerQueue

  init(_ handler: Handler, on queue: HandlerQueue) {
    self.handler = handler
    self.queue = queue
  }
}

/// Waits for the final URL request of an attempt, or of each.
struct CURLObserver: Sendable {
  let handler: @Sendable (String) -> Void
  let queue: HandlerQueue
  let isForEachAttempt: Bool
}

/// Where a handler runs.
enum HandlerQueue: Sendable {
  /// The session's choice: its completion queue or the loop.
  case session
  /// At once, where the event happens: for continuations, which choose their own executor.
  case inline
  case explicit(DispatchQueue)

  /// Of a public entry's argument.
  init(_ queue: DispatchQueue?) {
    self = queue.map { .explicit($0) } ?? .session
  }
}

extension Request {
  /// Runs a handler where it wants to be run.
  func deliver(on queue: HandlerQueue, _ handler: @escaping @Sendable () -> Void) {
    switch queue {
    case .inline: handler()
    case .explicit(let queue): queue.async(execute: handler)
    case .session:
      switch context.configuration.handlerExecution {
      case .eventLoop: context.loop.run(handler)
      case .completionQueue: deliveryQueue.async(execute: handler)
      }
    }
  }

  /// Sets the one observer of a kind. One that comes after the request has settled is let go at once.
  func observe<Handler>(
    _ kind: WritableKeyPath<RequestObservers, RequestObserver<Handler>?>, _ observer: RequestObserver<Handler>
  ) {
    let replaced = fields.withLock { fields in
      guard !fields.machine.isSettled else { return observer as RequestObserver<Handler>? }
      defer { fields.observers[keyPath: kind] = observer }
      return fields.observers[keyPath: kind]
    }
    // Let go of outside of the lock: what it captured may be the caller's, and do anything when it goes.
    withExtendedLifetime(replaced) {}
  }
}
