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
  /// On the loop: for continuations, which choose their own executor.
  case inline
  case explicit(DispatchQueue)

  /// Of a public entry's argument.
  init(_ queue: DispatchQueue?) {
    self = queue.map { .explicit($0) } ?? .session
  }
}

/// Handlers without a queue of their own: one request's run one after another, different requests' side by side.
struct HandlerLane {
  private var waiting: [@Sendable () -> Void] = []
  private var isRunning = false

  /// Whether somebody has to begin taking handlers.
  mutating func add(_ handler: @escaping @Sendable () -> Void) -> Bool {
    waiting.append(handler)
    defer { isRunning = true }
    return !isRunning
  }

  /// All that wait, for the one who takes them; empty ends the turn.
  mutating func take() -> [@Sendable () -> Void] {
    defer { waiting = [] }
    isRunning = !waiting.isEmpty
    return waiting
  }
}

extension Request {
  /// Calls a response handler with its value.
  func deliver(_ value: any HandlerValue, on queue: HandlerQueue) {
    if case .session = queue, context.configuration.handlerExecution == .eventLoop, context.loop.isCurrent {
      value.deliver()
    } else {
      deliver(on: queue) { value.deliver() }
    }
  }

  /// Runs a handler where it wants to be run. What comes of one turn of the loop leaves at its end together, so that
  /// other threads are woken once for all of it: each wake-up costs about as much as a request.
  func deliver(on queue: HandlerQueue, _ handler: @escaping @Sendable () -> Void) {
    if case .session = queue, context.configuration.handlerExecution == .eventLoop {
      context.loop.run(handler)
    } else if context.loop.isCurrent {
      context.loop.atEndOfTurn { [self] in handOver(handler, to: queue) }
    } else {
      handOver(handler, to: queue)
    }
  }

  private func handOver(_ handler: @escaping @Sendable () -> Void, to queue: HandlerQueue) {
    switch queue {
    case .inline: handler()
    case .explicit(let queue): queue.async(execute: handler)
    case .session:
      let (isFirst, own) = fields.withLock { ($0.lane.add(handler), $0.deliveryQueue) }
      if isFirst { (own ?? context.queues.completion).async { [self] in runHandlers() } }
    }
  }

  private func runHandlers() {
    while true {
      let handlers = fields.withLock { $0.lane.take() }
      guard !handlers.isEmpty else { return }
      for handler in handlers { handler() }
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
