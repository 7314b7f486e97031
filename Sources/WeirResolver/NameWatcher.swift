package import WeirIO

/// Keeps names under watch: looks each up, tells its watches, and looks it up again when the answer has aged.
///
/// Confined to the loop. Watches of one question by one set of rules share its lookups. At most 32 questions are under
/// way at once.
package final class NameWatcher {
  struct Key: Hashable {
    let question: Question
    let rules: ResolveRules
  }

  package let loop: EventLoop
  private let resolvConf: String
  private let random: () -> Double
  private let gate = QuestionGate()
  private var resolvers: [ResolverServers: Resolver] = [:]
  private var names: [Key: WatchedName] = [:]
  private var isClosed = false

  /// - Parameter resolvConf: The path of resolv.conf, another one for tests.
  /// - Parameter random: Numbers from 0 up to 1, by which lookups are spread.
  package init(
    loop: EventLoop, resolvConf: String = Resolver.systemConfiguration,
    random: @escaping () -> Double = { Double.random(in: 0..<1) }
  ) {
    loop.preconditionCurrent()
    self.loop = loop
    self.resolvConf = resolvConf
    self.random = random
  }

  /// Watches a name until `Watch.cancel` or `close`.
  ///
  /// - Parameter changed: Told after each lookup, equal answers included, on the loop and never from within this call. A
  ///   name that is watched already has its last answer told at the end of the turn, or its last problem if it never had
  ///   an answer.
  package func watch(_ question: Question, rules: ResolveRules, changed: @escaping (Lookup) -> Void) -> Watch {
    loop.preconditionCurrent()
    let watch = Watch(loop: loop, changed: changed)
    guard !isClosed else {
      watch.cancel()
      return watch
    }
    name(Key(question: question, rules: rules)).add(watch)
    return watch
  }

  /// Has later lookups read resolv.conf again, and asks at once about the names whose last lookup failed.
  package func reload() {
    loop.preconditionCurrent()
    for resolver in resolvers.values { resolver.reload() }
    for name in names.values { name.retryAtOnce() }
  }

  /// Ends all watches.
  package func close() {
    loop.preconditionCurrent()
    isClosed = true
    for name in names.values { name.end() }
    for resolver in resolvers.values { resolver.close() }
    names = [:]
    resolvers = [:]
  }

  private func name(_ key: Key) -> WatchedName {
    if let present = names[key] { return present }
    let made = WatchedName(key, resolver: resolver(of: key.rules.servers), random: random) { [weak self] in
      self?.forget(key)
    }
    names[key] = made
    made.begin()
    return made
  }

  private func resolver(of servers: ResolverServers) -> Resolver {
    if let present = resolvers[servers] { return present }
    let made = Resolver(loop: loop, servers: servers, gate: gate, resolvConf: resolvConf)
    resolvers[servers] = made
    return made
  }

  /// Forgets a name without watches, and the resolver if no other name uses it.
  private func forget(_ key: Key) {
    names[key] = nil
    let servers = key.rules.servers
    guard !names.keys.contains(where: { $0.rules.servers == servers }) else { return }
    resolvers.removeValue(forKey: servers)?.close()
  }
}

/// The interest in a name. It lasts until `cancel`, even if nothing refers to it.
///
/// Confined to the loop.
package final class Watch {
  private let loop: EventLoop
  /// Nil when cancelled.
  private var changed: ((Lookup) -> Void)?
  private(set) var hasHeard = false
  weak var name: WatchedName?

  init(loop: EventLoop, changed: @escaping (Lookup) -> Void) {
    self.loop = loop
    self.changed = changed
  }

  /// Ends the watch: nothing is told any more. May be called again. On the loop.
  package func cancel() {
    loop.preconditionCurrent()
    let name = name
    silence()
    name?.remove(self)
  }

  func silence() {
    changed = nil
    name = nil
  }

  func tell(_ lookup: Lookup) {
    hasHeard = true
    changed?(lookup)
  }
}
