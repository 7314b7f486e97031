import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

@Suite(.slow) struct ClientAddressTests {
  /// The proxies of all tables: two networks and one address of IPv6.
  private static let proxies = ["10.0.0.0/8", "192.168.1.0/24", "2001:db8:aaaa::/48"]
  private static let peer = "10.0.0.1"

  // MARK: X-Forwarded-For

  @Test(
    arguments: [
      ([], peer), ([""], peer), ([",", " , ,"], peer),
      (["192.0.2.1"], "192.0.2.1"), (["2001:db8::1"], "2001:db8::1"),
      (["203.0.113.9, 192.0.2.1"], "192.0.2.1"), (["203.0.113.9", "192.0.2.1"], "192.0.2.1"),
      (["192.0.2.1, 10.0.0.2"], "192.0.2.1"), (["192.0.2.1,10.0.0.2,10.0.0.3"], "192.0.2.1"),
      (["192.0.2.1", "10.0.0.2, 192.168.1.7"], "192.0.2.1"),
      (["192.0.2.1, 2001:db8:aaaa::5, 10.0.0.2"], "192.0.2.1"),
      (["203.0.113.9, 192.0.2.1, 10.0.0.2"], "192.0.2.1"),
      (["10.1.1.1, 192.0.2.1, 10.0.0.2"], "192.0.2.1"),
      // All are trusted.
      (["10.0.0.2"], "10.0.0.2"), (["10.0.0.4, 10.0.0.3, 10.0.0.2"], "10.0.0.4"),
      (["10.0.0.4", "10.0.0.3"], "10.0.0.4"),
      // The neighbours of the networks.
      (["192.0.2.1, 192.168.2.7"], "192.168.2.7"), (["192.0.2.1, 11.0.0.0"], "11.0.0.0"),
      (["192.0.2.1, 2001:db8:aaab::"], "2001:db8:aaab::"),
      // Ports.
      (["192.0.2.1:80"], "192.0.2.1"), (["[2001:db8::1]:80"], "2001:db8::1"), (["[2001:db8::1]"], "2001:db8::1"),
      (["192.0.2.1, 10.0.0.2:65535"], "192.0.2.1"), (["192.0.2.1, 10.0.0.2:65536"], peer),
      (["192.0.2.1, 10.0.0.2:"], peer), (["192.0.2.1, 10.0.0.2:x"], peer), (["192.0.2.1, 10.0.0.2:80:80"], peer),
      (["192.0.2.1, [2001:db8:aaaa::1"], peer), (["192.0.2.1, [2001:db8:aaaa::1]80"], peer),
      (["192.0.2.1, [2001:db8:aaaa::1]:"], peer), (["192.0.2.1, [10.0.0.2]:80"], peer), (["192.0.2.1, []"], peer),
      (["192.0.2.1, ["], peer), (["192.0.2.1, :80"], peer),
      // IPv4-mapped addresses.
      (["::ffff:192.0.2.1"], "192.0.2.1"), (["192.0.2.1, ::ffff:10.0.0.2"], "192.0.2.1"),
      (["192.0.2.1, [::ffff:10.0.0.2]:80"], "192.0.2.1"), (["192.0.2.1, ::ffff:a00:2"], "192.0.2.1"),
      (["192.0.2.1, 64:ff9b::10.0.0.2"], "64:ff9b::a00:2"),
      // Blanks and empty elements.
      (["  192.0.2.1\t,\t10.0.0.2  "], "192.0.2.1"), (["192.0.2.1,, ,10.0.0.2,"], "192.0.2.1"),
      (["192.0.2.1 10.0.0.2"], peer), ([", 192.0.2.1", "", ","], "192.0.2.1"),
      // An entry that can't be read ends the search.
      (["unknown"], peer), (["192.0.2.1, unknown"], peer), (["192.0.2.1, unknown, 10.0.0.2"], "10.0.0.2"),
      (["192.0.2.1, unknown, 10.0.0.3, 10.0.0.2"], "10.0.0.3"),
      (["192.0.2.1, x, 10.0.0.3", "y", "10.0.0.2"], "10.0.0.2"),
      (["x, 192.0.2.1"], "192.0.2.1"), (["x, 10.0.0.5, 192.0.2.1, 10.0.0.2"], "192.0.2.1"),
      (["192.0.2.1, 10.0.0.02"], peer), (["192.0.2.1, 10.2"], peer), (["192.0.2.1, 0x0a000002"], peer),
      (["192.0.2.1, 167772162"], peer), (["192.0.2.1, 10.0.0.256"], peer), (["192.0.2.1, fe80::1%eth0"], peer),
      (["192.0.2.1, \"10.0.0.2\""], peer), (["\"192.0.2.1, 10.0.0.2"], "10.0.0.2"),
      (["192.0.2.1, 10.0.0.2\0"], peer), (["192.0.2.1\0, 10.0.0.2"], "10.0.0.2"),
      (["192.0.2.1, 10.0.0.2\\"], peer), (["192.0.2.1, ::ffff:10.0.0.2.3"], peer),
      (["192.0.2.1, " + String(repeating: "1", count: 5_000)], peer),
    ] as [([String], String)])
  func xForwardedFor(values: [String], client: String) throws {
    try expect(values, .xForwardedFor, client)
  }

