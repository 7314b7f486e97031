import Testing
import WeirCurl
import WeirIO
import WeirTestSupport

/// The addresses of this process, to which a policy may refuse connections.
@Suite(.timeLimit(.minutes(5))) struct ListeningAddressesTests {
  private static func policy(
    _ addresses: String..., otherwise: AddressPolicy.Otherwise = .allowed
  ) throws
    -> AddressPolicy
  {
    let listening = ListeningAddresses()
    listening.follow(try addresses.map { try SocketAddress(parsing: $0) }, of: "here")
    return AddressPolicy(AddressPolicy(otherwise: otherwise), refusing: listening)
  }

  @Test(arguments: [
    ("127.0.0.1:80", "127.0.0.1", true), ("127.0.0.1:80", "127.0.0.2", false), ("127.0.0.1:80", "::1", false),
    ("127.0.0.1:80", "::ffff:127.0.0.1", true), ("127.0.0.1:80", "64:ff9b::7f00:1", true),
    ("127.0.0.1:80", "0.0.0.0", true), ("127.0.0.1:80", "8.8.8.8", false), ("127.0.0.1:81", "127.0.0.1", false),
    ("0.0.0.0:80", "127.9.9.9", true), ("0.0.0.0:80", "::1", false), ("0.0.0.0:80", "0.0.0.0", true),
    ("0.0.0.0:80", "8.8.8.8", false), (":80", "127.0.0.1", true), (":80", "127.1.2.3", true), (":80", "8.8.8.8", false),
    (":80", "2001:db8::1", false), ("[::1]:80", "::1", true), ("[::1]:80", "::", true),
    ("[::1]:80", "127.0.0.1", false),
    ("unix:/x", "127.0.0.1", false),
  ])
  func addresses(of listener: String, address: String, isRefused: Bool) throws {
    let refusal = try Self.policy(listener).refusal(of: try #require(IPAddress(address)), port: 80)
    #expect((refusal != nil) == isRefused, "\(refusal ?? "allowed")")
    if let refusal { #expect(refusal.hasPrefix("this gateway itself listens on port 80 of ")) }
  }

  @Test func theRulesComeFirstAndAPortIsNeeded() throws {
    let address = try #require(IPAddress("127.0.0.1"))
    let policy = try Self.policy("127.0.0.1:80", otherwise: .publicOnly)
    #expect(policy.refusal(of: address, port: 80)?.contains("not public") == true)
    #expect(try Self.policy("127.0.0.1:80").refusal(of: address) == nil)
  }

  @Test func eachPartOfTheProcessHasItsOwn() throws {
    let listening = ListeningAddresses()
    let policy = AddressPolicy(nil, refusing: listening)
    let address = try #require(IPAddress("127.0.0.1"))
    func isRefused(_ port: Int) -> Bool { policy.refusal(of: address, port: port) != nil }
    listening.follow([.loopback(port: 1)], of: "a")
    listening.follow([.loopback(port: 2)], of: "b")
    #expect([isRefused(1), isRefused(2), isRefused(3)] == [true, true, false])
    listening.follow([.loopback(port: 3)], of: "a")
    #expect([isRefused(1), isRefused(2), isRefused(3)] == [false, true, true])
  }

  @Test func policiesWithAndWithoutThemShareNoConnections() {
    let (one, other) = (ListeningAddresses(), ListeningAddresses())
    #expect(AddressPolicy(nil, refusing: one) == AddressPolicy(nil, refusing: one))
    #expect(AddressPolicy(nil, refusing: one) != AddressPolicy(nil, refusing: other))
    #expect(AddressPolicy(nil, refusing: one) != AddressPolicy(otherwise: .allowed))
  }

  @Test("They are judged where the socket is opened, and in URLs", arguments: ["127.0.0.1", "127.1", "a.example"])
  func atTheSocket(host: String) async throws {
    let own = try ScriptedServer(.answering(okResponse("own")))
    let other = try ScriptedServer(.answering(okResponse("in")))
    let policy = try Self.policy("127.0.0.1:\(own.port)")
    let ports = [own.port, other.port]
    let rig = try await EngineRig {
      $0.resolveOverrides = ports.map { ResolveOverrideOptions(host: "a.example", port: $0, addresses: ["127.0.0.1"]) }
    }
    func outcome(_ port: Int) async -> (error: TransferError?, text: String) {
      var spec = TransferSpec(url: "http://\(host):\(port)/")
      spec.addressPolicy = policy
      let outcome = await rig.transfer(spec)
      return (outcome.error, outcome.text)
    }
    let refused = await outcome(own.port)
    #expect(refused.error?.kind == .addressRefused)
    #expect(refused.error?.message.contains("itself listens on port \(own.port)") == true)
    #expect(own.connectionCount == 0)
    #expect(await outcome(other.port).text == "in")
    await rig.close()
  }
}
