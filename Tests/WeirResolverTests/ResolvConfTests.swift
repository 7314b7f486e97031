import Glibc
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirResolver

/// A resolv.conf of a test's own.
final class ResolvConf: Sendable {
  private let directory: TemporaryDirectory
  let path: String

  init(_ text: String) throws {
    directory = try TemporaryDirectory()
    path = try directory.file("resolv.conf", text)
  }

  /// Replaces the file by another one.
  func replace(_ text: String) throws {
    let other = try directory.file("other", text)
    try FileSystem.rename(other, to: path, replacing: true)
  }

  /// Writes other content into the same file.
  func rewrite(_ text: String) throws {
    try directory.file("resolv.conf", text)
  }
}

/// The search list shows which resolv.conf a lookup goes by. A peer's port can't stand there.
@Suite struct ResolvConfTests {
  private func peer() throws -> DNSPeer {
    try DNSPeer(zone: [
      "name.one.test": [.address("10.0.0.1")], "name.two.test": [.address("10.0.0.2")],
      "name.dot": [.address("10.0.0.3")],
    ])
  }

  @Test func searchListIsForNamesOfFewDots() async throws {
    let file = try ResolvConf("search no.test one.test\n")
    let host = try ResolverHost(peer(), resolvConf: file.path)
    #expect(await host.lookUp("name").text == "10.0.0.1 ttl=60")
    #expect(await host.lookUp("name.").text == "no_such_name")
    #expect(await host.lookUp("name.dot.").text == "10.0.0.3 ttl=60")
  }

  /// Each domain of the list brings c-ares' tries anew, but the timeout is for all of them.
  @Test func timeoutIsForTheWholeSearchList() async throws {
    let asked = Log()
    let peer = try DNSPeer { question in
      let isFirst = !asked.all.contains(question.name)
      asked.append(question.name)
      return isFirst ? [] : [DNSReply(code: 3).bytes(to: question)]
    }
    let file = try ResolvConf("search a.test b.test c.test d.test e.test f.test\n")
    let host = try ResolverHost(peer, resolvConf: file.path)
    #expect(await host.lookUp("name", .ipv4, timeout: 1) == .failure(.timeout))
  }

  @Test func reloadReadsTheFileAgain() async throws {
    let file = try ResolvConf("search one.test\n")
    let host = try ResolverHost(peer(), resolvConf: file.path)
    #expect(await host.lookUp("name").text == "10.0.0.1 ttl=60")
    try file.rewrite("search two.test\n")
    host.sync { $0.reload() }
    #expect(await host.lookUp("name").text == "10.0.0.2 ttl=60")
  }

  @Test(arguments: [true, false])
  func changedFileIsNoticed(_ isReplaced: Bool) async throws {
    let file = try ResolvConf("search one.test\n")
    let host = try ResolverHost(peer(), resolvConf: file.path)
    #expect(await host.lookUp("name").text == "10.0.0.1 ttl=60")
    if isReplaced { try file.replace("search two.test\n") } else { try file.rewrite("search two.test\n") }
    try await eventually("the changed file counts") { await host.lookUp("name").text == "10.0.0.2 ttl=60" }
  }

  @Test func lookupsUnderWayEndOnTheOldChannel() async throws {
    let gate = Gate()
    let peer = try DNSPeer { question in
      gate.wait()
      return [DNSReply(records: [.address("10.0.0.9")]).bytes(to: question)]
    }
    let host = try ResolverHost(peer)
    async let outcome = host.lookUp("slow.test", .ipv4)
    try await eventually("the question is sent") { host.hasPending }
    host.sync { $0.reload() }
    gate.open()
    #expect(await outcome.text == "10.0.0.9 ttl=60")
    #expect(await host.lookUp("next.test", .ipv4).text == "10.0.0.9 ttl=60")
  }

  @Test(arguments: ["", "search\n", "nameserver\nnameserver nonsense\noptions ndots:x timeout:-1\nsortlist 1.2.3.4/\n"])
  func strangeFiles(_ text: String) async throws {
    let file = try ResolvConf(text)
    let host = try ResolverHost(peer(), resolvConf: file.path)
    #expect(await host.lookUp("name.dot").text == "10.0.0.3 ttl=60")
  }

  /// The time of one try is shared by all servers, however many there are.
  @Test(arguments: [0, 1, 2, 4])
  func serversOfTheFile(_ count: Int) throws {
    let file = try ResolvConf((0..<count).map { "nameserver 192.0.2.\($0 + 1)\n" }.joined())
    let loop = try EventLoop(name: "test")
    loop.sync {
      let settings = AresSettings(servers: .system, resolvConf: file.path, timeout: 2)
      #expect(throws: Never.self) {
        let channel = try AresChannel(loop: loop, settings: settings)
        // Without any the machine itself is asked.
        #expect(channel.serverCount == max(1, count))
        channel.close()
      }
    }
  }

  @Test func missingFile() async throws {
    let host = try ResolverHost(peer(), resolvConf: "/nonexistent/resolv.conf")
    #expect(await host.lookUp("name.dot").text == "10.0.0.3 ttl=60")
  }
}
