import Foundation
import Testing
import WeirCurl
import WeirIO
import WeirTestSupport

/// Which addresses are connected to: judged where the socket is opened.
@Suite(.timeLimit(.minutes(5)))
struct AddressPolicyTests {
  private static func policy(
    allow: [String] = [], deny: [String] = [], otherwise: AddressPolicy.Otherwise = .allowed
  ) throws -> AddressPolicy {
    AddressPolicy(
      allow: try allow.map { try IPNetwork(parsing: $0) }, deny: try deny.map { try IPNetwork(parsing: $0) },
      otherwise: otherwise)
  }

  private static let publicOnly = AddressPolicy(otherwise: .publicOnly)

  private static func spec(_ url: String, _ policy: AddressPolicy?) -> TransferSpec {
    var spec = TransferSpec(url: url)
    spec.addressPolicy = policy
    return spec
  }

  // MARK: The value

  struct Case: Sendable {
    var allow: [String] = []
    var deny: [String] = []
    var otherwise: AddressPolicy.Otherwise
    var address: String
    var reason: String?
  }

  @Test(arguments: [
    Case(otherwise: .allowed, address: "127.0.0.1"),
    Case(otherwise: .refused, address: "8.8.8.8", reason: "8.8.8.8 as in no network that is allowed"),
    Case(otherwise: .publicOnly, address: "8.8.8.8"),
    Case(otherwise: .publicOnly, address: "10.1.2.3", reason: "10.1.2.3 as not public (private, 10.0.0.0/8)"),
    Case(
      otherwise: .publicOnly, address: "::ffff:10.1.2.3",
      reason: "::ffff:10.1.2.3, which stands for 10.1.2.3, as not public (private, 10.0.0.0/8)"),
    Case(
      otherwise: .publicOnly, address: "64:ff9b::7f00:1",
      reason: "64:ff9b::7f00:1, which stands for 127.0.0.1, as not public (loopback, 127.0.0.0/8)"),
    Case(otherwise: .publicOnly, address: "64:ff9b::808:808"),
    Case(allow: ["10.1.0.0/16"], otherwise: .publicOnly, address: "10.1.2.3"),
    Case(allow: ["10.1.0.0/16"], otherwise: .publicOnly, address: "::ffff:10.1.2.3"),
    Case(allow: ["10.1.0.0/16"], otherwise: .publicOnly, address: "10.2.2.3", reason: "private"),
    Case(
      allow: ["10.1.0.0/16"], deny: ["10.1.2.0/24"], otherwise: .publicOnly, address: "10.1.2.3",
      reason: "10.1.2.3 as in 10.1.2.0/24, which is denied"),
    Case(allow: ["10.1.2.3"], deny: ["10.0.0.0/8"], otherwise: .refused, address: "10.1.2.3", reason: "denied"),
    Case(deny: ["168.63.129.16"], otherwise: .publicOnly, address: "168.63.129.16", reason: "denied"),
    Case(allow: ["10.0.0.0/8"], otherwise: .refused, address: "10.1.2.3"),
    Case(allow: ["2001:db8::/32"], otherwise: .refused, address: "2001:db8::1"),
    Case(allow: ["0.0.0.0/0"], otherwise: .refused, address: "2001:db8::1", reason: "in no network"),
    Case(
      deny: ["127.0.0.0/8"], otherwise: .allowed, address: "0.0.0.0",
      reason: "0.0.0.0, which stands for 127.0.0.1, as in 127.0.0.0/8, which is denied"),
    Case(deny: ["::1"], otherwise: .allowed, address: "::", reason: "::, which stands for ::1, as in ::1"),
    Case(deny: ["127.0.0.1"], otherwise: .allowed, address: "::ffff:0.0.0.0", reason: "which stands for 127.0.0.1"),
    Case(deny: ["0.0.0.0"], otherwise: .allowed, address: "0.0.0.0", reason: "0.0.0.0 as in 0.0.0.0"),
    Case(deny: ["0.0.0.0", "10.0.0.0/8"], otherwise: .allowed, address: "127.0.0.1"),
    Case(deny: ["10.0.0.0/8"], otherwise: .allowed, address: "0.0.0.0"),
    Case(allow: ["0.0.0.0"], otherwise: .refused, address: "0.0.0.0", reason: "127.0.0.1, as in no network"),
  ])
  func refusals(_ example: Case) throws {
    let policy = try Self.policy(allow: example.allow, deny: example.deny, otherwise: example.otherwise)
    let refusal = policy.refusal(of: try #require(IPAddress(example.address)))
    if let reason = example.reason {
      #expect(refusal?.contains(reason) == true, "\(refusal ?? "allowed")")
      #expect(refusal?.hasPrefix("destinationPolicy refuses ") == true)
    } else {
      #expect(refusal == nil)
    }
  }

  // MARK: Literal addresses

  static let spellings = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1.",
    "%31%32%37.0.0.1", "user:secret@127.0.0.1", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[64:ff9b::127.0.0.1]", "[::127.0.0.1]", "[fe80::1%25lo]", "[fe80::1%251]", "0", "0.0.0.0", "[::]",
    "169.254.169.254",
    "\u{FF11}\u{FF12}\u{FF17}.0.0.1", "127\u{3002}0\u{3002}0\u{3002}1",
  ]

