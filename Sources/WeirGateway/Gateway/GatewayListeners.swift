import Synchronization
import WeirServer
import WeirTLS

/// The listeners of a gateway. Each has a server on the loop of every worker. Reloads open, change and close them.
final class GatewayListeners: Sendable {
  /// Seconds that requests may take on connections of a listener that a reload has closed or changed: as long as the
  /// longest timeout of a route.
  private static let grace = 86_400.0

  /// A listener with its servers, one for each worker.
  struct Entry: Sendable {
    var settings: ListenerSettings
    let listener: Listener
    let servers: [Server]
    /// The counts of the servers, which also count on for those that follow them.
    let tallies: [ServerTally]
    let crowd: CrowdLog
    /// Nil for plain HTTP.
    let tls: TLSFilesWatch?
  }

  /// A listener that a configuration asks for. Its socket is open, and its files are read.
  struct Prepared: Sendable {
    let settings: ListenerSettings
    let listener: Listener
    /// Nil for plain HTTP, and for a listener whose servers stay.
    let tls: TLSFilesWatch?
  }

  private let workers: [Worker]
  /// Connections of each worker for which there are descriptors.
  private let share: Int
  private let metrics: TLSMetrics
  private let sockets: InheritedSockets
  private let log: Logger
  private let entries: Mutex<[Entry]>
  /// Servers that accept nothing more and have not yet ended.
  private let leaving = Mutex<[ObjectIdentifier: Server]>([:])

  /// Opens the sockets.
  ///
  /// - Parameters:
  ///   - connections: Connections of all workers together for which there are descriptors.
  ///   - sockets: Those that are open already.
  init(
    _ settings: [ListenerSettings], workers: [Worker], connections: Int, metrics: TLSMetrics,
    sockets: InheritedSockets, log: Logger
  ) throws {
    self.workers = workers
    share = connections / max(1, workers.count)
    self.metrics = metrics
    self.sockets = sockets
    self.log = log
    entries = Mutex([])
    let prepared = try prepare(settings)
    let first = prepared.map { entry($0, beside: prepared.count, after: []) }
    metrics.follow(first.filter { $0.tls != nil }.map(\.settings.name))
    entries.withLock { $0 = first }
  }

  /// Begins to accept connections.
  func start() {
    for server in all.flatMap(\.servers) { server.start() }
    for entry in all { entry.tls?.start() }
  }

  /// The listeners in the order of the configuration.
  var all: [Entry] { entries.withLock { $0 } }

  /// Opens the sockets that are missing, and reads the files of TLS. Throws, and changes nothing, if that fails.
  func prepare(_ wanted: [ListenerSettings]) throws -> [Prepared] {
    let present = all
    return try wanted.map { settings in
      let known = present.first { $0.settings.address == settings.address }
      let listener =
        if let known { known.listener } else { try sockets.listener(named: settings.name, at: settings.address) }
      let isKept = known?.settings.canFollow(settings) ?? false
      let tls = isKept ? nil : try watch(settings, after: present.first { $0.settings.name == settings.name }?.tls)
      return Prepared(settings: settings, listener: listener, tls: tls)
    }
  }

  /// Reads the files of a listener's TLS.
  private func watch(_ settings: ListenerSettings, after previous: TLSFilesWatch?) throws -> TLSFilesWatch? {
    try settings.tls.map { tls in
      try TLSFilesWatch(
        tls.files, after: previous?.source,
        observer: { [metrics, name = settings.name] in metrics.ended($0, at: name) },
        report: { [metrics, log, name = settings.name] event in
          metrics.reloaded(name, isSuccess: event == .followed)
          log.note(event, listener: name)
        })
    }
  }

