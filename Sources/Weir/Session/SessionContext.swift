import Dispatch
import Synchronization
import WeirIO

/// What a session's requests need of it, without keeping the session itself alive.
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
  /// For what takes long and waits for nobody: files, serializers and compressors of large bodies.
  let workers: WorkerPool
  /// For code of the caller's that may wait for somebody without end: streams and what makes bodies.
  let readers: WorkerPool
  let bodyMemory = BodyMemory()
  private let owner = Mutex(WeakSession())

  /// Where user code runs; nil is the event loop.
  struct Queues: Sendable {
    var root: DispatchQueue?
    var request: DispatchQueue?
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

  /// The session, as long as somebody holds it.
  var session: Session? { owner.withLock { $0.session } }

  /// Whether nobody holds the session any more, though another may stand for it.
  var isGone: Bool { session?.isOver ?? true }

  /// What events are told in the name of, also after the session.
  var sessionOrRemains: Session { session ?? Session(remainsOf: self) }

  func attach(_ session: Session) {
    owner.withLock { $0.session = session }
  }
}
