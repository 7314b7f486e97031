import Dispatch
import Synchronization
package import WeirIO
public import WeirMetrics
package import WeirServer

/// Shows a registry to Prometheus over HTTP.
///
/// ```swift
/// let exporter = try Exporter().start()  // http://127.0.0.1:9464/metrics
/// let session = Session(eventMonitors: [try MetricsMonitor(registry: exporter.registry)])
/// ```
///
/// | path | answer |
/// |---|---|
/// | `/metrics` | all metrics, or those that `name[]=` names; text 0.0.4, OpenMetrics 1.0.0 or protobuf, by `Accept` |
/// | `/-/healthy` | 200 |
/// | `/-/ready` | 200, or 503 while ``Options/isReady`` returns false |
/// | `/status`, `/status.json` | how requests fare and what is wrong, with ``Options/statusPage`` |
/// | `/` | a page for people |
///
/// It listens with a thread of its own, on loopback by default, and lets everybody in. To show it to a network, give an
/// address there, restrict access (``Options/access``), and speak TLS: the module `WeirExporterTLS` adds it. Any thread
/// may call it. A started exporter runs until it is stopped, even without a reference to it.
public final class Exporter: Sendable {
  /// The registry that is shown.
  public let registry: Registry
  private let listenAddress: SocketAddress
  /// With the limits as the user gave them.
  let options: Options
  let access: AccessPolicy
  let fields: FixedFields
  let metrics: ScrapeMetrics
  private let state = Mutex(State.idle)

  private enum State {
    case idle
    case starting
    /// Keeps the exporter itself alive. If it went away with its last reference, the missing page would be noticed too
    /// late.
    case running(ExporterServer, Exporter)
  }

  /// Makes an exporter and registers its own metrics. Several exporters may show one registry.
  ///
  /// - `registry`: the registry to show; by default a new one.
  /// - `listenAddress`: `127.0.0.1:9464`, `[::1]:9464`, `:9464` (all interfaces), `localhost:9464`, `unix:/path`.
  ///     Port 0 lets the system choose; see ``address``.
  public init(
    registry: Registry = Registry(), listenAddress: String = "127.0.0.1:9464", options: Options = Options()
  ) throws(ExporterError) {
    do throws(SocketAddressError) {
      self.listenAddress = try SocketAddress(parsing: listenAddress)
    } catch {
      throw ExporterError(error)
    }
    self.registry = registry
    self.options = options
    access = AccessPolicy(try options.access.map(AccessRules.init))
    fields = try FixedFields(extra: options.headers)
    do throws(RegistryError) {
      metrics = try ScrapeMetrics(registry, hasAccessControl: options.access != nil)
      if options.registersProcessMetrics { try Self.registerProcess(in: registry) }
    } catch {
      throw ExporterError(error)
    }
  }

  /// Registers the process' metrics, unless another exporter or the user has registered metrics of these names.
  private static func registerProcess(in registry: Registry) throws(RegistryError) {
    let collector = ProcessCollector()
    if !collector.metrics.contains(where: { registry.isRegistered($0.name) }) { try registry.register(collector) }
    if !registry.isRegistered("weir_build_info") { try BuildInfo.current.register(in: registry) }
  }

  /// Begins to listen and to answer.
  /// - Throws: ``ExporterError`` when it can't listen at the address, or runs already.
  @discardableResult
  public func start() throws(ExporterError) -> Exporter {
    try start { () throws(ExporterError) in
      do throws(ListenError) { return try Listener(listenAddress) } catch { throw ExporterError(error) }
    }
    return self
  }

  /// Begins to answer at a socket that is open already.
  package func start(on listener: Listener) throws(ExporterError) {
    try start { () throws(ExporterError) in listener }
  }

  private func start(opening: () throws(ExporterError) -> Listener) throws(ExporterError) {
    let mayStart = state.withLock { state in
      guard case .idle = state else { return false }
      state = .starting
      return true
    }
    guard mayStart else { throw .alreadyStarted }
    do throws(ExporterError) {
      let server = try ExporterServer(opening(), of: self)
      state.withLock { $0 = .running(server, self) }
    } catch {
      state.withLock { $0 = .idle }
      throw error
    }
  }

  private var server: ExporterServer? {
    state.withLock { if case .running(let server, _) = $0 { server } else { nil } }
  }

  /// The loop that answers; nil while it doesn't run.
  package var loop: EventLoop? { server?.loop }

  /// The address on which it listens, with the real port; nil while it doesn't run.
  public var address: String? { server.map { "\($0.address)" } }

  /// Changes the access to the pages from the next request on, for a configuration that is read again. Nil lets
  /// everybody in. It may be called on any thread, whether or not the exporter runs. An equal access control changes
  /// nothing; after any change, passwords that were right are hashed once more.
  /// - Throws: ``ExporterError`` with ``ExporterError/Code/invalidAccess``; then nothing changes.
  public func setAccess(_ access: AccessControl?) throws(ExporterError) {
    self.access.set(try access.map(AccessRules.init))
  }

  /// Stops listening, lets scrapes that run end within `grace` seconds, and returns when all is closed.
  ///
  /// An exporter that doesn't run stays as it is, and a stopped one may be started again. A call by `isReady` returns
  /// at once, because `isReady` runs on the exporter's own thread. A collector that calls `stop` waits for its own
  /// scrape, so that all of `grace` passes.
  public func stop(grace: Double = 5) {
    takeServer()?.stop(grace: grace)
  }

  /// Stops as the other `stop(grace:)` does, without blocking a thread.
  public func stop(grace: Double = 5) async {
    await takeServer()?.stop(grace: grace)
  }

  /// Runs until the task is cancelled, and returns once all is closed: the body of a service under a life cycle.
  ///
  /// It starts the exporter unless it runs already, and stops it as `stop(grace:)` does. An exporter that is stopped
  /// meanwhile stays stopped.
  ///
  /// - Parameter gracePeriod: The time for which scrapes that run may go on once the task is cancelled.
  /// - Throws: ``ExporterError`` when it can't listen at the address.
  public func run(gracePeriod: Duration = .seconds(30)) async throws(ExporterError) {
    do throws(ExporterError) {
      try start()
    } catch  where error.code == .alreadyStarted {
    }
    // A sleep ends at once when its task is cancelled.
    while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
    await stop(grace: gracePeriod / .seconds(1))
  }

  private func takeServer() -> ExporterServer? {
    state.withLock { state in
      guard case .running(let server, _) = state else { return nil }
      state = .idle
      return server
    }
  }
}
