import Synchronization
import Testing
import WeirIO
import WeirResolver
import WeirTestSupport

/// A name watcher on a loop of its own.
final class WatcherHost: Sendable {
  let loop: EventLoop
  private let bound: LoopBound<NameWatcher?>
  private let watches: LoopBound<[String: Watch]>

  init(resolvConf: String = "/dev/null", random: Double = 0) throws {
    loop = try EventLoop(name: "test")
    bound = LoopBound(nil, on: loop)
    watches = LoopBound([:], on: loop)
    loop.sync { [loop, bound] in
      bound.value = NameWatcher(loop: loop, resolvConf: resolvConf, random: { random })
    }
  }

  deinit {
    loop.post { [bound] in bound.value?.close() }
  }

  func sync(_ body: @escaping @Sendable (NameWatcher) -> Void) {
    loop.sync { [bound] in
      if let watcher = bound.value { body(watcher) }
    }
  }

  /// Watches a name, and logs its news behind the watch's own name.
  func watch(_ name: String, _ question: Question, _ rules: ResolveRules, to log: Log) {
    sync { [watches] watcher in
      watches.value[name] = watcher.watch(question, rules: rules) { log.append("\(name) \($0.text)") }
    }
  }

  func cancel(_ name: String) {
    sync { [watches] _ in watches.value[name]?.cancel() }
  }
}

@Suite struct NameWatcherTests {
  private static let name = Question.addresses(of: "name.test", family: .ipv4)
  private static let good = "10.0.0.1 ttl=0"

  private func rules(
    _ peer: DNSPeer, minimum: Double = 3600, maximum: Double = 3600, timeout: Double = 5
  ) throws -> ResolveRules {
    ResolveRules(
      minimum: minimum, maximum: maximum, timeout: timeout, servers: try ResolverServers(parsing: [peer.server]))
  }

  /// Answers a name's n-th question by `reply`.
  private func peer(_ reply: @escaping @Sendable (Int) -> DNSReply?) throws -> DNSPeer {
    let count = Mutex(0)
    return try DNSPeer { question in
      let number = count.withLock { count in
        count += 1
        return count
      }
      return reply(number).map { [$0.bytes(to: question)] } ?? []
    }
  }

  private func steady() throws -> DNSPeer {
    try peer { _ in DNSReply(records: [.address("10.0.0.1", ttl: 0)]) }
  }

  @Test func tellsAfterEachLookup() async throws {
    let peer = try peer { number in DNSReply(records: [.address("10.0.0.\(number)", ttl: 0)]) }
    let (host, log) = (try WatcherHost(), Log())
    host.watch("a", Self.name, try rules(peer, minimum: 0.02), to: log)
    try await eventually("three are told") { log.all.count >= 3 }
    #expect(log.all.prefix(3) == ["a 10.0.0.1 ttl=0", "a 10.0.0.2 ttl=0", "a 10.0.0.3 ttl=0"])
  }

  @Test func gapsAreTold() async throws {
    let peer = try DNSPeer { question in
      let reply = question.kind == .ipv4 ? DNSReply(records: [.address("10.0.0.1", ttl: 0)]) : DNSReply(code: 2)
      return [reply.bytes(to: question)]
    }
    let (host, log) = (try WatcherHost(), Log())
    host.watch("a", .addresses(of: "name.test"), try rules(peer), to: log)
    try await eventually("it is told") { !log.all.isEmpty }
    #expect(log.all == ["a \(Self.good) -ipv6"])
  }

