import Synchronization
import WeirCurl
package import WeirExporter
package import WeirIO
package import WeirServer
import WeirTLS
package import WeirTransport

/// Forwards HTTP requests by configured routes, on one event loop per worker.
package final class Gateway: Sendable {
  package struct Options: Sendable {
    /// The address of a listener named `gateway`, for configurations without listeners.
    package var address: SocketAddress
    package var workers: Int
    /// The name of this gateway in Via; a token. With nil, a random one is made.
    package var pseudonym: String?
    /// The number of open connections of clients, of all workers together; never more than 8,192 per worker.
    package var connections: Int
    /// The seconds for which, of similar failures, only the first is logged with a line of its own. The others are
    /// counted.
    package var failureWindow = 10.0
    /// The bodies that are coded or decoded at one time.
    package var coders = CodingPlan.mostBodies
    /// The bytes beyond 64 KiB each that requests' bodies keep at one time, so that they can be sent again.
    package var replayBytes = ReplayAccount.mostBytes
    /// Takes the spans of requests in place of an exporter's queue; nil for that.
    package var spans: (any SpanSink)?
    /// Listening sockets that are open already, from another process.
    package var sockets = InheritedSockets()

    package init(address: SocketAddress, workers: Int = 1, pseudonym: String? = nil, connections: Int = .max) {
      self.address = address
      self.workers = max(1, workers)
      self.pseudonym = pseudonym
      self.connections = connections
    }
  }

  private let listeners: GatewayListeners
  private let standard: ListenerSettings
  private let workers: [Worker]
  private let context: PlanContext
  private let destinations: DestinationTable
  private let registry: UpstreamRegistry
  /// The routes of the present configuration.
  private let present: Mutex<[Route]>
  private let accessLog: AccessLog
  private let telemetry: GatewayExport
  private let logs: SharedLogs
  private let metrics: GatewayMetrics

  /// Listens, but accepts nothing before `start()`.
  ///
  /// - Parameter observer: Observes the requests to upstreams.
  package init(
    _ configuration: Configuration, options: Options, metrics: GatewayMetrics,
    observer: (any SharedTransportObserver)? = nil, log: Logger
  ) throws {
    var random = SystemRandomNumberGenerator()
    let credentials = CredentialRegistry(monitor: metrics.client, log: log)
    let context = PlanContext(
      pseudonym: options.pseudonym ?? ForwardingPlan.pseudonym(using: &random), coders: Gate(limit: options.coders),
      credentials: credentials, replay: ReplayAccount(limit: options.replayBytes))
    self.context = context
    self.metrics = metrics
    let logs = SharedLogs(log, window: options.failureWindow)
    self.logs = logs
    let destinations = DestinationTable()
    self.destinations = destinations
    let registry = UpstreamRegistry(
      destinations, credentials: credentials, log: log, lag: { observer?.lagObserver(ofLoop: "control") })
    self.registry = registry
    present = Mutex(configuration.routes)
    credentials.follow(configuration)
    metrics.replay.source.follow { [weak replay = context.replay] in replay.map { [$0.bytes] } ?? [] }
    metrics.credentials.credentials.follow { [weak credentials] in credentials?.all.map { $0.report() } ?? [] }
    metrics.credentials.files.follow { [weak credentials] in credentials?.files ?? [] }
    metrics.authorities.follow { [weak authorities = context.authorities] in authorities?.destinations ?? [] }
    try registry.follow(configuration.upstreams)
    metrics.endpoints.source.follow { [weak registry] in registry.map { Array($0.all.values) } ?? [] }
    let accessLog = AccessLog(counters: { metrics.accessLog() }) { notice in
      log.warn(
        "lines of the access log are lost", ["count": .integer(notice.count), "reason": .string(notice.reason)])
    }
    self.accessLog = accessLog
    let lines = try accessLog.prepare(configuration.accessLog)
    accessLog.commit(lines)
    let telemetry = GatewayExport(of: metrics.registry, credentials: credentials, sink: options.spans, log: log)
    self.telemetry = telemetry
    let export = try telemetry.prepare(configuration.telemetry)
    telemetry.commit(export)
    let plan = ForwardingPlan(
      configuration, context, named: registry.all, accessLog: lines.writer, spans: export.spans)
    metrics.prepare(
      plan.table.routes, refusals: plan.refusals, upstreams: plan.upstreams, requested: plan.requestedGauges,
      credentials: plan.credentials)
    let share = min(max(1, options.connections / options.workers), ServerLimits.mostConnections)
    let workers = try (0..<options.workers).map { number in
      try Worker(
        number: number, plan: plan, destinations: destinations, observer: observer, metrics: metrics,
        connections: share, logs: logs)
    }
    self.workers = workers
    standard = ListenerSettings(address: options.address)
    let listeners = try GatewayListeners(
      configuration.listeners.isEmpty ? [standard] : configuration.listeners, workers: workers,
      connections: options.connections, metrics: metrics.tls, sockets: options.sockets, log: log)
    self.listeners = listeners
    context.listening.follow(listeners.all.map(\.listener.address), of: "gateway")
    metrics.tls.source.follow { [weak listeners] in
      (listeners?.all ?? []).compactMap { entry in entry.tls.map { (entry.settings.name, $0.source.certificates) } }
    }
    metrics.listeners.source.follow { [weak listeners] in
      (listeners?.all ?? []).map { ($0.settings.name, $0.tallies) }
    }
    context.authorities.onForget { [weak self] upstreams in
      for worker in self?.workers ?? [] { worker.closeIdleConnections(to: [], upstreams) }
    }
  }

  /// The address of the first listener.
  package var address: SocketAddress { addresses.first?.address ?? .unnamed }

  /// The listeners' names and addresses, in the order of the configuration.
  package var addresses: [(name: String, address: SocketAddress, isSecure: Bool)] {
    listeners.all.map { ($0.settings.name, $0.listener.address, $0.tls != nil) }
  }

  /// The routes, the endpoints of named upstreams and the listeners of the present configuration, for the status page.
  var state: (routes: [Route], endpoints: [UpstreamEndpoints], listeners: [GatewayListeners.Entry]) {
    (present.withLock { $0 }, Array(registry.all.values), listeners.all)
  }

  /// The credentials of the present configuration, and the files that hold secrets.
  var credentials: CredentialRegistry { context.credentials }

  /// The listeners with the addresses that were asked for.
  package var openListeners: [(address: SocketAddress, listener: Listener)] {
    listeners.all.map { ($0.settings.address, $0.listener) }
  }

  package var workerCount: Int { workers.count }

  /// Tells of an address at which another part of the process listens, to which no client may ask to go.
  package func listens(at address: SocketAddress, as part: String) { context.listening.follow([address], of: part) }

  /// All loops that must turn for requests to be forwarded.
  package var loops: [EventLoop] { workers.map(\.loop) + (registry.loop.map { [$0] } ?? []) }

  package func start() {
    for worker in workers { worker.start() }
    listeners.start()
  }

  /// Waits for the first answers of places that tell of endpoints, and of token services, but no longer than five
  /// seconds.
  package func prepareUpstreams() async {
    async let tokens: Void = context.credentials.settle(within: 5)
    await registry.settle(within: 5)
    await tokens
  }

  /// Returns once all new requests follow `configuration`. Requests under way end by the old one. Throws if a listener
  /// can't be opened, or the loop of lookups and checks can't be made; then nothing has changed.
  package func reload(_ configuration: Configuration) async throws {
    let change = try listeners.prepare(configuration.listeners.isEmpty ? [standard] : configuration.listeners)
    let lines = try accessLog.prepare(configuration.accessLog)
    let before = Array(registry.all.values)
    try registry.prepare(for: configuration.upstreams)
    context.credentials.follow(configuration)
    try registry.follow(configuration.upstreams)
    let export = try telemetry.prepare(configuration.telemetry)
    await prepareUpstreams()
    let plan = ForwardingPlan(
      configuration, context, named: registry.all, accessLog: lines.writer, spans: export.spans)
    metrics.prepare(
      plan.table.routes, refusals: plan.refusals, upstreams: plan.upstreams, requested: plan.requestedGauges,
      credentials: plan.credentials)
    // A log that begins has its place before its first line; one that moves keeps the lines of requests under way.
    let begins = !accessLog.isOn
    if begins { accessLog.commit(lines) }
    for worker in workers { await worker.install(plan) }
    if !begins { accessLog.commit(lines) }
    telemetry.commit(export)
    // Until they are closed, the present ones take connections too.
    context.listening.follow(listeners.all.map(\.listener.address) + change.map(\.listener.address), of: "gateway")
    await listeners.commit(change)
    context.listening.follow(listeners.all.map(\.listener.address), of: "gateway")
    closeIdleConnections(before, configuration.routes)
    destinations.keep(Set(plan.upstreams.keys))
    context.authorities.follow(plan.requested)
  }

  /// Opens the file of the access log anew, since it may have been renamed. A reload does it too.
  package func reopenAccessLog() throws { try accessLog.reopen() }

  /// Closes idle connections to upstreams that are gone.
  ///
  /// - Parameters:
  ///   - before: The entries of the configuration before.
  ///   - present: The routes of the present one.
  private func closeIdleConnections(_ before: [UpstreamEndpoints], _ present: [Route]) {
    let entries = Set(registry.all.values.map(ObjectIdentifier.init))
    let endpoints = before.filter { !entries.contains(ObjectIdentifier($0)) }.flatMap(\.set.endpoints)
    let gone = self.present.withLock { known in
      defer { known = present }
      return Set(known.flatMap(\.upstreams)).subtracting(present.flatMap(\.upstreams))
    }
    if endpoints.isEmpty, gone.isEmpty { return }
    for worker in workers { worker.closeIdleConnections(to: endpoints.map(\.destination), gone) }
  }

  /// Seconds that the rest of the access log, and that of telemetry beside it, may take at the end.
  private static let patience = 5.0

  /// Stops accepting, and returns when all requests under way have ended, at the latest after `grace` seconds. A
  /// request that arrives on an open connection within a second counts as under way.
  package func stop(grace: Double) async {
    await listeners.stop(grace: grace)
    for worker in workers { await worker.flushAccessLog() }
    async let lines: Void = accessLog.finish(within: Self.patience)
    await telemetry.finish(within: Self.patience)
    await lines
    for worker in workers { worker.close() }
    registry.close()
    context.credentials.close()
    // Events that were only counted are logged before the end.
    _ = logs.failures.windowsEnded(at: .distantFuture)
    logs.upstreams.end(at: .now)
  }
}
