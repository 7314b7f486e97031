import Dispatch
import Synchronization
import WeirIO

/// The parts of a session that its requests need; requests do not keep the session itself alive.
final class SessionContext: Sendable {
  let loop: EventLoop
  let core: LoopBound<SessionCore>
  let configuration: SessionConfiguration
  let queues: Queues
  let interceptor: (any RequestInterceptor)?
  let serverTrustManager: ServerTrustManager?
  let redirectHandler: (any RedirectHandler)?
  let cachedResponseHandler: (any CachedResponseHandler)?
  let cache: ResponseCache?
  let monitors: CompositeEventMonitor
  let startRequestsImmediately: Bool
  let requestSetup: Session.RequestSetup
  /// For work that takes long but never blocks on others: files, serializers and compressors of large bodies.
  let workers: WorkerPool
  /// For the caller's code that may block without end: reading streams and making bodies.
  let readers: WorkerPool
  let bodyMemory = BodyMemory()
  private let owner = Mutex(WeakSession())

  /// The queues on which user code runs; nil is the event loop.
  struct Queues: Sendable {
    var root: DispatchQueue?
    var request: DispatchQueue?
    /// The queue on which bodies are made; nil: workers, as that may take long.
    var bodies: DispatchQueue?
    var serialization: DispatchQueue?
    var completion: DispatchQueue
  }

  private struct WeakSession: Sendable {
    weak var session: Session?
  }

  init(
    loop: EventLoop, core: LoopBound<SessionCore>, configuration: SessionConfiguration, queues: Queues,
    interceptor: (any RequestInterceptor)?, serverTrustManager: ServerTrustManager?,
    redirectHandler: (any RedirectHandler)?, cachedResponseHandler: (any CachedResponseHandler)?,
    monitors: CompositeEventMonitor, startRequestsImmediately: Bool,
    requestSetup: Session.RequestSetup
  ) {
    self.loop = loop
    self.core = core
    self.configuration = configuration
    self.queues = queues
    self.interceptor = interceptor
    self.serverTrustManager = serverTrustManager
    self.redirectHandler = redirectHandler
    self.cachedResponseHandler = cachedResponseHandler
    self.monitors = monitors
    self.startRequestsImmediately = startRequestsImmediately
    self.requestSetup = requestSetup
    let workers = WorkerPool(name: "weir.workers", width: 2)
    self.workers = workers
    cache = configuration.urlCache.map { ResponseCache($0, workers: workers) }
    readers = WorkerPool(name: "weir.readers", width: 64)
  }

  /// The session, as long as it is retained.
  var session: Session? { owner.withLock { $0.session } }

  /// Whether the session was released, even if another object stands for it in events.
  var isGone: Bool { session?.isOver ?? true }

  /// The session that events name, even after the session's release.
  var sessionOrRemains: Session { session ?? Session(remainsOf: self) }

  func attach(_ session: Session) {
    owner.withLock { $0.session = session }
  }
}
