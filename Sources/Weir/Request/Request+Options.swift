import Synchronization
import WeirCurl
import WeirTransport

extension Request {
  /// Adds an interceptor after the existing ones. It counts from the next setup or retry decision.
  @discardableResult
  public func interceptor(_ interceptor: any RequestInterceptor) -> Self {
    change(\.interceptor) { existing in
      guard let existing else { return interceptor }
      return Interceptor.list(existing)?.adding([interceptor], [interceptor])
        ?? Interceptor(interceptors: [existing, interceptor])
    }
    return self
  }

  /// Adds an adapter: after those of an ``Interceptor``, before any other interceptor.
  @discardableResult
  public func adapt(using adapter: any RequestAdapter) -> Self {
    adding(adapters: [adapter])
  }

  /// Adds a retrier. It is asked after those of an ``Interceptor``, and before any other interceptor.
  @discardableResult
  public func retry(using retrier: any RequestRetrier) -> Self {
    adding(retriers: [retrier])
  }

  /// Adds a monitor, which hears request-level events from now on, after the session's monitors.
  @discardableResult
  public func eventMonitor(_ monitor: any EventMonitor) -> Self {
    // The monitor says here, before the lock is taken, which events it wants.
    let added = CompositeEventMonitor([monitor])
    change(\.monitors) { $0.adding(added) }
    // The pipeline reads the monitors when it gets here: of two `eventMonitor` calls at once, either may come first.
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

  /// Decides in place of the session's handler whether and how the response is cached. May be called once.
  @discardableResult
  public func cacheResponse(using handler: any CachedResponseHandler) -> Self {
    fields.withLock { fields in
      precondition(fields.cachedResponseHandler == nil, "a request's cached response handler can be set only once")
      fields.cachedResponseHandler = handler
    }
    return self
  }

  /// Leaves the session's interceptor out: its adapters don't see this request, and its retriers are not asked. Nor are
  /// `Authorization`, `Proxy-Authorization`, `Cookie` and `Host` of the session's ``SessionConfiguration/headers`` sent.
  ///
  /// For a request to somebody else than the session's own servers, such as one that an ``Authenticator`` makes for a
  /// token. Set it before the request is resumed.
  @discardableResult
  public func withoutSessionInterceptor() -> Self {
    fields.withLock { $0.leavesSessionOut = true }
    return self
  }

  /// Limits the whole request, all attempts and delays included, to this many seconds from `resume()`. Default: the
  /// session's ``SessionConfiguration/timeoutIntervalForResource``; a `seconds` that is not a number means the default
  /// too. Set it before the request is resumed.
  @discardableResult
  public func deadline(_ seconds: TimeInterval) -> Self {
    fields.withLock { $0.deadline = seconds.isNaN ? nil : seconds }
    return self
  }

  /// Limits the whole request like ``deadline(_:)-(TimeInterval)``, by a duration: `.deadline(.seconds(5))`.
  @_disfavoredOverload
  @discardableResult
  public func deadline(_ duration: Duration) -> Self { deadline(duration.inSeconds) }

  /// Limits each attempt to this many seconds, from when it goes on the wire until the final head of its response is there;
  /// redirects are part of it. Default: the session's ``SessionConfiguration/attemptTimeout``. A `seconds` that is not
  /// more than 0 means no limit; one that is not a number means the default. Set it before the request is resumed.
  ///
  /// The clock stands while the server waits for bytes of a stream as the request's body that have not come, while the
  /// request is suspended, and while a ``RedirectHandler`` or the destination's queue is waited for. An attempt that reaches
  /// the limit fails with `URLError(.timedOut)`, about which retriers are asked; beside a second attempt
  /// (``hedge(after:limit:)-(HedgeDelay,_)``) it drops out. A limit that is not less than the deadline changes nothing.
  @discardableResult
  public func attemptTimeout(_ seconds: TimeInterval) -> Self {
    fields.withLock { $0.attemptTimeout = seconds.isNaN ? nil : seconds }
    return self
  }

  /// Limits each attempt like ``attemptTimeout(_:)-(TimeInterval)``, by a duration: `.attemptTimeout(.seconds(2))`.
  @_disfavoredOverload
  @discardableResult
  public func attemptTimeout(_ duration: Duration) -> Self { attemptTimeout(duration.inSeconds) }

  /// Names the operation that the request is part of, such as `GET /users/{id}`: one of few names, without what differs
  /// between requests. It becomes the label `operation` of metrics and a part of the names of spans. Default: none, as of an
  /// empty `name`; one of more than 200 bytes is cut off. Set it before the request is resumed.
  ///
  /// The operation of a request is that of the server's interface, for instance its path template or the `operationId` of
  /// an OpenAPI document.
  @discardableResult
  public func operation(_ name: String) -> Self {
    fields.withLock { $0.operation = name.isEmpty ? nil : NamedOperation(name) }
    return self
  }

  /// The name that ``operation(_:)`` gave the request's operation; nil without one.
  public var operation: String? { fields.withLock { $0.operation?.name } }

  /// Starts a second attempt beside the first if the response's head has not arrived after `delay`. The first final
  /// head that is not a failure (a status below 500 other than 408, 425 and 429) wins, and the other attempt is
  /// cancelled. Default: no hedging. Set it before the request is resumed.
  ///
  /// Only idempotent methods (RFC 9110 section 9.2.2) are hedged, without a body or with one in memory or in a file.
  /// The retry budget must grant the second attempt, and the destination must have a free slot and, with load control,
  /// a place for it. Adapters run for each attempt; ``retryCount`` does not change. An HTTP/1 attempt has a connection
  /// of its own; an HTTP/2 attempt shares the first one's.
  ///
  /// - Parameters:
  ///   - delay: Counted from the start of the first attempt on the wire, then from the start of each second attempt.
  ///   - limit: The largest number of second attempts per request.
  @discardableResult
  public func hedge(after delay: HedgeDelay, limit: Int = 1) -> Self {
    fields.withLock { $0.hedge = HedgePlan(delay: delay, limit: limit) }
    return self
  }

  /// Starts a second attempt like ``hedge(after:limit:)-(HedgeDelay,_)``, after a duration:
  /// `.hedge(after: .milliseconds(50))`.
  @_disfavoredOverload
  @discardableResult
  public func hedge(after delay: Duration, limit: Int = 1) -> Self {
    hedge(after: HedgeDelay.seconds(delay.inSeconds), limit: limit)
  }

  /// Limits this request's retries by `budget` in place of ``SessionConfiguration/retryBudget``; nil: by no budget.
  ///
  /// The counts stay those of the destination. A retry is granted if the destination's requests and retries within this
  /// budget's window leave room for it by this budget's numbers. The retry also counts for the other requests' budgets,
  /// as a retry without a budget does.
  @discardableResult
  public func retryBudget(_ budget: RetryBudget?) -> Self {
    fields.withLock { $0.retryBudget = .some(budget) }
    onPipeline { $0.admission.retryBudget = budget }
    return self
  }

  /// The credential that answers a challenge by the server; nil: the session's
  /// ``SessionConfiguration/urlCredentialStorage`` supplies it.
  public var credential: URLCredential? { fields.withLock { $0.credential } }

  /// Answers a challenge by Basic or Digest (RFC 7617, RFC 7616) with a user name and password; see
  /// ``authenticate(with:)``.
  ///
  /// `persistence`: The credential's persistence; weir itself stores no credential.
  @discardableResult
  public func authenticate(
    username: String, password: String, persistence: URLCredential.Persistence = .forSession
  ) -> Self {
    authenticate(with: URLCredential(user: username, password: password, persistence: persistence))
  }

  /// Answers a challenge by Basic or Digest with this credential, once. If it is refused, that response is delivered.
  ///
  /// The credential is not sent before a challenge, nor to another origin after a redirect, nor if the request has an
  /// Authorization field of its own. As an answer sends the body a second time, a request with a stream as its body
  /// answers no challenge. Takes effect from the next attempt.
  @discardableResult
  public func authenticate(with credential: URLCredential) -> Self {
    change(\.credential) { _ in credential }
    return self
  }

  /// Calls `closure` with ``downloadProgress`` as bytes arrive; only the last closure set counts.
  @preconcurrency
  @discardableResult
  public func downloadProgress(queue: DispatchQueue? = nil, closure: @escaping ProgressHandler) -> Self {
    observe(\.downloadProgress, closure, on: HandlerQueue(queue))
  }

  /// Calls `closure` with ``uploadProgress`` as bytes are sent; only the last closure set counts.
  @preconcurrency
  @discardableResult
  public func uploadProgress(queue: DispatchQueue? = nil, closure: @escaping ProgressHandler) -> Self {
    observe(\.uploadProgress, closure, on: HandlerQueue(queue))
  }

  /// Calls the closure with the adapted URL request of every attempt, and at once with the latest one if there is one.
  @preconcurrency
  @discardableResult
  public func onURLRequestCreation(
    on queue: DispatchQueue? = nil, perform handler: @escaping @Sendable (URLRequest) -> Void
  ) -> Self {
    observeURLRequests(on: HandlerQueue(queue), handler)
  }

  /// Calls the closure with the task of every attempt, and at once with the latest one if there is one.
  @preconcurrency
  @discardableResult
  public func onURLSessionTaskCreation(
    on queue: DispatchQueue? = nil, perform handler: @escaping @Sendable (TransferTask) -> Void
  ) -> Self {
    observeTasks(on: HandlerQueue(queue), handler)
  }

  @discardableResult
  func observeURLRequests(on queue: HandlerQueue, _ handler: @escaping @Sendable (URLRequest) -> Void) -> Self {
    let latest = observe(\.urlRequest, RequestObserver(handler: handler, queue: queue)) {
      $0.attempts.last { $0.task != nil }?.hop?.urlRequest
    }
    if let latest { deliver(on: queue) { handler(latest) } }
    return self
  }

  @discardableResult
  func observeTasks(on queue: HandlerQueue, _ handler: @escaping @Sendable (TransferTask) -> Void) -> Self {
    let latest = observe(\.task, RequestObserver(handler: handler, queue: queue)) { $0.last(\.task) }
    if let latest { deliver(on: queue) { handler(latest) } }
    return self
  }

  /// The session's interceptor, unless the request leaves it out.
  var sessionInterceptor: (any RequestInterceptor)? {
    fields.withLock { $0.leavesSessionOut } ? nil : context.settings.interceptor
  }

  /// Whether the endpoint of the last attempt is left out, as its answer asked for that, and another one serves.
  var hasLeftEndpointOut: Bool { fields.withLock { $0.hasLeftEndpointOut } }

  var secretFields: Set<String> { fields.withLock { $0.secretFields } }

  /// Changes a field. Its former value is released outside the lock, as the `deinit` of a caller's object may do
  /// anything.
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
      existing.flatMap(Interceptor.list)?.adding(adapters, retriers)
        ?? Interceptor(adapters: adapters, retriers: retriers, interceptors: existing.map { [$0] } ?? [])
    }
    return self
  }
}

extension DataRequest {
  /// Limits the response's body, in bytes, both on the wire and decoded, in place of
  /// ``SessionConfiguration/maximumResponseSize``. A longer one fails with `URLError(.dataLengthExceedsMaximum)` as soon
  /// as it is too long. Set it before the request is resumed.
  @discardableResult
  public func maximumResponseSize(_ bytes: Int64) -> Self {
    fields.withLock { $0.maximumResponseSize = max(0, bytes) }
    return self
  }
}

extension TransferCredential {
  /// Nil if the credential has no user name, as a certificate has none.
  init?(_ credential: URLCredential) {
    guard let user = credential.user else { return nil }
    self.init(user: user, password: credential.password ?? "")
  }
}
