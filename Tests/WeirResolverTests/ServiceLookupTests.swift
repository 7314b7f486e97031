import Synchronization
import Testing
import WeirIO
import WeirResolver

/// Lookups of services, against a name server that follows a script.
@Suite struct ServiceLookupTests {
  private static let name = "_http._tcp.test"
  private static let targets: [String: [DNSReply.Record]] = [
    "a.test": [.address("10.0.0.1"), .address("2001:db8::1")], "b.test": [.address("10.0.0.2")],
    "none.test": [],
  ]

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var family = Question.Family.any
    let records: [DNSReply.Record]
    let outcome: String
  }

  static let cases: [Case] = [
    Case(
      testDescription: "one target", records: [.service("a.test", port: 8080, priority: 10, weight: 5)],
      outcome: "10.0.0.1:8080/0/5/a.test [2001:db8::1]:8080/0/5/a.test"),
    Case(
      testDescription: "family of the targets", family: .ipv6, records: [.service("a.test", port: 80)],
      outcome: "[2001:db8::1]:80/0/1/a.test"),
    Case(
      testDescription: "ranks, weight 0", family: .ipv4,
      records: [
        .service("b.test", port: 80, priority: 20, weight: 0), .service("A.Test", port: 80, priority: 7, weight: 65535),
      ],
      outcome: "10.0.0.1:80/0/65535/a.test 10.0.0.2:80/1/1/b.test"),
    Case(
      testDescription: "two ports of one target", family: .ipv4,
      records: [.service("a.test", port: 81, weight: 3), .service("a.test", port: 80), .service("a.test", port: 81)],
      outcome: "10.0.0.1:80/0/1/a.test 10.0.0.1:81/0/3/a.test"),
    Case(testDescription: "target .", records: [.service(".", port: 80)], outcome: "no_addresses"),
    Case(
      testDescription: "target . among others", family: .ipv4,
      records: [.service(".", port: 80), .service("b.test", port: 80, priority: 3)],
      outcome: "10.0.0.2:80/0/1/b.test"),
    Case(
      testDescription: "target that is an address", records: [.service("127.0.0.9", port: 80)],
      outcome: "127.0.0.9:80/0/1/127.0.0.9"),
    Case(
      testDescription: "targets without addresses are left out", family: .ipv4,
      records: [.service("b.test", port: 80), .service("none.test", port: 80), .service("gone.test", port: 80)],
      outcome: "10.0.0.2:80/0/1/b.test"),
    Case(
      testDescription: "all targets without addresses",
      records: [.service("none.test", port: 80), .service("gone.test", port: 80)], outcome: "no_addresses"),
    Case(
      testDescription: "a target that fails is named", family: .ipv4,
      records: [.service("b.test", port: 80), .service("broken.test", port: 80), .service("Broken.test", port: 81)],
      outcome: "10.0.0.2:80/0/1/b.test -broken.test:80/ipv4 -broken.test:81/ipv4"),
    Case(
      testDescription: "all targets fail", records: [.service("broken.test", port: 80)], outcome: "server_failure"),
    Case(
      testDescription: "a silent target is named", family: .ipv4,
      records: [.service("b.test", port: 80), .service("silent.test", port: 80)],
      outcome: "10.0.0.2:80/0/1/b.test -silent.test:80/ipv4"),
    Case(testDescription: "silent targets alone", records: [.service("silent.test", port: 80)], outcome: "timeout"),
    Case(testDescription: "empty", records: [], outcome: "no_addresses"),
    Case(testDescription: "alias alone", records: [.alias(to: "x.test")], outcome: "no_addresses"),
    Case(testDescription: "address alone", records: [.address("10.0.0.1")], outcome: "no_addresses"),
    Case(
      testDescription: "record that is too short",
      records: [DNSReply.Record(owner: [0xC0, 0x0C], kind: 33, ttl: 1, data: [0, 0, 0])], outcome: "other"),
  ]

  private static func peer(_ records: [DNSReply.Record]) throws -> DNSPeer {
    try DNSPeer { question in
      if question.kind == .service { return [DNSReply(records: records).bytes(to: question)] }
      if question.name == "broken.test" { return [DNSReply(code: 2).bytes(to: question)] }
      if question.name == "silent.test" { return [] }
      guard let records = targets[question.name] else { return [DNSReply(code: 3).bytes(to: question)] }
      return [DNSReply(records: records.filter { $0.kind == question.kind.rawValue }).bytes(to: question)]
    }
  }

  @Test(arguments: cases)
  func outcome(_ row: Case) async throws {
    let host = try ResolverHost(Self.peer(row.records))
    let isSilent = row.testDescription.contains("silent")
    let outcome = await host.lookUp(.services(of: Self.name, family: row.family), timeout: isSilent ? 1 : 5)
    #expect(outcome.text == row.outcome)
  }

  /// The name servers fail for IPv4, and then say that there is no IPv6. The target may still have its addresses.
  @Test func failureBeforeNoDataIsAGap() async throws {
    let script = FailureBeforeNoData()
    let peer = try DNSPeer { question in
      if question.kind == .service {
        let records: [DNSReply.Record] = [.service("b.test", port: 80), .service("broken.test", port: 80)]
        return [DNSReply(records: records).bytes(to: question)]
      }
      if question.name == "broken.test" { return script.replies(to: question) }
      let records: [DNSReply.Record] = question.kind == .ipv4 ? [.address("10.0.0.2")] : []
      return [DNSReply(records: records).bytes(to: question)]
    }
    let outcome = try await ResolverHost(peer).lookUp(.services(of: Self.name))
    #expect(outcome.text == "10.0.0.2:80/0/1/b.test -broken.test:80/ipv4")
  }

  @Test func aTargetLacksTheVersionThatFails() async throws {
    let peer = try DNSPeer { question in
      switch question.kind {
      case .service: [DNSReply(records: [.service("a.test", port: 80)]).bytes(to: question)]
      case .ipv4: [DNSReply(code: 2).bytes(to: question)]
      case .ipv6, .other: [DNSReply(records: [.address("2001:db8::1")]).bytes(to: question)]
      }
    }
    let answer = try await ResolverHost(peer).lookUp(.services(of: Self.name)).get()
    #expect(answer.text == "[2001:db8::1]:80/0/1/a.test -a.test:80/ipv4")
    #expect(answer.unresolvedTargets == 0)
  }

  @Test(arguments: [(UInt8(3), "no_such_name"), (2, "server_failure"), (5, "refused"), (1, "other")])
  func failures(_ code: UInt8, _ label: String) async throws {
    let peer = try DNSPeer { [DNSReply(code: code).bytes(to: $0)] }
    #expect(try await ResolverHost(peer).lookUp(.services(of: Self.name)).text == label)
  }

  /// Each of the targets is asked for once, 32 of them at a time.
  @Test func manyTargets() async throws {
    let count = 300
    let records = (0..<count).map { DNSReply.Record.service("t\($0).test", port: UInt16(1000 + $0)) }
    let peer = try DNSPeer { question in
      guard question.kind != .service else {
        return [
          DNSReply(records: question.isOverTCP ? records : [], isTruncated: !question.isOverTCP).bytes(to: question)
        ]
      }
      return [DNSReply(records: [.address("10.0.0.1")]).bytes(to: question)]
    }
    let answer = try await ResolverHost(peer).lookUp(.services(of: Self.name, family: .ipv4), timeout: 10).get()
    #expect(answer.entries.count == count)
    #expect(answer.ttl == nil)
    #expect(peer.questions.count == count + 2)
  }

  @Test func searchListDoesNotApply() async throws {
    let configuration = try ResolvConf("search corp.test\noptions ndots:9\n")
    let peer = try Self.peer([.service("a.test", port: 80)])
    let host = try ResolverHost(peer, resolvConf: configuration.path)
    #expect(try await host.lookUp(.services(of: Self.name)).get().entries.count == 2)
    #expect(peer.names == [Self.name, "a.test"])
  }
}

/// Holds the first answer about IPv6, which has no address, until both tries of the question about IPv4 have failed.
private final class FailureBeforeNoData: Sendable {
  private struct State {
    var held: [UInt8]?
    var failures = 0
  }

  private let state = Mutex(State())

  func replies(to question: DNSQuestion) -> [[UInt8]] {
    state.withLock { state in
      guard question.kind == .ipv4 else {
        let reply = DNSReply().bytes(to: question)
        guard state.held == nil, state.failures < 2 else { return [reply] }
        state.held = reply
        return []
      }
      state.failures += 1
      let failure = DNSReply(code: 2).bytes(to: question)
      guard state.failures == 2, let held = state.held else { return [failure] }
      return [failure, held]
    }
  }
}
