import Dispatch
import Synchronization
import WeirIO
public import WeirMetrics

/// Shows a registry to Prometheus over HTTP.
///
/// ```swift
/// let exporter = try Exporter().start()  // http://127.0.0.1:9464/metrics
/// let session = Session(eventMonitors: [try MetricsMonitor(registry: exporter.registry)])
/// ```
///
/// | path | what it answers |
/// |---|---|
/// | `/metrics` | all metrics, or those that `name[]=` names; text 0.0.4, or OpenMetrics 1.0.0 for a scraper that prefers it |
/// | `/-/healthy` | 200 |
/// | `/-/ready` | 200, or 503 while ``Options/isReady`` says no |
/// | `/` | a page for people |
///
/// It listens with a thread of its own, on loopback by default, and lets everybody in: to show it to a network, give an
/// address there and say who may come in (``Options/access``), with TLS in front of it. Any thread may call it. A started exporter runs until it is
/// stopped, whether or not somebody holds it.
public final class Exporter: Sendable {
  /// What is shown.
  public let registry: Registry
  private let listenAddress: SocketAddress
  private let site: Site
  private let state = Mutex(State.idle)

  private enum State {
    case idle
    case starting
    /// Keeps the exporter itself alive: a page that goes away because nobody holds it is missed too late.
    case running(Endpoint, Exporter)
  }

  /// Makes an exporter and registers its own metrics; several may show one registry.
  ///
  /// - `registry`: what to show; by default a new one.
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
    site = try Site(registry: registry, options: options)
  }

  /// Listens, and answers from now on.
  /// - Throws: ``ExporterError`` when it can't listen at the address, or runs already.
  @discardableResult
  public func start() throws(ExporterError) -> Exporter {
    let mayStart = state.withLock { state in
      guard case .idle = state else { return false }
      state = .starting
      return true
    }
    guard mayStart else { throw .alreadyStarted }
    do throws(ExporterError) {
      let endpoint = try Endpoint(listenAddress, site)
      state.withLock { $0 = .running(endpoint, self) }
    } catch {
      state.withLock { $0 = .idle }
      throw error
    }
    return self
  }

  /// Where it listens, with the real port; nil while it doesn't run.
  public var address: String? {
    state.withLock { state -> String? in
      guard case .running(let endpoint, _) = state else { return nil }
      return "\(endpoint.address)"
    }
  }

  /// Changes who may see the pages, from the next request on: for a configuration that is read again. Nil lets everybody
  /// in. Any thread; whether or not it runs. What is the same as before changes nothing; any change has passwords that
  /// were right hashed once more.
  /// - Throws: ``ExporterError`` with ``ExporterError/Code/invalidAccess``; then all stays as it was.
  public func setAccess(_ access: AccessControl?) throws(ExporterError) {
    site.access.set(try AccessRules.of(access))
  }

  /// Stops listening, lets scrapes that run end within `grace` seconds, and returns when all is closed.
  ///
  /// Does nothing unless it runs. Called by `isReady` or a collector, it returns at once. It may be started again.
  public func stop(grace: Double = 5) {
    takeEndpoint()?.stop(grace: grace)
  }

  /// As the other `stop(grace:)`, without blocking a thread.
  public func stop(grace: Double = 5) async {
    await takeEndpoint()?.stop(grace: grace)
  }

  private func takeEndpoint() -> Endpoint? {
    state.withLock { state in
      guard case .running(let endpoint, _) = state else { return nil }
      state = .idle
      return endpoint
    }
  }
}
