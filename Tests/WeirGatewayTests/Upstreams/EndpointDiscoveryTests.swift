import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway
@testable import WeirTransport

/// Lookups and looks at files, without a gateway.
@Suite("Discovery of endpoints", .timeLimit(.minutes(2))) struct EndpointDiscoveryTests {
  private func group(_ hosts: String...) -> String {
    "[{\"targets\": [\(hosts.map { "\"\($0):80\"" }.joined(separator: ", "))]}]"
  }

  private func count(_ rig: CheckRig, _ name: String) -> Int { rig.registry.all[name]?.count ?? 0 }

  private func number(_ rig: CheckRig, _ result: Discovery, of name: String) -> Int {
    rig.registry.all[name]?.discoveries.number(of: result) ?? 0
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