  @Test func failuresAreToldAndTriedAgain() async throws {
    let peer = try peer { number in
      switch number {
      case 1, 2: DNSReply(records: [.address("10.0.0.1", ttl: 0)])
      case 3, 4: DNSReply(code: 3)
      default: DNSReply(records: [.address("10.0.0.2", ttl: 0)])
      }
    }
    let (host, log) = (try WatcherHost(), Log())
    host.watch("a", Self.name, try rules(peer, minimum: 0.02, maximum: 0.05), to: log)
    try await eventually("five are told") { log.all.count >= 5 }
    #expect(
      log.all.prefix(5) == [
        "a 10.0.0.1 ttl=0", "a 10.0.0.1 ttl=0", "a no_such_name", "a no_such_name", "a 10.0.0.2 ttl=0",
      ])
  }

  @Test func equalWatchesShareALookup() async throws {
    let (peer, host, log) = (try steady(), try WatcherHost(), Log())
    let rules = try rules(peer)
    host.sync { watcher in
      for number in 0..<3 {
        _ = watcher.watch(Self.name, rules: rules) { log.append("\(number) \($0.text)") }
      }
      #expect(log.all.isEmpty)
    }
    try await eventually("all are told") { log.all.count == 3 }
    // A later one hears the last answer, at the end of the turn.
    host.sync { watcher in
      _ = watcher.watch(Self.name, rules: rules) { log.append("later \($0.text)") }
      #expect(log.all.count == 3)
    }
    host.sync { _ in }
    #expect(log.all == ["0 \(Self.good)", "1 \(Self.good)", "2 \(Self.good)", "later \(Self.good)"])
    #expect(peer.questions.count == 1)
  }

  @Test func otherRulesOrQuestionsAreLookedUpThemselves() async throws {
    let (peer, host, log) = (try steady(), try WatcherHost(), Log())
    host.watch("a", Self.name, try rules(peer), to: log)
    host.watch("b", Self.name, try rules(peer, timeout: 6), to: log)
    host.watch("c", .addresses(of: "other.test", family: .ipv4), try rules(peer), to: log)
    try await eventually("all are told") { log.all.count == 3 }
    #expect(peer.questions.count == 3)
  }

  /// The last answer holds, so it is the first news even if the last lookup failed.
  @Test func laterWatchHearsTheLastAnswerAfterAFailure() async throws {
    let peer = try peer { $0 == 1 ? DNSReply(records: [.address("10.0.0.1", ttl: 0)]) : DNSReply(code: 3) }
    let (host, log) = (try WatcherHost(), Log())
    let rules = try rules(peer, minimum: 0.02)
    host.watch("a", Self.name, rules, to: log)
    try await eventually("a failure is told") { log.all.contains("a no_such_name") }
    host.watch("b", Self.name, rules, to: log)
    try await eventually("the second is told") { log.all.contains { $0.hasPrefix("b") } }
    #expect(log.all.first { $0.hasPrefix("b") } == "b \(Self.good)")
  }

  @Test func laterWatchHearsAFailureWithoutAnyAnswer() async throws {
    let peer = try peer { _ in DNSReply(code: 3) }
    let (host, log) = (try WatcherHost(), Log())
    host.watch("a", Self.name, try rules(peer), to: log)
    try await eventually("the first is told") { log.all.count == 1 }
    host.watch("b", Self.name, try rules(peer), to: log)
    try await eventually("the second is told") { log.all.count == 2 }
    #expect(log.all == ["a no_such_name", "b no_such_name"])
  }

  /// A lookup that ends in the turn of the later watch tells it by itself.
  @Test func laterWatchHearsOneNewsOfALookupThatEndsInItsTurn() async throws {
    let (host, log) = (try WatcherHost(), Log())
    let question = Question.addresses(of: "127.0.0.1", family: .ipv6)
    let rules = ResolveRules(minimum: 3600, maximum: 3600)
    host.watch("a", question, rules, to: log)
    host.sync { _ in }
    #expect(log.all == ["a no_addresses"])
    host.sync { watcher in
      watcher.reload()
      _ = watcher.watch(question, rules: rules) { log.append("b \($0.text)") }
    }
    host.sync { _ in }
    #expect(log.all == ["a no_addresses", "a no_addresses", "b no_addresses"])
  }

  @Test func cancelledWatchHearsNothing() async throws {
    let (peer, host, log) = (try steady(), try WatcherHost(), Log())
    host.watch("a", Self.name, try rules(peer, minimum: 0.01), to: log)
    try await eventually("it is told") { log.all.count >= 2 }
    host.cancel("a")
    host.cancel("a")
    let told = log.all.count
    // The name is not watched any more: another watch looks it up by itself.
    let asked = peer.questions.count
    host.watch("b", Self.name, try rules(peer, minimum: 3600), to: log)
    try await eventually("the other is told") { log.all.last == "b \(Self.good)" }
    #expect(log.all.count == told + 1)
    #expect(peer.questions.count <= asked + 2)
  }

  @Test func cancelWithinTheCallback() async throws {
    let (peer, host, log) = (try steady(), try WatcherHost(), Log())
    let rules = try rules(peer, minimum: 0.01)
    host.sync { watcher in
      let watches = LoopBound<[Watch]>(confining: [], on: watcher.loop)
      for number in 0..<3 {
        watches.value.append(
          watcher.watch(Self.name, rules: rules) { _ in
            log.append("\(number)")
            // The first ends itself and the last, which is not told any more.
            if number == 0 {
              watches.value[0].cancel()
              watches.value[2].cancel()
            }
          })
      }
    }
    try await eventually("the second is told often") { log.all.count >= 4 }
    #expect(log.all.prefix(4) == ["0", "1", "1", "1"])
  }

  @Test func watchWithinTheCallback() async throws {
    let (peer, host, log) = (try steady(), try WatcherHost(), Log())
    let rules = try rules(peer)
    host.sync { watcher in
      _ = watcher.watch(Self.name, rules: rules) { [unowned watcher] lookup in
        log.append("a \(lookup.text)")
        _ = watcher.watch(Self.name, rules: rules) { log.append("b \($0.text)") }
        log.append("watched")
      }
    }
    try await eventually("both are told") { log.all.count >= 3 }
    host.sync { _ in }
    #expect(log.all == ["a \(Self.good)", "watched", "b \(Self.good)"])
    #expect(peer.questions.count == 1)
  }

  @Test func closeWithinTheCallback() async throws {
    let (peer, host, log) = (try steady(), try WatcherHost(), Log())
    let rules = try rules(peer, minimum: 0.01)
    host.sync { watcher in
      for number in 0..<3 {
        _ = watcher.watch(Self.name, rules: rules) { [unowned watcher] _ in
          log.append("\(number)")
          watcher.close()
        }
      }
    }
    try await eventually("one is told") { !log.all.isEmpty }
    let asked = peer.questions.count
    host.sync { watcher in
      watcher.close()
      watcher.reload()
      watcher.watch(Self.name, rules: rules) { _ in log.append("late") }.cancel()
    }
    host.sync { _ in }
    #expect(log.all == ["0"])
    #expect(peer.questions.count == asked)
  }

  @Test func closeWhileALookupIsUnderWay() async throws {
    let (peer, host, log) = (try peer { _ in nil }, try WatcherHost(), Log())
    host.watch("a", Self.name, try rules(peer, timeout: 2), to: log)
    try await eventually("it is asked") { !peer.questions.isEmpty }
    host.sync { $0.close() }
    let asked = peer.questions.count
    #expect(try await ResolverHost(peer).lookUp("other.test", timeout: 2.3) == .failure(.timeout))
    host.sync { _ in }
    #expect(log.all.isEmpty)
    #expect(peer.questions.filter { $0.name == "name.test" }.count == asked)
  }

  @Test func reloadRetriesWhatFailed() async throws {
    let peer = try DNSPeer(zone: ["name.two.test": [.address("10.0.0.2", ttl: 0)], "full.test": [.address("10.0.0.3")]])
    let file = try ResolvConf("search one.test\n")
    let (host, log) = (try WatcherHost(resolvConf: file.path), Log())
    host.watch("a", .addresses(of: "name", family: .ipv4), try rules(peer), to: log)
    host.watch("b", .addresses(of: "full.test.", family: .ipv4), try rules(peer), to: log)
    try await eventually("both are told") { log.all.count == 2 }
    try file.replace("search two.test\n")
    host.sync { $0.reload() }
    try await eventually("the failed one is told again") { log.all.count == 3 }
    #expect(Set(log.all.prefix(2)) == ["a no_such_name", "b 10.0.0.3 ttl=60"])
    #expect(log.all.last == "a 10.0.0.2 ttl=0")
  }

  @Test func intervalFollowsTheTTL() async throws {
    let peer = try peer { _ in DNSReply(records: [.address("10.0.0.1", ttl: 1)]) }
    let (host, log) = (try WatcherHost(random: 1), Log())
    let start = MonotonicTime.now
    host.watch("a", Self.name, try rules(peer, minimum: 0.01), to: log)
    try await eventually("it is looked up again") { log.all.count >= 2 }
    let taken = MonotonicTime.now.seconds(since: start)
    #expect(taken >= 0.9 && taken < 8)
  }
}