  // MARK: Forwarded

  @Test(
    arguments: [
      ([], peer), ([""], peer), ([" , ;"], peer),
      (["for=192.0.2.1"], "192.0.2.1"), (["For=192.0.2.1;proto=http;by=203.0.113.43"], "192.0.2.1"),
      (["by=203.0.113.43;FOR=192.0.2.1"], "192.0.2.1"), (["for=\"192.0.2.1\""], "192.0.2.1"),
      (["for=\"192.0.2.1:4711\""], "192.0.2.1"), (["for=\"[2001:db8::1]:4711\""], "2001:db8::1"),
      (["for=\"[2001:db8::1]\""], "2001:db8::1"), (["for=\"192.0.2.1:_port.1-a\""], "192.0.2.1"),
      (["for=\"[::ffff:192.0.2.1]\""], "192.0.2.1"),
      (["for=192.0.2.1, for=10.0.0.2"], "192.0.2.1"), (["for=192.0.2.1", "for=10.0.0.2;proto=https"], "192.0.2.1"),
      (["for=203.0.113.9, for=192.0.2.1,for=\"[2001:db8:aaaa::1]:1\", for=10.0.0.2"], "192.0.2.1"),
      (["for=10.0.0.4, for=10.0.0.3", "for=10.0.0.2"], "10.0.0.4"),
      (["for=192.0.2.1 ; proto=http , for=10.0.0.2 ;; host=\"a,b;c\";"], "192.0.2.1"),
      ([",for=192.0.2.1,, for=10.0.0.2,"], "192.0.2.1"),
      // Quoted strings.
      (["for=192.0.2.1;host=\"a, for=203.0.113.9\", for=10.0.0.2"], "192.0.2.1"),
      (["for=192.0.2.1;host=\"a\\\", for=203.0.113.9\", for=10.0.0.2"], "192.0.2.1"),
      (["for=\"192\\.0.2\\.1\""], "192.0.2.1"), (["for=\"\\[2001:db8::1\\]:\\8\\0\""], "2001:db8::1"),
      (["for=192.0.2.1;x=\"\\\\\", for=10.0.0.2"], "192.0.2.1"), (["for=192.0.2.1;x=\"\", for=10.0.0.2"], "192.0.2.1"),
      // An element that can't be read ends the search.
      (["for=_hidden"], peer), (["for=unknown"], peer), (["for=192.0.2.1, for=_hidden, for=10.0.0.2"], "10.0.0.2"),
      (["for=192.0.2.1, for=\"unknown:80\""], peer), (["for=192.0.2.1, for=\"_hidden:_port\""], peer),
      (["for=192.0.2.1, proto=http"], peer), (["for=192.0.2.1, by=10.0.0.2"], peer), (["for=192.0.2.1, for"], peer),
      (["for=192.0.2.1, for="], peer), (["for=192.0.2.1, for=\"\""], peer), (["for=192.0.2.1, =10.0.0.2"], peer),
      (["for=192.0.2.1, for=10.0.0.2;for=10.0.0.3"], peer), (["for=192.0.2.1, for =10.0.0.2"], peer),
      (["for=192.0.2.1, for= 10.0.0.2"], peer), (["for=192.0.2.1, for=10.0.0.2;x"], peer),
      (["for=192.0.2.1, for=10.0.0.2;x=a b"], peer), (["for=192.0.2.1, for=10.0.0.2:80"], peer),
      (["for=192.0.2.1, for=[2001:db8:aaaa::1]"], peer), (["for=192.0.2.1, for=\"2001:db8:aaaa::1\""], peer),
      (["for=192.0.2.1, for=\"10.0.0.2:_\""], peer), (["for=192.0.2.1, for=\"10.0.0.2:_a~\""], peer),
      (["for=192.0.2.1, for=\"10.0.0.2:99999\""], peer), (["for=192.0.2.1, for=\"10.0.0.2:000080\""], peer),
      (["for=192.0.2.1, for=\" 10.0.0.2\""], peer), (["for=192.0.2.1, for=\"10.0.0.2\0\""], peer),
      (["for=192.0.2.1, for=\"10.0.0.2\\\0\""], peer), (["for=192.0.2.1, for=\"10.0.0.2\"x"], peer),
      (["for=192.0.2.1, 10.0.0.2"], peer),
      // A client's open quotation can't reach what a proxy appends: then every comma separates.
      (["for=\", for=203.0.113.9"], "203.0.113.9"), (["for=\", for=192.0.2.1, for=10.0.0.2"], "192.0.2.1"),
      (["for=203.0.113.9;x=\", for=192.0.2.1"], "192.0.2.1"),
      (["for=203.0.113.9;x=\", for=\"[2001:db8::1]\""], "2001:db8::1"),
      (["for=203.0.113.9;x=\"\\\", for=\"[2001:db8::1]\";y=\"z\""], "2001:db8::1"),
      (["for=203.0.113.9;x=\", for=192.0.2.1;host=\"a, for=198.51.100.7\""], peer),
      (["for=203.0.113.9;x=\"", "for=192.0.2.1"], "192.0.2.1"), (["for=203.0.113.9;x=\"", "for=10.0.0.2"], "10.0.0.2"),
      (["for=203.0.113.9;x=a\\\"b, for=10.0.0.2"], "10.0.0.2"), (["for=203.0.113.9;x=\"\\"], peer),
    ] as [([String], String)])
  func forwarded(values: [String], client: String) throws {
    try expect(values, .forwarded, client)
  }

