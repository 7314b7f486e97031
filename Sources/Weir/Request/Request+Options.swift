public import Dispatch
import Synchronization

extension Request {
  /// Adds an interceptor; it adapts and retries after those there are. Counts from the next setup or retry decision.
  @discardableResult
  public func interceptor(_ interceptor: any RequestInterceptor) -> Self {
    change(\.interceptor) { Self.combined($0, with: interceptor) }
    return self
  }

  /// Adds an adapter: after those of an ``Interceptor``, before any other interceptor.
  @discardableResult
  public func adapt(using adapter: any RequestAdapter) -> Self {
    adding(adapters: [adapter])
  }

  /// Adds a retrier: after those of an ``Interceptor``, before any other interceptor.
  @discardableResult
  public func retry(using retrier: any RequestRetrier) -> Self {
    adding(retriers: [retrier])
  }

  /// Adds a monitor, which hears request-level events from now on, after the session's monitors.
  @discardableResult
  public func eventMonitor(_ monitor: any EventMonitor) -> Self {
    // Asked what it wants before the lock is taken.
    let added = CompositeEventMonitor([monitor])
    change(\.monitors) { $0.adding(added) }
    // As they are then: of two that are added at once, either may come first.
    onPipeline { pipeline in pipeline.monitors = pipeline.request.fields.withLock { $0.monitors } }
    return self
  }

  /// Decides about redirects in place of the session's handler. May be called once.
  @discardableResult
  public func redirect(using handler: any RedirectHandler) -> Self {
    fields.withLock { fields in
      precondition(fields.redirectHandler == nil, "a request's redirect handler can be set only once")
      fields.redirectHandler = handler
    }
    return self
  }

  /// Decides what is kept of the response in place of the session's handler. May be called once.
  @discardableResult
  public func cacheResponse(using handler: any CachedResponseHandler) -> Self {
    fields.withLock { fields in
      precondition(fields.cachedResponseHandler == nil, "a request's cached response handler can be set only once")
      fields.cachedResponseHandler = handler
    }
    return self
  }

  /// Limits the whole request, all attempts and delays included, to so many seconds from `resume()`. Default: the
  /// session's ``SessionConfiguration/timeoutIntervalForResource``, also where `seconds` is no number. Set it before the
  /// request is resumed.
  @discardableResult
  public func deadline(_ seconds: TimeInterval) -> Self {
    fields.withLock { $0.deadline = seconds.isNaN ? nil : seconds }
    return self
  }

  /// Starts a second attempt beside one whose response's head has not come after `delay`; the first final head that is
  /// no failure gives the answer (a status below 500 that is not 408, 425 or 429), and the other attempt is cancelled.
  /// Default: no hedging. Set it before the request is resumed.
  ///
  /// Only idempotent methods (RFC 9110 section 9.2.2) without a body, or with one in memory or a file, are hedged, and only
  /// while the retry budget grants it and the destination has a place free. Adapters run for each attempt; ``retryCount`` does not
  /// change. An HTTP/1 attempt has a connection of its own, one in HTTP/2 shares it with the first.
  ///
  /// - Parameters:
  ///   - delay: Counted from the first attempt on the wire, and again from each second one.
  ///   - limit: Second attempts per request.
  @discardableResult
  public func hedge(after delay: HedgeDelay, limit: Int = 1) -> Self {
    fields.withLock { $0.hedge = HedgePlan(delay: delay, limit: limit) }
    return self
  }

  /// Puts this request's retries to a budget of its own, in place of the session's
  /// ``SessionConfiguration/retryBudget``; nil: to none.
  ///
  /// What is counted stays the destination's: a retry is granted when the requests and retries of all that go there,
  /// taken over this budget's window, leave room for it by this budget's numbers. It counts for theirs too, as one
  /// without a budget does.
  @discardableResult
  public func retryBudget(_ budget: RetryBudget?) -> Self {
    fields.withLock { $0.retryBudget = .some(budget) }
    onPipeline { $0.terms.retryBudget = budget }
    return self
  }

  /// Calls `closure` with ``downloadProgress`` as bytes come in; the last closure set counts.
  @preconcurrency
  @discardableResult
  public func downloadProgress(queue: DispatchQueue? = nil, closure: @escaping ProgressHandler) -> Self {
    observe(\.downloadProgress, RequestObserver(closure, on: HandlerQueue(queue)))
    return self
  }

  /// Calls `closure` with ``uploadProgress`` as bytes go out; the last closure set counts.
  @preconcurrency
  @discardableResult
  public func uploadProgress(queue: DispatchQueue? = nil, closure: @escaping ProgressHandler) -> Self {
    observe(\.uploadProgress, RequestObserver(closure, on: HandlerQueue(queue)))
    return self
  }

  /// Calls the closure with the adapted URL request of every attempt, and at once with the latest there is.
  @preconcurrency
  @discardableResult
  public func onURLRequestCreation(
    on queue: DispatchQueue? = nil, perform handler: @escaping @Sendable (URLRequest) -> Void
  ) -> Self {
    observeURLRequests(RequestObserver(handler, on: HandlerQueue(queue)))
    return self
  }

  /// Calls the closure with the task of every attempt, and at once with the latest there is.
  @preconcurrency
  @discardableResult
  public func onURLSessionTaskCreation(
    on queue: DispatchQueue? = nil, perform handler: @escaping @Sendable (TransferTask) -> Void
  ) -> Self {
    observeTasks(RequestObserver(handler, on: HandlerQueue(queue)))
    return self
  }

  func observeURLRequests(_ observer: RequestObserver<@Sendable (URLRequest) -> Void>) {
    let latest = observe(\.urlRequest, observer) {
      $0.attempts.last { $0.task != nil }?.urlRequest
    }
    if let latest { deliver(on: observer.queue) { observer.handler(latest) } }
  }

  func observeTasks(_ observer: RequestObserver<@Sendable (TransferTask) -> Void>) {
    let latest = observe(\.task, observer) { $0.last(\.task) }
    if let latest { deliver(on: observer.queue) { observer.handler(latest) } }
  }

  /// Changes a field. Its former value is let go of outside of the lock: it is the caller's, and may do anything then.
  func change<Field: Sendable>(_ field: WritableKeyPath<RequestFields, Field>, _ transform: (Field) -> Field) {
    let replaced = fields.withLock { fields in
      let existing = fields[keyPath: field]
      fields[keyPath: field] = transform(existing)
      return existing
    }
    withExtendedLifetime(replaced) {}
  }

  private func adding(adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = []) -> Self {
    change(\.interceptor) { existing in
      guard let list = existing.flatMap(Interceptor.list) else {
        return Interceptor(adapters: adapters, retriers: retriers, interceptors: existing.map { [$0] } ?? [])
      }
      return Interceptor(
        adapters: list.adapters + adapters, retriers: list.retriers + retriers, name: list.name)
    }
    return self
  }

  private static func combined(
    _ existing: (any RequestInterceptor)?, with new: any RequestInterceptor
  ) -> any RequestInterceptor {
    guard let existing else { return new }
    guard let list = Interceptor.list(existing) else { return Interceptor(interceptors: [existing, new]) }
    return Interceptor(adapters: list.adapters + [new], retriers: list.retriers + [new], name: list.name)
  }
}
