import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway
@testable import WeirTransport

/// Lookups and looks at files, without a gateway.
@Suite("Discovery of endpoints", .slow, .timeLimit(.minutes(5))) struct EndpointDiscoveryTests {
  private func group(_ hosts: String...) -> String {
    "[{\"targets\": [\(hosts.map { "\"\($0):80\"" }.joined(separator: ", "))]}]"
  }

  private func count(_ rig: CheckRig, _ name: String) -> Int { rig.registry.all[name]?.count ?? 0 }

  private func number(_ rig: CheckRig, _ result: Discovery, of name: String) -> Int {
    rig.registry.all[name]?.discoveries.number(of: result) ?? 0
  }

  /// Returns once the loop of lookups has turned.
  private func turn(_ rig: CheckRig) async throws {
    let loop = try #require(rig.registry.loop)
    await withCheckedContinuation { done in loop.post { done.resume() } }
  }

  @Test func aFileSystemThatHangsHoldsUpNothingElse() async throws {
    let server = try HealthServer("x")
    let directory = try TemporaryDirectory()
    let held = try directory.file("held.json", group("127.0.0.1"))
    let other = try directory.file("other.json", group("127.0.0.1"))
    let files = HeldFiles()
    files.hold([held])
    let rig = try CheckRig(
      """
      [{name: held, file: \(held)}, {name: other, file: \(other)},
       {name: name, endpoints: ["localhost:\(server.port)"], resolve: {maximum: 1s}, check: {interval: 0.5s}}]
      """, mark: { files.mark($0) })
    #expect(await soon { count(rig, "other") == 1 && count(rig, "name") >= 1 })
    #expect(await soon { files.waitingCount == 1 })
    try await turn(rig)
    _ = try directory.file("other.json", group("127.0.0.1", "127.0.0.2"))
    #expect(await soon { count(rig, "other") == 2 })
    let (checks, lookups) = (rig.count(.good, of: "name"), number(rig, .same, of: "name"))
    #expect(await soon { rig.count(.good, of: "name") > checks && number(rig, .same, of: "name") > lookups })
    // There is one look at a time, and one that has no end is a failure.
    #expect(files.waitingCount == 1 && count(rig, "held") == 0)
    #expect(await soon { number(rig, .failed, of: "held") > 0 })
    #expect(rig.registry.all["held"]?.isSettled == true)
    let problem = "\(held): the file system does not answer"
    #expect(await soon { rig.log.contains { $0.contains("upstream=held") && $0.contains(problem) } })
    files.release()
    #expect(await soon { count(rig, "held") == 1 })
    #expect(rig.registry.all["held"]?.discoveries.isFailing == false)
    #expect(files.waitingCount == 0)
  }

  /// A file that has not changed is read again, so that the failure is over.
  @Test func aFileSystemThatHungIsForgotten() async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.file("u.json", group("127.0.0.1"))
    let files = HeldFiles()
    let rig = try CheckRig("[{name: u, file: \(file)}]", mark: { files.mark($0) })
    #expect(await soon { count(rig, "u") == 1 })
    files.hold([file])
    #expect(await soon { rig.registry.all["u"]?.discoveries.isFailing == true })
    #expect(count(rig, "u") == 1)
    files.release()
    #expect(await soon { rig.registry.all["u"]?.discoveries.isFailing == false })
  }

  @Test func theEndWaitsForNoFileSystem() async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.file("u.json", group("127.0.0.1"))
    let files = HeldFiles()
    files.hold([file])
    let rig = try CheckRig("[{name: u, file: \(file)}]", mark: { files.mark($0) })
    #expect(await soon { files.waitingCount == 1 })
    rig.registry.close()
    try await turn(rig)
    files.release()
    #expect(await soon { files.waitingCount == 0 })
    try await turn(rig)
    #expect(count(rig, "u") == 0)
  }

  /// The name server of one target is gone for good, while the address of another changes.
  @Test func aTargetThatFailsKeepsItsOwnEndpointsAlone() async throws {
    let directory = try TemporaryDirectory()
    let hosts = try directory.file("hosts", "127.0.0.2 a.test\n")
    let other = try await DnsmasqServer(["--host-record=b.other.test,127.0.0.9,60"])
    let forwarding = "--server=/other.test/\(other.server.replacingOccurrences(of: ":", with: "#"))"
    let dnsmasq = try await DnsmasqServer([
      "--addn-hosts=\(hosts)", "--cache-size=0", forwarding, "--srv-host=_x._tcp.test,a.test,81,10,1",
      "--srv-host=_x._tcp.test,b.other.test,81,10,1",
    ])
    let resolve = "{servers: [\"\(dnsmasq.server)\"], maximum: 1s, timeout: 1s}"
    let rig = try CheckRig("[{name: s, srv: _x._tcp.test, resolve: \(resolve)}]")
    func endpoints() -> [String] { (rig.registry.all["s"]?.set.endpoints ?? []).map(\.name).sorted() }
    #expect(await soon { endpoints() == ["127.0.0.2:81", "127.0.0.9:81"] })
    other.stop()
    for number in [3, 4] {
      _ = try directory.file("hosts", "127.0.0.\(number) a.test\n")
      dnsmasq.reload()
      #expect(await soon { endpoints() == ["127.0.0.\(number):81", "127.0.0.9:81"] })
    }
    #expect(await soon { rig.log.contains { $0.contains("1 targets of SRV _x._tcp.test could not be looked up") } })
  }

  /// The name server of the IPv4 address is gone for good, while the IPv6 address changes.
  @Test func aVersionThatFailsKeepsItsOwnEndpointsAlone() async throws {
    let directory = try TemporaryDirectory()
    let hosts = try directory.file("hosts", "2001:db8::1 n.other.test\n")
    let other = try await DnsmasqServer(["--host-record=n.other.test,127.0.0.9,60"])
    let forwarding = "--server=/other.test/\(other.server.replacingOccurrences(of: ":", with: "#"))"
    let dnsmasq = try await DnsmasqServer(["--addn-hosts=\(hosts)", "--cache-size=0", forwarding])
    let resolve = "{servers: [\"\(dnsmasq.server)\"], maximum: 1s, timeout: 1s}"
    let rig = try CheckRig("[{name: n, endpoints: [\"n.other.test:81\"], resolve: \(resolve)}]")
    func endpoints() -> [String] { (rig.registry.all["n"]?.set.endpoints ?? []).map(\.name).sorted() }
    #expect(await soon { endpoints() == ["127.0.0.9:81", "[2001:db8::1]:81"] })
    other.stop()
    for number in [2, 3] {
      _ = try directory.file("hosts", "2001:db8::\(number) n.other.test\n")
      dnsmasq.reload()
      #expect(await soon { endpoints() == ["127.0.0.9:81", "[2001:db8::\(number)]:81"] })
    }
    #expect(await soon { rig.log.contains { $0.contains("some addresses of n.other.test could not be looked up") } })
  }

  /// No place answers any more when the scheme changes, and its endpoints get the names of the new one.
  @Test func answersOutliveAnotherScheme() async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.file("u.json", group("127.0.0.1"))
    let dnsmasq = try await DnsmasqServer([
      "--host-record=pay.test,127.0.0.2,60", "--srv-host=_x._tcp.test,pay.test,81,10,1",
    ])
    func upstreams(_ scheme: String) -> String {
      let keys = "scheme: \(scheme), resolve: {servers: [\"\(dnsmasq.server)\"], timeout: 100ms}"
      return """
        [{name: n, endpoints: ["pay.test:80"], \(keys)}, {name: s, srv: _x._tcp.test, \(keys)},
         {name: f, file: \(file), \(keys)}]
        """
    }
    let rig = try CheckRig(upstreams("http"))
    func endpoints() -> [String] {
      ["n", "s", "f"].flatMap { name in
        (rig.registry.all[name]?.set.endpoints ?? []).map { "\($0.name) \($0.url ?? "")" }
      }
    }
    #expect(await soon { endpoints().count == 3 })
    #expect(
      endpoints() == [
        "127.0.0.2:80 http://pay.test/", "127.0.0.2:81 http://pay.test:81/", "127.0.0.1:80 http://127.0.0.1/",
      ])
    dnsmasq.stop()
    try FileManager.default.removeItem(atPath: file)
    try rig.follow(upstreams("https"))
    let expected = [
      "127.0.0.2:80 https://pay.test:80/", "127.0.0.2:81 https://pay.test:81/", "127.0.0.1:80 https://127.0.0.1:80/",
    ]
    #expect(endpoints() == expected)
    #expect(await soon { ["n", "s", "f"].allSatisfy { number(rig, .failed, of: $0) > 0 } })
    #expect(endpoints() == expected)
  }
}