  // MARK: Peers

  @Test(arguments: [
    ("198.51.100.7", "198.51.100.7"), ("::ffff:198.51.100.7", "198.51.100.7"), ("10.0.0.1", "192.0.2.1"),
    ("::ffff:10.0.0.1", "192.0.2.1"), ("2001:db8:aaaa::9", "192.0.2.1"), ("2001:db8:aaab::9", "2001:db8:aaab::9"),
  ])
  func onlyTrustedPeersAreBelieved(peer: String, client: String) throws {
    let address = try #require(IPAddress(peer))
    let socket = try SocketAddress(parsing: peer.contains(":") ? "[\(peer)]:1" : "\(peer):1")
    for peer in [ClientAddress(peer: socket), .ip(address.unmapped)] {
      let found = try find(["192.0.2.1"], .xForwardedFor, peer: peer)
      #expect(found == .ip(try #require(IPAddress(client))))
    }
  }

  @Test func unixSockets() throws {
    let client = ClientAddress.ip(.v4(0xc000_0201))
    for peer in [SocketAddress.unnamed, .unix(path: "/run/proxy")] {
      let peer = ClientAddress(peer: peer)
      #expect(peer == .unix)
      #expect(try find(["192.0.2.1"], .xForwardedFor, peer: peer) == .unix)
      #expect(try find(["192.0.2.1"], .xForwardedFor, peer: peer, trusting: ["unix"]) == client)
      #expect(try find(["192.0.2.1, x"], .xForwardedFor, peer: peer, trusting: ["unix"]) == .unix)
      #expect(try find([], .forwarded, peer: peer, trusting: ["unix"]) == .unix)
    }
  }

  @Test func withoutTrustTheFieldIsNotRead() throws {
    let peer = ClientAddress.ip(.v4(0x0a00_0001))
    let client = ClientAddress(peer: peer, field: .forwarded, trusting: ClientNetworks()) { _ in
      Issue.record("the field was read")
    }
    #expect(client == peer)
  }

  // MARK: Trusted proxies

  @Test func networksAreParsed() throws {
    let proxies = try ClientNetworks.parse(["10.0.0.0/8", "unix", "2001:db8::1"])
    #expect(proxies.networks.map(\.description) == ["10.0.0.0/8", "2001:db8::1/128"])
    #expect(proxies.unix)
    #expect(proxies.contains(.unix))
    #expect(proxies.contains(IPAddress.v6(high: 0, low: 0xffff_0a01_0203)))
    #expect(!proxies.contains(ClientAddress.ip(.v4(0x0b00_0000))))
    #expect(try ClientNetworks.parse([]) == ClientNetworks())
    #expect(!ClientNetworks().contains(.unix))
  }

  @Test(arguments: ["", "Unix", "10.0.0.1/8", "10.0.0.0/33", "::ffff:10.0.0.1", "proxy.example"])
  func badNetworks(text: String) {
    let error = #expect(throws: IPNetworkError.self) { try ClientNetworks.parse(["10.0.0.0/8", text]) }
    #expect(error?.text == text)
  }

