package import WeirIO

/// Looks names up: in /etc/hosts, then at the name servers of resolv.conf or at given ones.
///
/// Confined to the loop, which does all of its work. It starts no thread and takes no lock.
///
/// c-ares 1.18 can't read resolv.conf again, so a changed one means a new channel. Lookups under way end on the old one.
package final class Resolver {
  package static let systemConfiguration = "/etc/resolv.conf"
  /// The most seconds of one lookup.
  static let longestTimeout = 3600.0
  /// The least seconds between two looks at resolv.conf.
  private static let lookInterval = 1.0

  package let loop: EventLoop
  private let servers: ResolverServers
  private let resolvConf: String
  private let gate: QuestionGate

  /// The channels of new lookups by their timeouts in milliseconds, which are fixed when a channel is made.
  private var channels: [Int: AresChannel] = [:]
  /// The channels of earlier settings on which lookups are under way.
  private var retired: [AresChannel] = []
  /// Those that wait or are under way.
  package private(set) var lookups: [ObjectIdentifier: PendingLookup] = [:]
  /// The questions that have passed the gate.
  private var questions = 0
  private var mark: FileMark?
  private var lastLook: MonotonicTime?
  private var isClosed = false

  /// - Parameter servers: The name servers to ask; those of resolv.conf by default.
  /// - Parameter gate: The limit that this resolver shares with others of the loop; by default one of its own.
  /// - Parameter resolvConf: The path of resolv.conf, another one for tests.
  package init(
    loop: EventLoop, servers: ResolverServers = .system, gate: QuestionGate = QuestionGate(),
    resolvConf: String = Resolver.systemConfiguration
  ) {
    loop.preconditionCurrent()
    self.loop = loop
    self.servers = servers
    self.gate = gate
    self.resolvConf = resolvConf
  }

  /// Looks a name up. `done` is called on the loop, once, never from within this call, and not after `close`.
  ///
  /// - Parameter timeout: The seconds that the whole lookup may take, with all its tries; at most an hour. They count from
  ///   its start, which waits until the gate has room.
  /// - Parameter seeksGaps: Whether a name that has addresses of one version of IP alone is asked for those of the other
  ///   once more, so that the answer has a gap if that question fails. Without it only services' answers have gaps.
  @discardableResult
  package func lookUp(
    _ question: Question, timeout: Double, seeksGaps: Bool = false,
    done: @escaping (Lookup) -> Void
  ) -> PendingLookup {
    loop.preconditionCurrent()
    let lookup = PendingLookup(question, timeout: timeout, seeksGaps: seeksGaps, resolver: self, done: done)
    guard !isClosed else {
      lookup.abandon()
      return lookup
    }
    lookups[ObjectIdentifier(lookup)] = lookup
    gate.enter { lookup.begin() }
    return lookup
  }

  /// Has later lookups read resolv.conf again. Those under way go on.
  package func reload() {
    loop.preconditionCurrent()
    mark = FileMark(ofFile: resolvConf)
    lastLook = .now
    retireChannels()
  }

  /// Ends all lookups, without telling.
  package func close() {
    loop.preconditionCurrent()
    guard !isClosed else { return }
    isClosed = true
    for lookup in lookups.values { lookup.abandon() }
    lookups = [:]
    for channel in channels.values { channel.close() }
    for channel in retired { channel.close() }
    channels = [:]
    retired = []
    // The channels tell of their questions no more, and others may wait for these places.
    for _ in 0..<questions { gate.leave() }
    questions = 0
  }
}

// MARK: - For lookups

extension Resolver {
  /// Asks a question by a channel. `tell` is called at the end of a turn, once.
  func ask<Found>(
    timeout: Double, _ tell: @escaping Tell<Found>, by question: (AresChannel, @escaping Tell<Found>) -> Void
  ) throws(LookupProblem) {
    let channel = try channel(timeout: timeout)
    questions += 1
    question(channel) { [self] result in
      questions -= 1
      gate.leave()
      retired.removeAll(where: \.isIdle)
      tell(result)
    }
  }

  /// Has a further question of a lookup asked as soon as there is room.
  func enterNext(_ step: @escaping QuestionGate.Step) {
    gate.enterNext(step)
  }

  func forget(_ lookup: PendingLookup) {
    lookups[ObjectIdentifier(lookup)] = nil
  }

  private func channel(timeout: Double) throws(LookupProblem) -> AresChannel {
    lookForChange()
    let key = Int((timeout * 1000).rounded())
    if let present = channels[key] { return present }
    let settings = AresSettings(servers: servers, resolvConf: resolvConf, timeout: timeout)
    let made = try AresChannel(loop: loop, settings: settings)
    channels[key] = made
    return made
  }

  private func lookForChange() {
    let now = MonotonicTime.now
    if let lastLook, now.seconds(since: lastLook) < Self.lookInterval { return }
    let isFirst = lastLook == nil
    lastLook = now
    let found = FileMark(ofFile: resolvConf)
    guard found != mark else { return }
    mark = found
    if !isFirst { retireChannels() }
  }

  private func retireChannels() {
    retired += channels.values.filter { !$0.isIdle }
    channels = [:]
  }
}

/// Limits the questions that are under way at once, of all resolvers of one loop. Further ones wait in order.
///
/// Confined to the loop.
package final class QuestionGate {
  /// The questions that may be under way at once.
  package static let standardLimit = 32

  /// Begins a question. Returns false if it is not wanted any more, or was answered without the name servers.
  typealias Step = () -> Bool

  private let limit: Int
  private(set) var underWay = 0
  /// The next questions of lookups that have begun. They come first, because those lookups' time runs.
  private var begun = Deque<Step>()
  private var waiting = Deque<Step>()

  package init(limit: Int = QuestionGate.standardLimit) {
    self.limit = limit
  }

  /// Takes the first step of a lookup, now or when there is room.
  func enter(_ step: @escaping Step) {
    waiting.append(step)
    proceed()
  }

  /// Takes a further step of a lookup that has begun.
  func enterNext(_ step: @escaping Step) {
    begun.append(step)
    proceed()
  }

  /// Notes that a question which had begun has ended.
  func leave() {
    underWay -= 1
    proceed()
  }

  private func proceed() {
    while underWay < limit, let step = begun.popFirst() ?? waiting.popFirst() {
      underWay += 1
      if !step() { underWay -= 1 }
    }
  }
}