  @Test("No spelling gets round the policy", arguments: spellings + ["localhost", "a.localhost"])
  func spelling(_ host: String) async throws {
    let server = try ScriptedServer(.answering(okResponse("in")))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(Self.spec("http://\(host):\(server.port)/", Self.publicOnly))
    let kind = try #require(outcome.error).kind
    // What this libcurl takes for no address at all is a name that nobody has.
    let isName = outcome.error?.code == .couldNotResolveHost || outcome.error?.code == .malformedURL
    #expect(kind == .addressRefused || isName, "\(String(describing: outcome.error))")
    if host.utf8.allSatisfy({ $0 < 128 }), !host.hasPrefix("a.") { #expect(kind == .addressRefused) }
    #expect(outcome.error?.message.contains("secret") == false)
    #expect(server.connectionCount == 0)
    #expect(rig.counts.value.opened == 0)
    await rig.close()
  }

  @Test("The address that is none leads to the loopback", arguments: ["0.0.0.0", "0", "[::]", "[::ffff:0.0.0.0]"])
  func unspecified(_ host: String) async throws {
    let server = try ScriptedServer(.answering(okResponse("in")))
    let rig = try await EngineRig()
    let policy = try Self.policy(deny: ["127.0.0.0/8", "::1"])
    #expect(await rig.transfer(Self.spec("http://\(host):\(server.port)/", policy)).error?.kind == .addressRefused)
    #expect(server.connectionCount == 0)
    await rig.close()
  }

  @Test("A proxy is not asked for a literal address that is refused", arguments: spellings)
  func literalBehindProxy(_ host: String) async throws {
    let proxy = try ScriptedServer(.answering(okResponse("proxied")))
    let port = proxy.port
    for kind in [
      ProxyOptions.http(host: "127.0.0.1", port: port, credential: nil),
      .socks5(host: "127.0.0.1", port: port, credential: nil),
    ] {
      let rig = try await EngineRig { $0.proxy = kind }
      let outcome = await rig.transfer(Self.spec("http://\(host)/", Self.publicOnly))
      let isMalformed = outcome.error?.code == .malformedURL
      #expect(outcome.error?.kind == .addressRefused || isMalformed, "\(String(describing: outcome.error))")
      await rig.close()
    }
    #expect(proxy.connectionCount == 0)
  }

  @Test("A proxy's own address is exempt, and names are its to judge")
  func proxyIsExempt() async throws {
    let proxy = try ScriptedServer(.answering(okResponse("proxied")))
    let port = proxy.port
    let rig = try await EngineRig { $0.proxy = .http(host: "127.0.0.1", port: port, credential: nil) }
    for _ in 0..<2 {
      #expect(await rig.transfer(Self.spec("http://far.example/", Self.publicOnly)).text == "proxied")
    }
    #expect(await rig.transfer(Self.spec("http://8.8.8.8/", Self.publicOnly)).text == "proxied")
    #expect(proxy.receivedText().hasPrefix("GET http://far.example/ HTTP/1.1\r\n"))
    await rig.close()
  }

  @Test("So is the address of a proxy that the environment names")
  func proxyOfTheEnvironment() async throws {
    await #expect(processExitsWith: .success) {
      let proxy = try ScriptedServer(.answering(okResponse("proxied")))
      for name in ["no_proxy", "NO_PROXY"] { unsetenv(name) }
      setenv("http_proxy", "http://127.0.0.1:\(proxy.port)", 1)
      let rig = try await EngineRig { $0.proxy = .environment }
      #expect(await rig.transfer(Self.spec("http://8.8.8.8/", Self.publicOnly)).text == "proxied")
      await rig.close()
    }
  }

