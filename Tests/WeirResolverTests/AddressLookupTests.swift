import Testing
import WeirIO
import WeirResolver
import WeirTestSupport

/// Lookups of addresses, against a name server that follows a script.
@Suite(.slow) struct AddressLookupTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var family = Question.Family.any
    let outcome: String
    let script: DNSPeer.Script
  }

  /// Replies with the records that fit the question.
  private static func records(_ records: DNSReply.Record...) -> DNSPeer.Script {
    { question in
      let fitting = records.filter { $0.kind == question.kind.rawValue || $0.kind == 5 }
      return [DNSReply(records: fitting).bytes(to: question)]
    }
  }

  private static let hundred = (1...100).map { DNSReply.Record.address("10.0.0.\($0)", ttl: UInt32(100 + $0)) }

  static let cases: [Case] = [
    Case(testDescription: "one address", outcome: "10.0.0.7 ttl=60", script: records(.address("10.0.0.7"))),
    Case(
      testDescription: "both versions, least TTL", outcome: "10.0.0.7 2001:db8::7 ttl=20",
      script: records(.address("2001:db8::7", ttl: 20), .address("10.0.0.7", ttl: 30))),
    Case(
      testDescription: "IPv4 alone", family: .ipv4, outcome: "10.0.0.7 ttl=30",
      script: records(.address("2001:db8::7", ttl: 20), .address("10.0.0.7", ttl: 30))),
    Case(
      testDescription: "IPv6 alone", family: .ipv6, outcome: "2001:db8::7 ttl=20",
      script: records(.address("2001:db8::7", ttl: 20), .address("10.0.0.7", ttl: 30))),
    Case(
      testDescription: "duplicates and order", outcome: "10.0.0.1 10.0.0.2 ttl=60",
      script: records(.address("10.0.0.2"), .address("10.0.0.1"), .address("10.0.0.2"))),
    Case(
      testDescription: "mapped IPv4 address", outcome: "10.0.0.1 ttl=60",
      script: records(.address("::ffff:10.0.0.1"), .address("10.0.0.1"))),
    Case(testDescription: "TTL 0", outcome: "10.0.0.1 ttl=0", script: records(.address("10.0.0.1", ttl: 0))),
    Case(
      testDescription: "greatest TTL", outcome: "10.0.0.1 ttl=2147483647",
      script: records(.address("10.0.0.1", ttl: 0x7FFF_FFFF))),
    Case(
      testDescription: "TTL that counts as 0", outcome: "10.0.0.1 ttl=0",
      script: records(.address("10.0.0.1", ttl: 0xFFFF_FFFF))),
    Case(
      testDescription: "chain of aliases", outcome: "10.0.0.1 ttl=5",
      script: records(
        .alias(to: "b.test", ttl: 50), .alias(of: "b.test", to: "c.test", ttl: 5),
        .address("10.0.0.1", ttl: 300, owner: "c.test"))),
    Case(testDescription: "alias to nothing", outcome: "no_addresses", script: records(.alias(to: "b.test"))),
    Case(
      testDescription: "alias to itself", outcome: "no_addresses", script: records(.alias(to: "name.test"))),
    Case(testDescription: "empty", outcome: "no_addresses", script: records()),
    Case(
      testDescription: "record of another name", outcome: "no_addresses",
      script: records(.address("10.0.0.1", owner: "other.test"))),
    Case(testDescription: "NXDOMAIN", outcome: "no_such_name") { [DNSReply(code: 3).bytes(to: $0)] },
    Case(testDescription: "SERVFAIL", outcome: "server_failure") { [DNSReply(code: 2).bytes(to: $0)] },
    Case(testDescription: "REFUSED", outcome: "refused") { [DNSReply(code: 5).bytes(to: $0)] },
    Case(testDescription: "NOTIMP", outcome: "other") { [DNSReply(code: 4).bytes(to: $0)] },
    Case(testDescription: "FORMERR", outcome: "other") { [DNSReply(code: 1).bytes(to: $0)] },
    Case(testDescription: "one version fails", outcome: "10.0.0.1 ttl=60") { question in
      let isFirst = question.kind == .ipv4
      return [(isFirst ? DNSReply(records: [.address("10.0.0.1")]) : DNSReply(code: 2)).bytes(to: question)]
    },
    Case(testDescription: "hundred addresses by TCP", outcome: hundredText) { question in
      guard question.kind == .ipv4 else { return [DNSReply().bytes(to: question)] }
      guard question.isOverTCP else { return [DNSReply(isTruncated: true).bytes(to: question)] }
      return [DNSReply(records: hundred).bytes(to: question)]
    },
    Case(testDescription: "long datagram is asked for again by TCP", outcome: hundredText) { question in
      [DNSReply(records: question.kind == .ipv4 ? hundred : []).bytes(to: question)]
    },
    Case(testDescription: "noise before the answer", outcome: "10.0.0.1 ttl=60") { question in
      let answer = DNSReply(records: question.kind == .ipv4 ? [.address("10.0.0.1")] : [])
      var (otherID, otherName) = (answer, answer)
      otherID.id = question.id ^ 1
      otherName.section = DNSReply.bytes(ofName: "evil.test") + question.section.suffix(4)
      return [
        otherID.bytes(to: question), otherName.bytes(to: question), [], [0], Array(repeating: 0xFF, count: 600),
        answer.bytes(to: question),
      ]
    },
  ]

  private static let hundredText = (1...100).map { "10.0.0.\($0)" }.joined(separator: " ") + " ttl=101"

  @Test(arguments: cases)
  func outcome(_ row: Case) async throws {
    let host = try ResolverHost(DNSPeer(row.script))
    let outcome = await host.lookUp("name.test", row.family)
    #expect(outcome.text == row.outcome)
  }

  @Test(arguments: ["wrong id", "wrong name", "garbage", "short", "silence"])
  func whatIsNoAnswerEndsByTimeout(_ what: String) async throws {
    let peer = try DNSPeer { question in
      var reply = DNSReply(records: [.address("10.0.0.1")])
      switch what {
      case "wrong id": reply.id = question.id ^ 0x8001
      case "wrong name": reply.section = DNSReply.bytes(ofName: "evil.test") + question.section.suffix(4)
      case "garbage": return [question.section, Array(repeating: 0xA5, count: 200)]
      case "short": return [Array(reply.bytes(to: question).prefix(11))]
      default: return []
      }
      return [reply.bytes(to: question)]
    }
    let start = MonotonicTime.now
    #expect(try await ResolverHost(peer).lookUp("name.test", .ipv4, timeout: 1) == .failure(.timeout))
    let taken = MonotonicTime.now.seconds(since: start)
    #expect(taken > 0.85 && taken < 5)
    // Two tries, as the time allows.
    #expect(peer.questions.count == 2)
  }

  @Test func lostDatagramIsSentAgain() async throws {
    let log = Log()
    let peer = try DNSPeer { question in
      log.append("asked")
      return log.all.count == 1 ? [] : [DNSReply(records: [.address("10.0.0.1")]).bytes(to: question)]
    }
    #expect(try await ResolverHost(peer).lookUp("name.test", .ipv4, timeout: 2).text == "10.0.0.1 ttl=60")
  }

  /// A firewall may drop the questions about IPv6 alone.
  @Test func answerAboutOneVersionIsEnoughIfTheOtherIsLost() async throws {
    let peer = try DNSPeer { question in
      question.kind == .ipv4 ? [DNSReply(records: [.address("10.0.0.1")]).bytes(to: question)] : []
    }
    #expect(try await ResolverHost(peer).lookUp("name.test", timeout: 2).text == "10.0.0.1 ttl=60")
  }

  @Test func nextServerIsAskedAfterAFailure() async throws {
    let failing = try DNSPeer { [DNSReply(code: 2).bytes(to: $0)] }
    let silent = try DNSPeer { _ in [] }
    let good = try DNSPeer(zone: ["name.test": [.address("10.0.0.1")]])
    #expect(try await ResolverHost(failing, silent, good).lookUp("name.test", timeout: 4).text == "10.0.0.1 ttl=60")
    #expect(failing.names == ["name.test"])
    #expect(silent.names == ["name.test"])
  }

  @Test func closedPortIsAProblemAtOnce() async throws {
    let servers = try ResolverServers(parsing: ["127.0.0.1:1"])
    // Of two questions at once, one's datagram can take the error that the other's waits for.
    let outcome = try await ResolverHost(servers: servers).lookUp("name.test", .ipv4, timeout: 5)
    #expect(outcome == .failure(.other("no name server can be reached")))
  }

  @Test func truncatedAnswerWithoutTCPIsAProblem() async throws {
    let peer = try DNSPeer { $0.isOverTCP ? [] : [DNSReply(isTruncated: true).bytes(to: $0)] }
    #expect(try await ResolverHost(peer).lookUp("name.test", .ipv4, timeout: 0.3) == .failure(.timeout))
  }

  @Test(arguments: [
    ("127.0.0.1", Question.Family.any, "127.0.0.1"), ("127.1", .ipv4, "127.0.0.1"), ("::1", .ipv6, "::1"),
    ("127.0.0.1", .ipv6, "no_addresses"), ("::1", .ipv4, "no_addresses"), ("", .any, "other"),
    ("a\u{0}b", .any, "other"), ("a..b", .any, "other"), (String(repeating: "a", count: 64) + ".test", .any, "other"),
    (String(repeating: "a.", count: 200), .any, "other"), ("secret.onion", .any, "no_such_name"),
  ])
  func namesThatAreNotAsked(_ name: String, _ family: Question.Family, _ outcome: String) async throws {
    let peer = try DNSPeer { _ in [] }
    #expect(try await ResolverHost(peer).lookUp(name, family).text == outcome)
    #expect(peer.questions.isEmpty)
  }

  @Test func localhostIsOfTheHostsFileAndHasNoTTL() async throws {
    let peer = try DNSPeer { _ in [] }
    let answer = try await ResolverHost(peer).lookUp("localhost", .ipv4).get()
    #expect(answer.entries.map(\.address).contains(.v4(0x7F00_0001)))
    #expect(answer.ttl == nil)
    #expect(peer.questions.isEmpty)
  }
}
