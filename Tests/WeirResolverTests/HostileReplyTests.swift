import Synchronization
import Testing
import WeirIO
import WeirResolver
import WeirTestSupport

/// Bytes of a hostile name server. No reply crashes a lookup or keeps it from its end.
@Suite(.slow) struct HostileReplyTests {
  private static let replies = 2000

  /// Replies whose bytes are changed, cut, repeated or drawn at random; the id and the question mostly stay, so that the
  /// reply is read.
  @Test(.timeLimit(.minutes(5)), arguments: [1, 2])
  func seededReplies(_ seed: UInt64) async throws {
    let random = Mutex(SeededRandom(seed: seed))
    let sent = Atomic(0)
    let peer = try DNSPeer { question in
      sent.wrappingAdd(1, ordering: .relaxed)
      return [random.withLock { Self.reply(to: question, &$0) }]
    }
    let host = try ResolverHost(peer)
    var outcomes: [String: Int] = [:]
    var number = 0
    // On a busy machine all lookups of a round may end by their timeout, before an answer is read.
    while sent.load(ordering: .relaxed) < Self.replies / 2 || outcomes.count < 3 {
      // Most lookups end by their timeout.
      let labels = await withTaskGroup(of: String.self) { group in
        for _ in 0..<64 {
          number += 1
          let question: Question =
            number % 3 == 0
            ? .services(of: "_http._tcp.n\(number).test") : .addresses(of: "n\(number).test")
          group.addTask {
            switch await host.lookUp(question, timeout: 0.1) {
            case .success: "answer"
            case .failure(let problem): problem.label
            }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      for label in labels { outcomes[label, default: 0] += 1 }
    }
    // The channel still works.
    #expect(host.pending == 0)
    let good = try DNSPeer(zone: ["name.test": [.address("10.0.0.1")]])
    #expect(try await ResolverHost(good).lookUp("name.test").text == "10.0.0.1 ttl=60")
  }

  private static func reply(to question: DNSQuestion, _ random: inout SeededRandom) -> [UInt8] {
    var bytes = template(question, &random).bytes(to: question)
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return (0..<Int.random(in: 0..<700, using: &random)).map { _ in .random(in: 0...255, using: &random) }
    case 1: return Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
    case 2:
      // Counts that promise more than there is.
      for at in 6..<12 { bytes[at] = .random(in: 0...255, using: &random) }
    case 3:
      // Compression pointers anywhere behind the question.
      for _ in 0..<4 {
        let start = 12 + question.section.count
        guard start + 1 < bytes.count else { break }
        let at = Int.random(in: start..<(bytes.count - 1), using: &random)
        bytes[at] = 0xC0 | .random(in: 0...1, using: &random)
        bytes[at + 1] = .random(in: 0...255, using: &random)
      }
    case 4: bytes += (0..<Int.random(in: 0..<80, using: &random)).map { _ in .random(in: 0...255, using: &random) }
    case 5: break
    default:
      let start = Bool.random(using: &random) ? 2 : 12 + question.section.count
      for _ in 0..<Int.random(in: 1...6, using: &random) where start < bytes.count {
        bytes[Int.random(in: start..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
      }
    }
    return bytes
  }

  private static func template(_ question: DNSQuestion, _ random: inout SeededRandom) -> DNSReply {
    var records: [DNSReply.Record] = []
    for _ in 0..<Int.random(in: 0..<6, using: &random) {
      switch Int.random(in: 0..<5, using: &random) {
      case 0: records.append(.address("10.0.0.\(UInt8.random(in: 0...255, using: &random))"))
      case 1: records.append(.address("2001:db8::\(UInt8.random(in: 0...99, using: &random))"))
      case 2: records.append(.alias(to: "alias.test"))
      case 3: records.append(.service("t.test", port: .random(in: 0...UInt16.max, using: &random)))
      default:
        let data = (0..<Int.random(in: 0..<30, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        records.append(
          DNSReply.Record(
            owner: DNSReply.Record.questionName, kind: [1, 5, 28, 33].randomElement(using: &random) ?? 1, ttl: 1,
            data: data))
      }
    }
    return DNSReply(records: records, isTruncated: Int.random(in: 0..<20, using: &random) == 0)
  }

  /// A reply of 64 KiB with thousands of ports of one target that has thousands of addresses.
  @Test func hugeRepliesAreBounded() async throws {
    let services = (0..<2500).map { DNSReply.Record.service("t.test", port: UInt16(1 + $0)) }
    let addresses = (0..<4000).map { DNSReply.Record.address("10.\($0 >> 8).\($0 & 255).1") }
    let peer = try DNSPeer { question in
      guard question.isOverTCP else { return [DNSReply(isTruncated: true).bytes(to: question)] }
      return [DNSReply(records: question.kind == .service ? services : addresses).bytes(to: question)]
    }
    let host = try ResolverHost(peer)
    let start = MonotonicTime.now
    let answer = try await host.lookUp(.services(of: "_http._tcp.test", family: .ipv4), timeout: 20).get()
    #expect(answer.entries.count == Answer.maximumEntries)
    #expect(answer.isCut)
    #expect(answer.entries.first?.port == 1)
    #expect(MonotonicTime.now.seconds(since: start) < 10)
  }

  /// A server that answers one question with thousands of datagrams, none of which is an answer.
  @Test func floodLeavesTheLoopItsTurns() async throws {
    let peer = try DNSPeer { question in
      var reply = DNSReply(records: [.address("10.0.0.1")])
      let answer = reply.bytes(to: question)
      reply.id = question.id ^ 1
      return Array(repeating: reply.bytes(to: question), count: 3000) + [answer]
    }
    let outcome = try await ResolverHost(peer).lookUp("name.test", .ipv4, timeout: 5)
    // The kernel may drop the answer with the rest of the flood.
    #expect(["10.0.0.1 ttl=60", "timeout"].contains(outcome.text))
  }

  /// A connection that ends in the middle of a message, and messages whose length is wrong.
  @Test(arguments: [0, 1, 2, 3])
  func brokenConnections(_ kind: Int) async throws {
    let peer = try DNSPeer { question in
      let reply = DNSReply(records: [.address("10.0.0.1")])
      guard question.isOverTCP else { return [DNSReply(isTruncated: true).bytes(to: question)] }
      let bytes = reply.bytes(to: question)
      switch kind {
      case 0: return [[]]
      case 1: return [Array(bytes.prefix(5))]
      case 2: return [[], bytes]
      default: return [Array(repeating: 0, count: 65535), bytes]
      }
    }
    let outcome = try await ResolverHost(peer).lookUp("name.test", .ipv4, timeout: 0.5)
    #expect(["10.0.0.1 ttl=60", "timeout", "other"].contains(outcome.text))
    if kind == 3 { #expect(outcome.text == "10.0.0.1 ttl=60") }
  }
}
