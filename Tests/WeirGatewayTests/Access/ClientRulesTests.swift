import Testing
import WeirIO

@testable import WeirGateway

@Suite struct ClientRulesTests {
  private static func client(_ text: String) -> ClientAddress {
    guard let address = IPAddress(text) else { return .unix }
    return .ip(address)
  }

  @Test(
    arguments: [
      // Only deny.
      (nil, ["192.0.2.0/24"], "192.0.2.7", false), (nil, ["192.0.2.0/24"], "192.0.3.7", true),
      (nil, ["192.0.2.0/24"], "::ffff:192.0.2.7", false), (nil, ["192.0.2.0/24"], "2001:db8::1", true),
      (nil, ["2001:db8::/32"], "2001:db8::1", false), (nil, ["2001:db8::/32"], "2001:db9::1", true),
      (nil, ["unix"], "unix", false), (nil, ["192.0.2.0/24"], "unix", true), (nil, ["0.0.0.0/0"], "unix", true),
      (nil, ["0.0.0.0/0"], "2001:db8::1", true), (nil, ["::/0"], "192.0.2.1", true),
      (nil, ["::/0"], "::ffff:192.0.2.1", true),
      // Addresses behind a NAT64 are compared as they are.
      (nil, ["64:ff9b::cb00:7100/120"], "64:ff9b::cb00:7101", false),
      (nil, ["64:ff9b::cb00:7100/120"], "203.0.113.1", true), (nil, ["203.0.113.0/24"], "64:ff9b::cb00:7101", true),
      (nil, ["64:ff9b::/96"], "64:ff9b::192.0.2.7", false),
      // Only allow: all else is refused.
      (["10.0.0.0/8"], [], "10.1.2.3", true), (["10.0.0.0/8"], [], "::ffff:10.1.2.3", true),
      (["10.0.0.0/8"], [], "11.1.2.3", false), (["10.0.0.0/8"], [], "unix", false),
      (["10.0.0.0/8"], [], "2001:db8::1", false), (["unix"], [], "unix", true), (["unix"], [], "127.0.0.1", false),
      (["2001:db8::1"], [], "2001:db8::1", true), (["2001:db8::1"], [], "2001:db8::2", false),
      // Deny comes first.
      (["10.0.0.0/8", "unix"], ["10.1.0.0/16"], "10.1.2.3", false),
      (["10.0.0.0/8", "unix"], ["10.1.0.0/16"], "10.2.2.3", true),
      (["10.1.0.0/16"], ["10.0.0.0/8"], "10.1.2.3", false), (["unix"], ["unix"], "unix", false),
    ] as [([String]?, [String], String, Bool)])
  func clients(allow: [String]?, deny: [String], client: String, isAdmitted: Bool) throws {
    let rules = ClientRules(
      allow: try allow.map { try ClientNetworks.parse($0) }, deny: try ClientNetworks.parse(deny))
    #expect(rules.admit(Self.client(client)) == isAdmitted)
  }

  @Test(
    arguments: [
      (["10.0.0.0/8"], ["10.1.0.0/16", "10.0.0.0/8"], true), (["10.0.0.0/8"], ["10.0.0.0/7"], false),
      (["10.0.0.0/8"], ["11.0.0.0/16"], false), (["10.0.0.0/8"], ["unix"], false), (["unix"], ["unix"], true),
      (["10.0.0.0/8", "unix"], ["10.1.1.1"], true), (["::/0"], ["2001:db8::/32"], true), (["::/0"], ["1.2.3.4"], false),
    ] as [([String], [String], Bool)])
  func networksThatHoldOthers(outer: [String], inner: [String], holds: Bool) throws {
    #expect(try ClientNetworks.parse(outer).contains(ClientNetworks.parse(inner)) == holds)
  }

  @Test func sortedNetworksDependOnNoOrder() throws {
    let first = try ClientNetworks.parse(["10.0.0.0/8", "unix", "::1", "10.0.0.0/8"])
    let second = try ClientNetworks.parse(["::1", "10.0.0.0/8", "unix"])
    #expect(first.sorted == second.sorted)
    #expect(first != second)
  }
}
