public import Dispatch
import Synchronization
package import WeirIO

/// Makes requests and holds what they share: connections, interceptors, limits, monitors.
///
/// A session has a thread of its own, the *event loop*, on which the steps of its requests run one after another. All
/// methods may be called from any thread. When the last reference to the session is released, unfinished requests fail
/// with ``WeirError/sessionDeinitialized``.
public final class Session: Sendable {
  /// The time at which a request's URL request and task are made.
  public enum RequestSetup: Sendable {
    /// At `resume()`.
    case lazy
    /// When the request is made; `resume()` starts the transfer.
    case eager
  }

  /// Changes a URL request after its URL, method and headers are set and before parameters are encoded.
  public typealias RequestModifier = @Sendable (inout URLRequest) throws -> Void

  /// A session with the default configuration.
  public static let `default` = Session()

  let context: SessionContext
  /// Whether this object stands for a session that was released.
  let isOver: Bool

  /// Makes a session. This never fails: if the process has no descriptors or threads left for a session, each of its
  /// requests fails with an error that says so.
  ///
  /// - Parameters:
  ///   - configuration: Copied; later edits of the original change nothing.
  ///   - rootQueue: The queue of the first retrier, redirect and cache handlers, validators and the destination
  ///     closures of downloads. Nil: the event loop.
  ///   - startRequestsImmediately: Whether the first response handler resumes a request.
  ///   - requestSetup: The time at which URL requests and tasks are made.
  ///   - requestQueue: The queue on which URL requests are built and the first adapter runs. Nil: `rootQueue`;
  ///     adapters and retriers that answer before they return then share state without locks.
  ///   - serializationQueue: The queue of serializers. Nil: the event loop, or a worker for bodies over 64 KiB.
  ///   - interceptor: Adapts and retries every request, before the request's own interceptor.
  ///   - serverTrustManager: Decides how servers have to prove their identity. Nil: `configuration.tls` decides.
  ///   - redirectHandler: Decides about redirects. Nil: they are followed.
  ///   - cachedResponseHandler: Decides which responses `configuration.urlCache` stores. Nil: all that may be stored.
  ///   - eventMonitors: Get the events of all of the session's requests.
  public convenience init(
    configuration: SessionConfiguration = .default, rootQueue: DispatchQueue? = nil,
    startRequestsImmediately: Bool = true, requestSetup: RequestSetup = .lazy, requestQueue: DispatchQueue? = nil,
    serializationQueue: DispatchQueue? = nil, interceptor: (any RequestInterceptor)? = nil,
    serverTrustManager: ServerTrustManager? = nil, redirectHandler: (any RedirectHandler)? = nil,
    cachedResponseHandler: (any CachedResponseHandler)? = nil, eventMonitors: [any EventMonitor] = []
  ) {
    let (loop, defect) = Self.makeLoop()
    self.init(
      SessionContext(
        loop: loop, defect: defect, shared: DestinationTable(), configuration: configuration,
        queues: SessionContext.Queues(
          root: rootQueue, request: requestQueue, serialization: serializationQueue,
          completion: configuration.completionQueue),
        settings: SessionContext.Settings(
          interceptor: interceptor, serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
          cachedResponseHandler: cachedResponseHandler, startRequestsImmediately: startRequestsImmediately,
          requestSetup: requestSetup),
        monitors: eventMonitors))
    context.attach(self)
    watchLoop()
  }

  /// Makes a session on a loop that others use too. It shares the state per destination with the whole process.
  package convenience init(
    loop: EventLoop, shared table: DestinationTable, configuration: SessionConfiguration = .default,
    interceptor: (any RequestInterceptor)? = nil, redirectHandler: (any RedirectHandler)? = nil,
    eventMonitors: [any EventMonitor] = []
  ) {
    self.init(
      SessionContext(
        loop: loop, shared: table, configuration: configuration,
        queues: SessionContext.Queues(completion: configuration.completionQueue),
        settings: SessionContext.Settings(interceptor: interceptor, redirectHandler: redirectHandler),
        monitors: eventMonitors))
    context.attach(self)
    watchLoop()
  }

  private init(_ context: SessionContext, isOver: Bool = false) {
    self.context = context
    self.isOver = isOver
  }

  /// Makes an object that stands for a released session in the events of its end.
  convenience init(remainsOf context: SessionContext) {
    self.init(context, isOver: true)
  }

  deinit {
    guard !isOver else { return }
    context.loop.post { [context] in
      let remains = Session(remainsOf: context)
      context.attach(remains)
      context.core.value.session = remains
      context.core.value.end(with: .sessionDeinitialized, event: nil)
    }
  }

