import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirResolver

extension ResolverHost {
  /// Whether a lookup is under way.
  var hasPending: Bool { pending > 0 }

  var pending: Int {
    let count = Atomic(0)
    sync { count.store($0.lookups.count, ordering: .relaxed) }
    return count.load(ordering: .relaxed)
  }
}

/// How many lookups run at once, and what ends them early.
@Suite struct LookupLimitTests {
  private func echo() throws -> DNSPeer {
    try DNSPeer { [DNSReply(records: [.address("10.0.0.1")]).bytes(to: $0)] }
  }

  @Test func thirtyTwoAtOnce() async throws {
    let peer = try DNSPeer { _ in [] }
    let host = try ResolverHost(peer)
    host.sync { resolver in
      for number in 0..<40 {
        resolver.lookUp(.addresses(of: "n\(number).test", family: .ipv4), timeout: 60) { _ in }
      }
    }
    try await eventually("32 names are asked for") { peer.names.count >= 32 }
    host.sync { _ in }
    #expect(peer.names == Set((0..<32).map { "n\($0).test" }))
    #expect(host.pending == 40)
  }

  @Test func placesAreTakenInOrder() async throws {
    let peer = try echo()
    let host = try ResolverHost(peer, limit: 2)
    let log = Log()
    host.sync { resolver in
      for number in 0..<6 {
        resolver.lookUp(.addresses(of: "n\(number).test", family: .ipv4), timeout: 60) { log.append($0.text) }
      }
    }
    try await eventually("all have ended") { log.all.count == 6 }
    #expect(log.all == Array(repeating: "10.0.0.1 ttl=60", count: 6))
    #expect(peer.questions.map(\.name) == (0..<6).map { "n\($0).test" })
    #expect(host.pending == 0)
  }

  @Test func gateLetsBegunLookupsGoFirst() {
    let gate = QuestionGate(limit: 2)
    var steps: [String] = []
    func step(_ name: String, begins: Bool = true) -> QuestionGate.Step {
      {
        steps.append(name)
        return begins
      }
    }
    for name in ["a", "b", "c", "d"] { gate.enter(step(name)) }
    gate.enterNext(step("target of a"))
    gate.enterNext(step("cancelled", begins: false))
    #expect(steps == ["a", "b"])
    gate.leave()
    #expect(steps == ["a", "b", "target of a"])
    gate.leave()
    #expect(steps == ["a", "b", "target of a", "cancelled", "c"])
    gate.leave()
    gate.leave()
    gate.leave()
    #expect(steps.last == "d")
    #expect(gate.underWay == 0)
  }

  @Test func waitingLookupHasItsOwnTime() async throws {
    let peer = try DNSPeer { question in
      question.name == "silent.test" ? [] : [DNSReply(records: [.address("10.0.0.1")]).bytes(to: question)]
    }
    let host = try ResolverHost(peer, limit: 1)
    async let first = host.lookUp("silent.test", .ipv4, timeout: 1.5)
    try await eventually("the first is asked") { peer.names == ["silent.test"] }
    #expect(await host.lookUp("good.test", .ipv4, timeout: 1).text == "10.0.0.1 ttl=60")
    #expect(await first == .failure(.timeout))
  }

  @Test func resolversShareAGate() async throws {
    let (silent, good) = (try DNSPeer { _ in [] }, try echo())
    let loop = try EventLoop(name: "test")
    let log = Log()
    let servers = try [silent, good].map { try ResolverServers(parsing: [$0.server]) }
    let bound = LoopBound<[Resolver]>([], on: loop)
    loop.sync {
      let gate = QuestionGate(limit: 1)
      bound.value = servers.map { Resolver(loop: loop, servers: $0, gate: gate, resolvConf: "/dev/null") }
      bound.value[0].lookUp(.addresses(of: "a.test"), timeout: 60) { _ in log.append("told") }
      bound.value[1].lookUp(.addresses(of: "b.test", family: .ipv4), timeout: 5) { log.append($0.text) }
    }
    try await eventually("the first is asked") { silent.names == ["a.test"] }
    #expect(good.questions.isEmpty)
    // The end of one resolver gives its places to the other.
    loop.sync { bound.value[0].close() }
    try await eventually("the second has ended") { !log.all.isEmpty }
    #expect(log.all == ["10.0.0.1 ttl=60"])
    loop.sync { bound.value[1].close() }
  }

