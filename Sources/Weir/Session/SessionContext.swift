import Dispatch
import Synchronization
import WeirIO

/// The parts of a session that its requests need; requests do not keep the session itself alive.
final class SessionContext: Sendable {
  let loop: EventLoop
  let core: LoopBound<SessionCore>
  let configuration: SessionConfiguration
  let queues: Queues
  let settings: Settings
  let cache: ResponseCache?
  let monitors: CompositeEventMonitor
  /// For work that takes long but never blocks on others: files, serializers and compressors of large bodies.
  let workers = WorkerPool(name: "weir.workers", width: 2)
  /// For the caller's code that may block without end: reading streams and making bodies.
  let readers = WorkerPool(name: "weir.readers", width: 64)
  let bodyMemory = BodyMemory()
  private let owner = Mutex(WeakSession())

  /// The queues on which user code runs; nil is the event loop.
  struct Queues: Sendable {
    let root: DispatchQueue?
    let request: DispatchQueue?
    /// The queue on which bodies are made; nil: workers, as that may take long.
    let bodies: DispatchQueue?
    let serialization: DispatchQueue?
    let completion: DispatchQueue

    init(
      root: DispatchQueue? = nil, request: DispatchQueue? = nil, serialization: DispatchQueue? = nil,
      completion: DispatchQueue?
    ) {
      self.root = root.map { DispatchQueue(label: "weir.session.root", target: $0) }
      self.request = request ?? self.root
      bodies = request
      self.serialization = serialization
      self.completion = completion ?? DispatchQueue(label: "weir.session.completion", attributes: .concurrent)
    }
  }

  /// The code of the caller's that serves all requests, and how requests start.
  struct Settings: Sendable {
    var interceptor: (any RequestInterceptor)?
    var serverTrustManager: ServerTrustManager?
    var redirectHandler: (any RedirectHandler)?
    var cachedResponseHandler: (any CachedResponseHandler)?
    var startRequestsImmediately = true
    var requestSetup = Session.RequestSetup.lazy
  }

  private struct WeakSession: Sendable {
    weak var session: Session?
  }

  /// - Parameter defect: The reason why the session can't work; every request fails with it.
  init(
    loop: EventLoop, defect: WeirError? = nil, shared table: DestinationTable, configuration: SessionConfiguration,
    queues: Queues, settings: Settings, monitors: [any EventMonitor]
  ) {
    self.loop = loop
    self.configuration = configuration
    self.queues = queues
    self.settings = settings
    self.monitors = CompositeEventMonitor(monitors)
    cache = configuration.urlCache.map { [workers] in ResponseCache($0, workers: workers) }
    core = LoopBound(
      SessionCore(
        loop: loop, defect: defect, configuration: configuration,
        trustRules: settings.serverTrustManager.map { TrustRules($0, configuration.tls) }, monitors: self.monitors,
        table: table),
      on: loop)
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

  // MARK: Executors

  /// Runs code of the caller's on the root queue; without one, at once.
  func onRootQueue(_ work: @escaping @Sendable () -> Void) {
    if let root = queues.root { root.async(execute: work) } else { work() }
  }

  /// The executor of a serializer that reads so many bytes; nil: the loop, which more than 64 KiB would hold up.
  func serializationExecutor(reading count: Int) -> Executor? {
    queues.serialization?.executor ?? (count > 64 << 10 ? workers.executor : nil)
  }
}

/// Runs work on another thread than the loop's.
typealias Executor = (@escaping @Sendable () -> Void) -> Void

extension DispatchQueue {
  var executor: Executor { { work in self.async(execute: work) } }
}

extension WorkerPool {
  var executor: Executor { { work in self.submit(work) } }
}