  /// Makes the servers of a listener.
  ///
  /// - Parameters:
  ///   - count: The number of listeners, which share the connections.
  ///   - before: The listeners until now.
  private func entry(_ prepared: Prepared, beside count: Int, after before: [Entry]) -> Entry {
    let (settings, listener) = (prepared.settings, prepared.listener)
    let limits = settings.limits(share: share / count)
    let crowd = CrowdLog(listener: settings.name, connections: limits.connections * workers.count, log: log)
    let sameName = before.first { $0.settings.name == settings.name }
    let tallies = sameName?.tallies ?? workers.map { _ in ServerTally() }
    let context = ListenerContext(settings)
    let servers = zip(workers, tallies).map { worker, tally in
      worker.server(
        for: listener, settings, context, limits: limits, tls: prepared.tls?.source, tally: tally, crowd: crowd)
    }
    return Entry(
      settings: settings, listener: listener, servers: servers, tallies: tallies, crowd: crowd, tls: prepared.tls)
  }

  /// Begins with what was prepared, and lets the other listeners' connections end. Connections of a listener whose
  /// settings have changed end by the old ones. Returns once new connections follow the new settings.
  func commit(_ listeners: [Prepared]) async {
    let before = all
    let count = listeners.count
    var new: [Entry] = []
    let entries = listeners.map { prepared in
      let known = before.first {
        $0.listener === prepared.listener && $0.settings.canFollow(prepared.settings)
      }
      if var known {
        known.settings = prepared.settings
        follow(prepared.settings, known)
        return known
      }
      let entry = entry(prepared, beside: count, after: before)
      new.append(entry)
      return entry
    }
    metrics.follow(entries.filter { $0.tls != nil }.map(\.settings.name))
    self.entries.withLock { $0 = entries }
    for entry in entries where !new.contains(where: { $0.listener === entry.listener }) {
      let connections = entry.settings.limits(share: share / count).connections
      entry.crowd.limit(connections: connections * workers.count)
      for server in entry.servers { server.limit(connections: connections) }
    }
    // On each loop the old server leaves the socket before the new one takes it.
    for entry in before where !entries.contains(where: { $0.servers.first === entry.servers.first }) {
      let isClosed = !entries.contains { $0.listener === entry.listener }
      for server in entry.servers { leave(server, closesListener: isClosed) }
    }
    for server in new.flatMap(\.servers) { server.start() }
    for entry in new { entry.tls?.start() }
    for worker in workers { await worker.catchUp() }
  }

  /// Has new connections of a listener follow the files of its new settings. They were good when these were checked.
  private func follow(_ settings: ListenerSettings, _ entry: Entry) {
    guard let tls = settings.tls, let watch = entry.tls else { return }
    do {
      let before = watch.source.current.settings
      watch.follow(try watch.prepare(tls.files))
      if watch.source.current.settings != before { metrics.reloaded(settings.name, isSuccess: true) }
    } catch {
      metrics.reloaded(settings.name, isSuccess: false)
      log.note(.refused(error.description), listener: settings.name)
    }
  }

  private func leave(_ server: Server, closesListener: Bool) {
    leaving.withLock { $0[ObjectIdentifier(server)] = server }
    let ended: @Sendable () -> Void = { [weak self, weak server] in
      guard let server else { return }
      _ = self?.leaving.withLock { $0.removeValue(forKey: ObjectIdentifier(server)) }
    }
    if closesListener {
      server.stop(grace: Self.grace, completion: ended)
    } else {
      server.retire(grace: Self.grace, completion: ended)
    }
  }

  /// Stops accepting, and returns when all requests under way have ended, at the latest after `grace` seconds.
  func stop(grace: Double) async {
    let servers = all.flatMap(\.servers) + leaving.withLock { Array($0.values) }
    await withTaskGroup { group in
      for server in servers { group.addTask { await server.stop(grace: grace) } }
    }
  }
}

extension Logger {
  /// Logs the outcome of new content in a listener's TLS files.
  func note(_ event: TLSFilesWatch.Event, listener: String) {
    switch event {
    case .followed: info("the TLS files have changed, and new connections follow them", ["listener": .string(listener)])
    case .refused(let problem):
      warn(
        "the TLS files have changed and can't be used; TLS stays as it was",
        ["listener": .string(listener), "problem": .string(problem)])
    }
  }
}