  /// The serial queue of the first retrier, redirect and cache handlers, validators and the destination closures of
  /// downloads; nil: the event loop.
  public var rootQueue: DispatchQueue? { context.queues.root }
  /// The queue on which URL requests are built and the first adapter runs: ``rootQueue`` unless another one was given;
  /// nil: the event loop.
  public var requestQueue: DispatchQueue? { context.queues.request }
  /// The queue of serializers; nil: the event loop, or a worker for bodies over 64 KiB.
  public var serializationQueue: DispatchQueue? { context.queues.serialization }
  /// The queue of handlers without a queue argument.
  public var completionQueue: DispatchQueue { context.queues.completion }
  /// Whether the first response handler resumes a request that does not say otherwise.
  public var startRequestsImmediately: Bool { context.settings.startRequestsImmediately }
  /// The time at which URL requests and tasks are made.
  public var requestSetup: RequestSetup { context.settings.requestSetup }
  /// Adapts and retries every request, before the request's own interceptor.
  public var interceptor: (any RequestInterceptor)? { context.settings.interceptor }
  /// Decides how servers have to prove their identity; nil: the configuration's ``SessionConfiguration/tls`` decides.
  public var serverTrustManager: ServerTrustManager? { context.settings.serverTrustManager }
  /// Decides about redirects of requests without a redirect handler of their own; nil: redirects are followed.
  public var redirectHandler: (any RedirectHandler)? { context.settings.redirectHandler }
  /// Decides which responses are stored for requests without a handler of their own; nil: all that may be stored.
  public var cachedResponseHandler: (any CachedResponseHandler)? { context.settings.cachedResponseHandler }
  /// The monitors that get the events of all of the session's requests.
  public var eventMonitor: CompositeEventMonitor { context.monitors }
  /// The configuration with which the session was made.
  public var sessionConfiguration: SessionConfiguration { context.configuration }

  /// The loop on which its requests run.
  package var loop: EventLoop { context.loop }

  /// The event loop as a task executor: a task that prefers it awaits responses without a change of thread.
  public var executor: any TaskExecutor { context.loop }

  /// Calls back once, on ``rootQueue`` or the event loop, with the requests whose setup has begun and that have not
  /// finished.
  @preconcurrency
  public func withAllRequests(perform action: @escaping @Sendable (Set<Request>) -> Void) {
    context.loop.post { [context] in
      let requests = context.core.value.activeRequests
      context.onRootQueue { action(requests) }
    }
  }

  /// Cancels all active requests, then calls `completion`; it does not wait for them to finish.
  @preconcurrency
  public func cancelAllRequests(
    completingOnQueue queue: DispatchQueue? = nil, completion: (@Sendable () -> Void)? = nil
  ) {
    withAllRequests { [completionQueue] requests in
      for request in requests { request.cancel() }
      if let completion { (queue ?? completionQueue).async(execute: completion) }
    }
  }

  /// Ends every unfinished request with ``WeirError/sessionInvalidated(error:)``; later ones fail at once.
  public func invalidateAndCancel(error: (any Error)? = nil) {
    context.loop.post { [core = context.core] in
      core.value.end(with: .sessionInvalidated(error: error), event: error)
    }
  }

  /// Lets active requests end and fails later ones with ``WeirError/sessionInvalidated(error:)``.
  public func finishRequestsAndInvalidate() {
    context.loop.post { [core = context.core] in core.value.finishAndInvalidate() }
  }

  /// Waits until its task is cancelled, then lets active requests end, and returns once the session has ended. Lifecycles
  /// of services ask for this form.
  ///
  /// From the cancellation on later requests fail with ``WeirError/sessionInvalidated(error:)``, as they do after
  /// ``finishRequestsAndInvalidate()``. So do the active ones that have not ended when `gracePeriod` is over. The method
  /// also returns if the session is invalidated by other means. If several calls wait, the shortest grace period counts.
  ///
  /// - Parameter gracePeriod: The time for which active requests may go on. If it is not more than 0, they end at once.
  public func run(gracePeriod: Duration = .seconds(30)) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        context.loop.post { [core = context.core] in core.value.whenEnded { continuation.resume() } }
      }
    } onCancel: {
      context.loop.post { [core = context.core] in core.value.finish(within: gracePeriod.inSeconds) }
    }
  }

  /// The loop. If the process has no descriptors or threads left for it, also the error of all requests.
  private static func makeLoop() -> (EventLoop, WeirError?) {
    do {
      return (try EventLoop(name: "weir.session"), nil)
    } catch {
      let text = "a session needs a thread and descriptors: \(error); raise the limit of open files (RLIMIT_NOFILE)"
      let defect = URLError(.cannotLoadFromNetwork, userInfo: [NSLocalizedDescriptionKey: text])
      return (EventLoop(withoutDescriptors: "weir.session"), .sessionTaskFailed(error: defect))
    }
  }

  /// Tells the core its session and, if a monitor wants it, starts reporting the loop's lag.
  private func watchLoop() {
    context.loop.run { [weak self, context] in
      context.core.value.session = self
      guard context.monitors.wants(.session) else { return }
      context.loop.observeLag { [weak self, monitors = context.monitors] lag in
        if let self { monitors.session(self, loopLag: lag) }
      }
    }
  }
}