  @Test("Of a Unix socket nothing is judged: no URL chose it")
  func unixSocket() async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).socket").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let server = try ScriptedServer(unixSocketPath: path, .answering(okResponse("local")))
    let rig = try await EngineRig { $0.unixSocketPath = path }
    for host in ["name.example", "127.0.0.1", "127.0.0.1"] {
      #expect(await rig.transfer(Self.spec("http://\(host)/", Self.publicOnly)).text == "local")
    }
    await rig.close()
    withExtendedLifetime(server) {}
  }

  // MARK: Names

  private static func override(_ port: Int, _ addresses: String...) -> [ResolveOverrideOptions] {
    [ResolveOverrideOptions(host: "a.example", port: port, addresses: addresses)]
  }

  @Test("What a name turns out to be counts", arguments: ["http", "https"])
  func name(scheme: String) async throws {
    let server = try ScriptedServer(.answering(okResponse("in")))
    let port = server.port
    let rig = try await EngineRig { $0.resolveOverrides = Self.override(port, "127.0.0.1", "::1", "::ffff:127.0.0.1") }
    let outcome = await rig.transfer(Self.spec("\(scheme)://a.example:\(port)/", Self.publicOnly))
    let error = try #require(outcome.error)
    #expect(error.kind == .addressRefused)
    #expect(error.message.contains("not public (loopback"), "\(error.message)")
    #expect(error.label == "address_refused")
    #expect(outcome.heads.isEmpty)
    #expect(server.connectionCount == 0)
    #expect(rig.counts.value.opened == 0)
    #expect(await rig.onEngine { $0.openConnections } == 0)
    let allowed = await rig.transfer(Self.spec("http://a.example:\(port)/", nil))
    #expect(allowed.text == "in")
    await rig.close()
  }

  @Test(
    "Refused addresses are passed over, wherever they stand",
    arguments: [
      ["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"], ["::1", "127.0.0.1"], ["127.0.0.1", "::1"],
      ["127.0.0.2", "::1", "127.0.0.3", "127.0.0.1"],
    ])
  func passedOver(_ addresses: [String]) async throws {
    let server = try ScriptedServer(.answering(okResponse("there")))
    let port = server.port
    // Whoever tries these waits for ever.
    let holes = [try FullListener(host: 2, port: port), try FullListener(ipv6Port: port)]
    let rig = try await EngineRig {
      $0.resolveOverrides = [ResolveOverrideOptions(host: "a.example", port: port, addresses: addresses)]
    }
    let policy = try Self.policy(allow: ["127.0.0.1"], otherwise: .refused)
    let began = ContinuousClock.now
    let outcome = await rig.transfer(Self.spec("http://a.example:\(port)/", policy))
    #expect(outcome.text == "there", "\(String(describing: outcome.error))")
    #expect(ContinuousClock.now - began < .seconds(15))
    #expect(outcome.report?.remoteAddress == "127.0.0.1")
    #expect(rig.counts.value.opened == 1)
    #expect(await rig.onEngine { $0.openConnections } == 1)
    await rig.close()
    withExtendedLifetime(holes) {}
  }

  @Test("Where an address was allowed and failed, that is the error", arguments: [0, 1])
  func allowedAndFailed(_ order: Int) async throws {
    let gone = try ScriptedServer(.answering(okResponse("x")))
    let port = gone.port
    gone.stop()
    let addresses = order == 0 ? ["127.0.0.2", "127.0.0.1"] : ["127.0.0.1", "127.0.0.2"]
    let rig = try await EngineRig {
      $0.resolveOverrides = [ResolveOverrideOptions(host: "a.example", port: port, addresses: addresses)]
    }
    let policy = try Self.policy(deny: ["127.0.0.2"])
    let outcome = await rig.transfer(Self.spec("http://a.example:\(port)/", policy))
    #expect(outcome.error?.kind == .curl)
    #expect(outcome.error?.code == .couldNotConnect)
    await rig.close()
  }

  // MARK: The pool

  @Test("A pooled connection that another's policy let through is looked at again")
  func pooled() async throws {
    let server = try ScriptedServer(.answering(okResponse("in")))
    let port = server.port
    let rig = try await EngineRig { $0.resolveOverrides = Self.override(port, "127.0.0.1") }
    for host in ["a.example", "127.0.0.1"] {
      let url = "http://\(host):\(port)/"
      #expect(await rig.transfer(Self.spec(url, nil)).text == "in")
      let refused = await rig.transfer(Self.spec(url, Self.publicOnly))
      #expect(refused.error?.kind == .addressRefused, "\(String(describing: refused.error))")
      #expect(refused.report?.staleRetries == 0)
      let again = await rig.transfer(Self.spec(url, nil))
      #expect(again.text == "in")
      let other = await rig.transfer(Self.spec(url, try Self.policy(allow: ["127.0.0.0/8"], otherwise: .refused)))
      #expect(other.text == "in")
      #expect(other.report?.isReusedConnection != isOwnEngine)
    }
    // libcurl closes a connection on which a request was refused; a literal address is refused before that. Our own
    // engine has connections of their own for each policy.
    #expect(server.connectionCount == (isOwnEngine ? 4 : 3))
    let received = (0..<server.connectionCount).map {
      server.receivedText(on: $0).components(separatedBy: "GET /").count - 1
    }
    #expect(received == (isOwnEngine ? [2, 1, 2, 1] : [1, 2, 3]))
    await rig.close()
  }
}