  @Test func closeEndsAllWithoutTelling() async throws {
    let peer = try DNSPeer { _ in [] }
    let host = try ResolverHost(peer, limit: 3)
    let log = Log()
    host.sync { resolver in
      for number in 0..<8 {
        resolver.lookUp(.addresses(of: "n\(number).test"), timeout: 0.05) { _ in log.append("told") }
      }
      resolver.lookUp(.addresses(of: "localhost"), timeout: 0.05) { _ in log.append("told") }
      resolver.lookUp(.addresses(of: "127.0.0.1"), timeout: 0.05) { _ in log.append("told") }
      resolver.close()
      resolver.close()
      resolver.lookUp(.addresses(of: "late.test"), timeout: 0.05) { _ in log.append("told") }
    }
    // Another lookup of the same length shows that the time is over.
    #expect(try await ResolverHost(peer).lookUp("other.test", timeout: 0.2) == .failure(.timeout))
    host.sync { _ in }
    #expect(log.all.isEmpty)
    #expect(host.pending == 0)
  }

  @Test func closeWithinACallback() async throws {
    let peer = try echo()
    let host = try ResolverHost(peer)
    let log = Log()
    host.sync { resolver in
      for number in 0..<4 {
        resolver.lookUp(.addresses(of: "n\(number).test", family: .ipv4), timeout: 5) { _ in
          log.append("told")
          resolver.close()
        }
      }
    }
    try await eventually("one is told") { !log.all.isEmpty }
    host.sync { _ in }
    #expect(log.all == ["told"])
  }

  /// Two lookups end in one turn on a channel that a reload has retired.
  @Test func closeWithinACallbackAfterAReload() throws {
    let loop = try EventLoop(name: "test")
    let log = Log()
    loop.sync {
      let gate = QuestionGate(limit: 2)
      let resolver = Resolver(loop: loop, gate: gate, resolvConf: "/dev/null")
      for _ in 0..<2 {
        resolver.lookUp(.addresses(of: "localhost"), timeout: 5) { _ in
          log.append("told")
          resolver.close()
        }
      }
      #expect(gate.underWay == 2)
      resolver.reload()
      loop.atEndOfTurn { #expect(gate.underWay == 0) }
    }
    loop.sync {}
    #expect(log.all == ["told"])
  }

  @Test func cancelledLookupsTellNothing() async throws {
    let peer = try echo()
    let host = try ResolverHost(peer, limit: 1)
    let log = Log()
    host.sync { resolver in
      let kept = LoopBound<[PendingLookup]>(confining: [], on: resolver.loop)
      for number in 0..<4 {
        let lookup = resolver.lookUp(.addresses(of: "n\(number).test", family: .ipv4), timeout: 5) { _ in
          log.append("\(number)")
          // Those that wait, and this one itself.
          for lookup in kept.value.dropLast() { lookup.cancel() }
        }
        kept.value.append(lookup)
      }
    }
    try await eventually("the last is told") { log.all.contains("3") }
    #expect(log.all == ["0", "3"])
    // The place of the first was taken by the second before that was cancelled.
    #expect(peer.names == ["n0.test", "n1.test", "n3.test"])
  }

  @Test func lookupWithinACallback() async throws {
    let host = try ResolverHost(echo(), limit: 1)
    let log = Log()
    host.sync { resolver in
      @Sendable func next(_ number: Int) {
        host.sync { resolver in
          resolver.lookUp(.addresses(of: "n\(number).test", family: .ipv4), timeout: 5) { outcome in
            log.append("\(number) \(outcome.text)")
            if number < 5 { next(number + 1) }
          }
        }
      }
      next(1)
    }
    try await eventually("all are told") { log.all.count == 5 }
    #expect(log.all == (1...5).map { "\($0) 10.0.0.1 ttl=60" })
  }

  @Test func answerAfterTheTimeoutIsDropped() async throws {
    let gate = Gate()
    let peer = try DNSPeer { question in
      gate.wait()
      return [DNSReply(records: [.address("10.0.0.1")]).bytes(to: question)]
    }
    let host = try ResolverHost(peer)
    let log = Log()
    host.sync { resolver in
      resolver.lookUp(.addresses(of: "late.test", family: .ipv4), timeout: 0.1) { log.append($0.text) }
    }
    try await eventually("it has ended") { !log.all.isEmpty }
    gate.open()
    #expect(await host.lookUp("next.test", .ipv4).text == "10.0.0.1 ttl=60")
    #expect(log.all == ["timeout"])
  }

  @Test func socketsAreClosedWhenNothingIsAsked() async throws {
    let host = try ResolverHost(echo())
    _ = await host.lookUp("first.test")
    let before = try ThisProcess.openDescriptors
    for number in 0..<50 { _ = await host.lookUp("n\(number).test") }
    // Tests beside this one open and close theirs.
    try await eventually("no descriptor is left") { try ThisProcess.openDescriptors <= before + 20 }
  }
}
