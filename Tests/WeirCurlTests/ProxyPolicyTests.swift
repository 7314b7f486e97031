import Testing
import WeirCurl
import WeirIO
import WeirTestSupport
import WeirTransport

/// A SOCKS proxy that gets addresses, and a policy about them.
@Suite(.timeLimit(.minutes(5)), .enabled(if: isOwnEngine)) struct ProxyPolicyTests {
  private static let denied = ["10.0.0.1", "127.0.0.1", "169.254.169.254"]

  private static func rig(
    _ proxy: ScriptedServer, _ kind: TransferProxy.Kind = .socks5, addresses: [String]
  ) async throws -> EngineRig {
    let way = TransferProxy(kind, host: "127.0.0.1", port: proxy.port)
    return try await EngineRig {
      $0.proxy = .proxy(way)
      $0.resolveOverrides = [ResolveOverrideOptions(host: "a.example", port: 81, addresses: addresses)]
    }
  }

  private static func spec(_ url: String = "http://a.example:81/") -> TransferSpec {
    var spec = TransferSpec(url: url)
    spec.addressPolicy = AddressPolicy(otherwise: .publicOnly)
    return spec
  }

  private static func proxy() throws -> ScriptedServer {
    try ScriptedServer(Script(.socks5, .forever([.head, .send(okResponse("in"))])))
  }

  /// The request that a proxy got behind the version and the methods (RFC 1928 §4).
  private static func asked(_ proxy: ScriptedServer) -> [UInt8] {
    let received = proxy.received()
    guard received.count > 2 else { return [] }
    return Array(received[(2 + Int(received[1]))...].prefix { $0 != UInt8(ascii: "G") })
  }

  @Test(arguments: denied)
  func aNameThatLeadsToADeniedAddressIsRefused(address: String) async throws {
    let proxy = try Self.proxy()
    let rig = try await Self.rig(proxy, addresses: [address])
    var other = TransferSpec(url: "http://b.example/")
    other.addressPolicy = Self.spec().addressPolicy
    other.endpoint = TransferEndpoint(.host("a.example", port: 81))
    for spec in [Self.spec(), other] {
      let outcome = await rig.transfer(spec)
      #expect(outcome.error?.kind == .addressRefused, "\(String(describing: outcome.error))")
      #expect(outcome.error?.message.contains(address) == true)
    }
    #expect(proxy.connectionCount == 0)
    await rig.close()
  }

  @Test func theFirstAllowedAddressIsAskedFor() async throws {
    let proxy = try Self.proxy()
    let rig = try await Self.rig(proxy, addresses: Self.denied + ["8.8.8.8", "8.8.4.4"])
    for round in 0..<2 {
      let outcome = await rig.transfer(Self.spec())
      #expect(outcome.text == "in", "\(String(describing: outcome.error))")
      #expect(outcome.report?.isReusedConnection == (round > 0))
      #expect((outcome.report?.phases[.tunnel] != nil) == (round == 0))
    }
    #expect(Self.asked(proxy) == [5, 1, 0, 1, 8, 8, 8, 8, 0, 81])
    #expect(proxy.receivedText().contains("Host: a.example:81\r\n"))
    await rig.close()
  }

  /// An endpoint stands for the URL's host.
  @Test func anEndpointsNameIsJudged() async throws {
    let proxy = try Self.proxy()
    let rig = try await Self.rig(proxy, addresses: ["10.0.0.1", "8.8.8.8"])
    var spec = Self.spec("http://b.example/")
    spec.endpoint = TransferEndpoint(.host("a.example", port: 81))
    #expect(await rig.transfer(spec).text == "in")
    #expect(Self.asked(proxy) == [5, 1, 0, 1, 8, 8, 8, 8, 0, 81])
    #expect(proxy.receivedText().contains("Host: b.example\r\n"))
    await rig.close()
  }

  @Test(arguments: denied)
  func aDeniedAddressIsRefused(address: String) async throws {
    let proxy = try Self.proxy()
    let rig = try await Self.rig(proxy, addresses: ["8.8.8.8"])
    #expect(await rig.transfer(Self.spec("http://\(address)/")).error?.kind == .addressRefused)
    #expect(proxy.connectionCount == 0)
    await rig.close()
  }

  @Test func withoutAPolicyThereIsOneStep() async throws {
    let proxy = try Self.proxy()
    let rig = try await Self.rig(proxy, addresses: ["10.0.0.1", "8.8.8.8"])
    #expect(await rig.get("http://a.example:81/").text == "in")
    #expect(Self.asked(proxy) == [5, 1, 0, 1, 10, 0, 0, 1, 0, 81])
    await rig.close()
  }

  /// Nothing is looked up here, so nothing can be judged.
  @Test func aProxyThatLooksNamesUpGetsTheName() async throws {
    let proxy = try Self.proxy()
    let rig = try await Self.rig(proxy, .socks5h, addresses: ["10.0.0.1"])
    #expect(await rig.transfer(Self.spec()).text == "in")
    #expect(Self.asked(proxy) == [5, 1, 0, 3, 9] + Array("a.example".utf8) + [0, 81])
    await rig.close()
  }

  @Test func aNameThatDoesNotExistIsTheServers() async throws {
    let proxy = try Self.proxy()
    let rig = try await Self.rig(proxy, addresses: ["8.8.8.8"])
    let error = await rig.transfer(Self.spec("http://does-not-exist.invalid/")).error
    #expect(error?.kind == .curl && error?.code == .couldNotResolveHost)
    #expect(proxy.connectionCount == 0)
    await rig.close()
  }

  @Test func aTunnelIsJudgedToo() async throws {
    let proxy = try ScriptedServer(Script(.socks5, .send("in"), .awaitEnd))
    for (addresses, text) in [(["10.0.0.1"], ""), (["10.0.0.1", "8.8.8.8"], "in")] {
      let rig = try await Self.rig(proxy, addresses: addresses)
      var spec = Self.spec()
      spec.opensTunnel = true
      let outcome = await rig.transfer(spec)
      #expect(outcome.text == text)
      #expect(outcome.error?.kind == (text.isEmpty ? .addressRefused : nil))
      await rig.close()
    }
  }

  /// libcurl's own transfers can't be judged so.
  @Test func http2IsRefused() async throws {
    let proxy = try Self.proxy()
    let rig = try await Self.rig(proxy, addresses: ["8.8.8.8"])
    var spec = Self.spec("https://a.example:81/")
    spec.rules = TransferRules(httpVersion: .http2)
    #expect(await rig.transfer(spec).error?.kind == .invalidRequest)
    #expect(proxy.connectionCount == 0)
    await rig.close()
  }

  @Test func aCancelledLookupConnectsToNothing() async throws {
    let proxy = try Self.proxy()
    let rig = try await Self.rig(proxy, addresses: ["8.8.8.8"])
    let running = await rig.start(Self.spec())
    await running.onTransfer { transfer, _ in transfer.cancel() }
    #expect(await running.outcome.finishes == 1)
    await rig.close()
    #expect(rig.counts.open == 0)
  }
}
