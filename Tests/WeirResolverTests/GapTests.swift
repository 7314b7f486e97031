import Synchronization
import Testing
import WeirIO
import WeirResolver
import WeirTestSupport

/// Addresses of one version of IP, of which the question about the other may have failed.
@Suite struct GapTests {
  /// The replies of a version to its first question and to all later ones; nil for silence.
  struct Replies: Sendable {
    let first: DNSReply?
    let later: DNSReply?

    init(_ first: DNSReply?, _ later: DNSReply?) {
      self.first = first
      self.later = later
    }

    init(_ all: DNSReply?) {
      self.init(all, all)
    }
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let v4: Replies
    let v6: Replies
    let outcome: String
  }

  private static let v4 = DNSReply(records: [.address("10.0.0.1", ttl: 20)])
  private static let v6 = DNSReply(records: [.address("2001:db8::1", ttl: 30)])
  private static let failure = DNSReply(code: 2)

  static let cases: [Case] = [
    Case(testDescription: "both", v4: Replies(v4), v6: Replies(v6), outcome: "10.0.0.1 2001:db8::1 ttl=20"),
    Case(testDescription: "IPv4 alone", v4: Replies(v4), v6: Replies(DNSReply()), outcome: "10.0.0.1 ttl=20"),
    Case(testDescription: "IPv6 alone", v4: Replies(DNSReply()), v6: Replies(v6), outcome: "2001:db8::1 ttl=30"),
    Case(testDescription: "NXDOMAIN", v4: Replies(v4), v6: Replies(DNSReply(code: 3)), outcome: "10.0.0.1 ttl=20"),
    Case(testDescription: "IPv6 fails", v4: Replies(v4), v6: Replies(failure), outcome: "10.0.0.1 ttl=20 -ipv6"),
    Case(testDescription: "IPv4 fails", v4: Replies(failure), v6: Replies(v6), outcome: "2001:db8::1 ttl=30 -ipv4"),
    Case(
      testDescription: "IPv4 is there at last", v4: Replies(DNSReply(), v4), v6: Replies(v6),
      outcome: "10.0.0.1 2001:db8::1 ttl=20"),
    Case(testDescription: "IPv6 is lost", v4: Replies(v4), v6: Replies(nil), outcome: "10.0.0.1 ttl=20 -ipv6"),
    Case(
      testDescription: "the second question is lost", v4: Replies(v4), v6: Replies(DNSReply(), nil),
      outcome: "10.0.0.1 ttl=20 -ipv6"),
  ]

  private static func peer(_ v4: Replies, _ v6: Replies) throws -> DNSPeer {
    let asked = Mutex<Set<DNSQuestion.Kind>>([])
    return try DNSPeer { question in
      let replies = question.kind == .ipv4 ? v4 : v6
      let isFirst = asked.withLock { $0.insert(question.kind).inserted }
      return (isFirst ? replies.first : replies.later).map { [$0.bytes(to: question)] } ?? []
    }
  }

  @Test(arguments: cases)
  func outcome(_ row: Case) async throws {
    let host = try ResolverHost(Self.peer(row.v4, row.v6))
    let isLost = row.testDescription.contains("lost")
    let outcome = await host.lookUp(.addresses(of: "name.test"), timeout: isLost ? 1 : 5, seeksGaps: true)
    #expect(outcome.text == row.outcome)
  }

  /// The missing version is asked for once more, unless both are there, or most of the time has gone.
  @Test func questions() async throws {
    for (v6, timeout, count) in [(Self.v6, 5.0, 1), (DNSReply(), 5, 2), (nil, 1, 2)] {
      let peer = try Self.peer(Replies(Self.v4), Replies(v6))
      _ = try await ResolverHost(peer).lookUp(.addresses(of: "name.test"), timeout: timeout, seeksGaps: true).get()
      #expect(peer.questions.filter { $0.kind == .ipv6 }.count == count)
    }
  }

  /// Another host of the search list is not taken for the missing version.
  @Test func theSearchGoesNoFurther() async throws {
    let peer = try DNSPeer(zone: [
      "name.one.test": [.address("10.0.0.1")], "name.two.test": [.address("2001:db8::2")],
    ])
    let file = try ResolvConf("search no.test one.test two.test\n")
    let host = try ResolverHost(peer, resolvConf: file.path)
    #expect(await host.lookUp(.addresses(of: "name"), seeksGaps: true).text == "10.0.0.1 ttl=60")
    #expect(peer.names == ["name.no.test", "name.one.test"])
  }

  @Test(arguments: ["localhost", "127.0.0.1", "::1"])
  func namesThatAreNotAsked(_ name: String) async throws {
    let peer = try DNSPeer { _ in [] }
    let answer = try await ResolverHost(peer).lookUp(.addresses(of: name), seeksGaps: true).get()
    #expect(answer.gaps.isEmpty)
    #expect(peer.questions.isEmpty)
  }

  @Test func closeDuringTheSecondQuestion() async throws {
    let peer = try Self.peer(Replies(Self.v4), Replies(DNSReply(), nil))
    let host = try ResolverHost(peer)
    let log = Log()
    host.sync { resolver in
      resolver.lookUp(.addresses(of: "name.test"), timeout: 60, seeksGaps: true) { _ in log.append("told") }
    }
    try await eventually("it is asked again") { peer.questions.count >= 3 }
    host.sync { $0.close() }
    host.sync { _ in }
    #expect(log.all.isEmpty)
    #expect(host.pending == 0)
  }
}
