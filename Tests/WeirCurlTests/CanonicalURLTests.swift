import Testing
import WeirCurl
import WeirTestSupport

/// Addresses as hosts of URLs: all forms of one share a pool and a Host field.
@Suite(.timeLimit(.minutes(5)))
struct CanonicalURLTests {
  @Test(
    "An address in a URL is written in its one spelling, and all else stays",
    arguments: [
      ("http://127.1/", "http://127.0.0.1/"), ("http://0x7f.1:80/a?b#c", "http://127.0.0.1:80/a?b#c"),
      ("http://2130706433", "http://127.0.0.1"), ("http://0177.0.0.1?q", "http://127.0.0.1?q"),
      ("http://127.0.0.1.:80/", "http://127.0.0.1:80/"), ("http://127.0.0.01/", "http://127.0.0.1/"),
      ("http://%31%32%37.1/", "http://127.0.0.1/"), ("http://u:p@127.1/", "http://u:p@127.0.0.1/"),
      ("https://[0:0::1]:443/", "https://[::1]:443/"), ("http://[::FFFF:1.2.3.4]/", "http://[::ffff:1.2.3.4]/"),
      ("http://[::ffff:102:304]/", "http://[::ffff:1.2.3.4]/"), ("http://[FE80::1%25lo]/", "http://[fe80::1%25lo]/"),
      ("HTTP://127.1/", "HTTP://127.0.0.1/"),
    ])
  func addresses(url: String, canonical: String) {
    #expect(TransferSpec(url: url).url == canonical)
    #expect(TransferSpec(url: canonical).url == canonical)
  }

  @Test(
    "What is no address stays as it is",
    arguments: [
      "http://example.com./127.1", "http://Example.COM/", "http://h/@127.1/", "http://127.0.0.1/127.1",
      "http://127.0.0.1:80/", "http://1.2.3.4.5/", "http://256.1.1.1/", "http://1e100.net/", "http://%61.test/",
      "http://127.1@h/", "http://[::1", "http://", "http", "", "http://%zz/", "http://1%2",
    ])
  func others(url: String) {
    #expect(TransferSpec(url: url).url == url)
  }

  @Test("All forms of an address are one connection and one Host")
  func poolAndHost() async throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try await EngineRig()
    let hosts = ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.1", "127.0.0.1.", "%31%32%37.1"]
    for host in hosts {
      #expect(await rig.get("http://\(host):\(server.port)/").error == nil, "\(host)")
    }
    #expect(server.connectionCount == 1)
    let fields = server.receivedText().split(separator: "\r\n").filter { $0.hasPrefix("Host: ") }
    #expect(fields == hosts.map { _ in "Host: 127.0.0.1:\(server.port)" })
    await rig.close()
  }

  @Test("An override for an address holds for all its forms")
  func overrides() async throws {
    let server = try ScriptedServer(.answering(okResponse("ok")))
    let port = server.port
    let rig = try await EngineRig {
      $0.resolveOverrides = [ResolveOverrideOptions(host: "192.0.513", port: port, addresses: ["127.0.0.1"])]
    }
    #expect(await rig.get("http://192.0.2.1:\(port)/").error == nil)
    await rig.close()
  }
}
