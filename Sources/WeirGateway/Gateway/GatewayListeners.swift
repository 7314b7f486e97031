import Synchronization
import WeirIO
import WeirServer

/// The listeners of a gateway. Each has a server on the loop of every worker. Reloads open, change and close them.
final class GatewayListeners: Sendable {
  /// Seconds that requests may take on connections of a listener that a reload has closed or changed: as long as the
  /// longest timeout of a route.
  private static let grace = 86_400.0

  /// A listener with its servers, one for each worker.
  struct Entry: Sendable {
    let settings: ListenerSettings
    let listener: Listener
    let servers: [Server]
    /// The counts of the servers, which also count on for those that follow them.
    let tallies: [ServerTally]
    let crowd: CrowdLog
  }

  /// The listeners that a configuration asks for. All sockets are open.
  struct Change: Sendable {
    fileprivate let listeners: [(settings: ListenerSettings, listener: Listener)]
  }

  private let workers: [Worker]
  /// Connections of each worker for which there are descriptors.
  private let share: Int
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
    _ settings: [ListenerSettings], workers: [Worker], connections: Int, sockets: InheritedSockets, log: Logger
  ) throws(ListenError) {
    self.workers = workers
    share = connections / max(1, workers.count)
    self.sockets = sockets
    self.log = log
    entries = Mutex([])
    let change = try prepare(settings)
    let first = change.listeners.map { entry($0.settings, at: $0.listener, beside: change.listeners.count, after: []) }
    entries.withLock { $0 = first }
  }

  /// Begins to accept connections.
  func start() {
    for server in all.flatMap(\.servers) { server.start() }
  }

  /// The listeners in the order of the configuration.
  var all: [Entry] { entries.withLock { $0 } }

  /// Opens the sockets that are missing. Throws, and changes nothing, if one can't be opened.
  func prepare(_ wanted: [ListenerSettings]) throws(ListenError) -> Change {
    let present = all
    var listeners: [(ListenerSettings, Listener)] = []
    for settings in wanted {
      let known = present.first { $0.settings.address == settings.address }
      let listener =
        if let known { known.listener } else { try sockets.listener(named: settings.name, at: settings.address) }
      listeners.append((settings, listener))
    }
    return Change(listeners: listeners)
  }

  /// Makes the servers of a listener.
  ///
  /// - Parameters:
  ///   - count: The number of listeners, which share the connections.
  ///   - before: The listeners until now.
  private func entry(
    _ settings: ListenerSettings, at listener: Listener, beside count: Int, after before: [Entry]
  ) -> Entry {
    let limits = settings.limits(share: share / count)
    let crowd = CrowdLog(listener: settings.name, connections: limits.connections * workers.count, log: log)
    let sameName = before.first { $0.settings.name == settings.name }
    let tallies = sameName?.tallies ?? workers.map { _ in ServerTally() }
    let edge = ListenerEdge(settings)
    let servers = zip(workers, tallies).map { worker, tally in
      worker.server(
        for: listener, edge, limits: limits, expectsProxyHeader: settings.expectsProxyHeader, tally: tally,
        crowd: crowd)
    }
    return Entry(settings: settings, listener: listener, servers: servers, tallies: tallies, crowd: crowd)
  }

  /// Begins with what was prepared, and lets the other listeners' connections end. Connections of a listener whose
  /// settings have changed end by the old ones. Returns once new connections follow the new settings.
  func commit(_ change: Change) async {
    let before = all
    let count = change.listeners.count
    var new: [Entry] = []
    let entries = change.listeners.map { settings, listener in
      if let known = before.first(where: { $0.settings == settings && $0.listener === listener }) { return known }
      let entry = entry(settings, at: listener, beside: count, after: before)
      new.append(entry)
      return entry
    }
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
    for worker in workers { await worker.catchUp() }
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
