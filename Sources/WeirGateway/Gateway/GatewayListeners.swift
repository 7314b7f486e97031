import Synchronization
import WeirIO
import WeirServer

/// The listeners of a gateway. Each has a server on the loop of every worker. Reloads open, change and close them.
final class GatewayListeners: Sendable {
  /// Seconds that requests may take on connections of a listener that a reload has closed or changed.
  private static let grace = 30.0

  /// A listener with its servers, one for each worker.
  struct Entry: Sendable {
    let settings: ListenerSettings
    let limits: ServerLimits
    let listener: Listener
    let servers: [Server]
    /// The counts of the servers, which also count on for those that follow them.
    let tallies: [ServerTally]
  }

  /// What a configuration asks for, ready to begin.
  struct Change: Sendable {
    fileprivate let entries: [Entry]
  }

  private let workers: [Worker]
  /// Connections of each worker for which there are descriptors.
  private let share: Int
  private let log: Logger
  private let entries: Mutex<[Entry]>
  /// Servers that accept nothing more and have not yet ended.
  private let leaving = Mutex<[ObjectIdentifier: Server]>([:])

  /// Opens the sockets.
  ///
  /// - Parameter connections: Connections of all workers together for which there are descriptors.
  init(_ settings: [ListenerSettings], workers: [Worker], connections: Int, log: Logger) throws(ListenError) {
    self.workers = workers
    share = connections / max(1, workers.count)
    self.log = log
    entries = Mutex([])
    let change = try prepare(settings)
    entries.withLock { $0 = change.entries }
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
    var entries: [Entry] = []
    for settings in wanted {
      let limits = settings.limits(share: share / max(1, wanted.count))
      let known = present.first { $0.settings.address == settings.address }
      if let known, known.settings == settings, known.limits == limits {
        entries.append(known)
        continue
      }
      let listener = if let known { known.listener } else { try Listener(settings.address) }
      let sameName = present.first { $0.settings.name == settings.name }
      entries.append(entry(settings, limits, listener, sameName?.tallies ?? workers.map { _ in ServerTally() }))
    }
    return Change(entries: entries)
  }

  private func entry(
    _ settings: ListenerSettings, _ limits: ServerLimits, _ listener: Listener, _ tallies: [ServerTally]
  ) -> Entry {
    let crowd = CrowdLog(
      listener: settings.name, connections: limits.connections * workers.count, log: log)
    let edge = ListenerEdge(settings)
    let servers = zip(workers, tallies).map { worker, tally in
      worker.server(
        for: listener, edge, limits: limits, expectsProxyHeader: settings.expectsProxyHeader, tally: tally,
        crowd: crowd)
    }
    return Entry(settings: settings, limits: limits, listener: listener, servers: servers, tallies: tallies)
  }

  /// Begins with what was prepared, and lets the other listeners' connections end. Connections of a listener whose
  /// settings have changed end by the old ones. Returns once new connections follow the new settings.
  func commit(_ change: Change) async {
    let before = entries.withLock { entries in
      defer { entries = change.entries }
      return entries
    }
    let kept = Set(change.entries.flatMap(\.servers).map(ObjectIdentifier.init))
    let listeners = Set(change.entries.map { ObjectIdentifier($0.listener) })
    for entry in change.entries {
      for server in entry.servers where !before.contains(where: { $0.servers.contains { $0 === server } }) {
        server.start()
      }
    }
    for entry in before {
      for server in entry.servers where !kept.contains(ObjectIdentifier(server)) {
        leave(server, closesListener: !listeners.contains(ObjectIdentifier(entry.listener)))
      }
    }
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