  // MARK: Bounds

  @Test(arguments: [ClientAddress.Field.xForwardedFor, .forwarded])
  func aHundredEntriesAreLookedAt(field: ClientAddress.Field) throws {
    let prefix = field == .forwarded ? "for=" : ""
    func list(_ trusted: Int) -> [String] {
      ["\(prefix)192.0.2.1"] + (0..<trusted).map { "\(prefix)10.9.\($0 >> 8).\($0 & 0xff)" }
    }
    for (count, client) in [(99, "192.0.2.1"), (100, "10.9.0.0"), (101, "10.9.0.1"), (10_000, "10.9.38.172")] {
      try expect([list(count).joined(separator: ",")], field, client)
      try expect(list(count), field, client)
      try expect([list(count).joined(separator: ", , ,")], field, client)
    }
  }

  /// Four times the longest header that can be configured, for which a quadratic walk would take minutes.
  @Test(arguments: [
    ",", ", ", "\"", "\"\"", "\\", "for=\"", "for=\"\\\",", "for=10.0.0.2;", "[", ":", "for=10.0.0.2,;,",
  ])
  func longValuesTakeLinearTime(piece: String) throws {
    let value = String(repeating: piece, count: (1 << 20) / piece.utf8.count)
    for field in [ClientAddress.Field.xForwardedFor, .forwarded] {
      let start = ContinuousClock.now
      _ = try find([value], field, peer: .ip(.v4(0x0a00_0001)))
      #expect(ContinuousClock.now - start < .seconds(20))
    }
  }

  // MARK: A walk from the end

  /// Entries of X-Forwarded-For, and their addresses.
  private static let pool: [(text: String, address: String?)] = [
    ("192.0.2.1", "192.0.2.1"), ("198.51.100.7:80", "198.51.100.7"), ("[2001:db8::1]:80", "2001:db8::1"),
    ("10.0.0.2", "10.0.0.2"), ("192.168.1.9", "192.168.1.9"), ("::ffff:10.0.0.3", "10.0.0.3"),
    ("2001:db8:aaaa::1", "2001:db8:aaaa::1"), ("10.0.0.4", "10.0.0.4"), ("10.0.0.5:1", "10.0.0.5"), ("unknown", nil),
  ]

  /// The rule as it is stated, for lists that are drawn: from one entry to more than are looked at, over several lines.
  @Test(arguments: [3, 12, 130]) func agreesWithAWalkFromTheEnd(longest: Int) throws {
    var random = SeededRandom(seed: UInt64(longest))
    let proxies = try ClientNetworks.parse(Self.proxies)
    let peer = try #require(IPAddress(Self.peer))
    for round in 0..<2_000 {
      // In most lists most entries are proxies, so that walks are long.
      let first = Int.random(in: 0...3, using: &random)
      let last = Int.random(in: 0...3, using: &random) == 0 ? Self.pool.count : Self.pool.count - 1
      let entries = (0..<Int.random(in: 0...longest, using: &random)).map { _ in
        Self.pool[Int.random(in: first..<last, using: &random)]
      }
      var values = [""]
      for entry in entries {
        if Int.random(in: 0..<5, using: &random) == 0 { values.append("") }
        values[values.count - 1] += ["", " ", ",,"].randomElement(using: &random).map { "\($0)\(entry.text)," } ?? ""
      }
      let addresses = try entries.map { try $0.address.map { try #require(IPAddress($0)) } }
      var client = peer
      for address in addresses.suffix(ClientAddress.longestChain).reversed() {
        guard let address, proxies.contains(client) else { break }
        client = address
      }
      #expect(try find(values, .xForwardedFor, peer: .ip(peer)) == .ip(client), "round \(round): \(values)")
    }
  }

  // MARK: Helpers

  private func expect(_ values: [String], _ field: ClientAddress.Field, _ client: String) throws {
    let peer = try #require(IPAddress(Self.peer))
    let found = try find(values, field, peer: .ip(peer))
    #expect(found == .ip(try #require(IPAddress(client))))
  }

  private func find(
    _ values: [String], _ field: ClientAddress.Field, peer: ClientAddress, trusting proxies: [String] = proxies
  ) throws -> ClientAddress {
    let proxies = try ClientNetworks.parse(proxies)
    let values = values.map { Array($0.utf8) }
    return ClientAddress(peer: peer, field: field, trusting: proxies) { body in
      for value in values { value.withUnsafeBytes(body) }
    }
  }
}
