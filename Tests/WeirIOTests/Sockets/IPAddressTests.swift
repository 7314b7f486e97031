import Glibc
import Testing
import WeirIO
import WeirTestSupport

@Suite struct IPAddressTests {
  @Test(
    arguments: [
      ("127.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"), ("127.0.1", "127.0.0.1"), ("2130706433", "127.0.0.1"),
      ("0x7f000001", "127.0.0.1"), ("0X7F.1", "127.0.0.1"), ("0177.0.0.1", "127.0.0.1"), ("017700000001", "127.0.0.1"),
      ("127.0.0.1.", "127.0.0.1"), ("0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("::1", "::1"),
      ("[::1]", "::1"), ("[0:0:0:0:0:0:0:1]", "::1"), ("[fe80::1%25eth0]", "fe80::1"), ("fe80::1%1", "fe80::1"),
      ("[::FFFF:127.0.0.1]", "::ffff:127.0.0.1"), ("example.com", nil), ("localhost", nil), ("1.2.3.4.5", nil),
      ("256.1.1.1", nil), ("4294967296", nil), ("", nil), ("[]", nil), ("[::1", nil), ("127.0.0.1 x", nil),
      ("0x", nil), ("a.1", nil),
    ] as [(String, String?)])
  func hostsAsResolversReadThem(host: String, address: String?) {
    #expect(IPAddress(host: host)?.description == address)
  }

  @Test(
    arguments: [
      ("192.0.2.1", true), ("2001:DB8::1", true), ("::ffff:1.2.3.4", true), ("127.1", false), ("010.0.0.1", false),
      ("0x7f.0.0.1", false), ("[::1]", false), ("fe80::1%1", false), ("", false), (" 1.2.3.4", false),
      ("1.2.3.4\0", false),
    ])
  func addressesInTheirOneSpelling(text: String, isOne: Bool) {
    #expect((IPAddress(text) != nil) == isOne)
  }

  @Test(arguments: [
    ("::ffff:10.0.0.1", "10.0.0.1"), ("64:ff9b::10.0.0.1", "10.0.0.1"), ("64:ff9b::7f00:1", "127.0.0.1"),
    ("64:ff9b:1::10.0.0.1", "64:ff9b:1::a00:1"), ("64:ff9b::1:10.0.0.1", "64:ff9b::1:a00:1"),
    ("::10.0.0.1", "::10.0.0.1"),
    ("::1", "::1"), ("10.0.0.1", "10.0.0.1"), ("2002:a00:1::", "2002:a00:1::"),
  ])
  func whatStandsForIPv4(text: String, unwrapped: String) {
    #expect(IPAddress(text)?.unwrapped.description == unwrapped)
  }

  @Test(
    arguments: [
      ("10.0.0.0/8", "10.0.0.0/8"), ("10.1.2.3", "10.1.2.3/32"), ("0.0.0.0/0", "0.0.0.0/0"), ("::/0", "::/0"),
      ("2001:db8::/32", "2001:db8::/32"), ("::1", "::1/128"), ("10.1.2.3/32", "10.1.2.3/32"),
    ])
  func networks(text: String, description: String) throws {
    #expect(try IPNetwork(parsing: text).description == description)
  }

  @Test(
    arguments: [
      ("", "write 192.0.2.0/24"), ("/8", "write 192.0.2.0/24"), ("10/8", "write 192.0.2.0/24"),
      ("example.com/8", "write 192.0.2.0/24"), ("10.0.0.0/33", "a number from 0 to 32"),
      ("10.0.0.0/", "a number from 0 to 32"), ("10.0.0.0/08", "a number from 0 to 32"),
      ("10.0.0.0/+8", "a number from 0 to 32"), ("10.0.0.0/-1", "a number from 0 to 32"),
      ("10.0.0.0/8/8", "a number from 0 to 32"), ("10.0.0.0/255.0.0.0", "a number from 0 to 32"),
      ("10.0.0.0/99999999999999999999", "a number from 0 to 32"), ("::/129", "a number from 0 to 128"),
      ("10.0.0.1/8", "the network is 10.0.0.0/8"), ("2001:db8::1/32", "the network is 2001:db8::/32"),
      ("::ffff:10.0.0.0/104", "write 10.0.0.0/8"), ("64:ff9b::/96", "write 0.0.0.0/0"),
      ("::ffff:192.0.2.1", "write 192.0.2.1/32"), ("::ffff:0:0/90", "write networks of IPv4 and IPv6"),
    ])
  func whatIsNoNetwork(text: String, reason: String) {
    let error = #expect(throws: IPNetworkError.self) { try IPNetwork(parsing: text) }
    #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
  }

  @Test(
    arguments: [
      ("64:ff9b::/96", nil), ("64:ff9b::203.0.113.0/120", nil), ("64:ff9b::192.0.2.1", nil),
      ("::ffff:192.0.2.1", "write 192.0.2.1/32"), ("::ffff:10.0.0.0/104", "write 10.0.0.0/8"),
      ("64:ff9b::192.0.2.1/120", "the network is 64:ff9b::c000:200/120"),
    ] as [(String, String?)])
  func networksBehindANAT64(text: String, reason: String?) throws {
    guard let reason else {
      #expect(throws: Never.self) { try IPNetwork(parsing: text, knowsNAT64: true) }
      return
    }
    let error = #expect(throws: IPNetworkError.self) { try IPNetwork(parsing: text, knowsNAT64: true) }
    #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
  }

  /// Against the bits of what the system reads, one by one.
  @Test func aNetworkHoldsWhatBeginsWithItsBits() throws {
    var random = SeededRandom(seed: 1)
    var inside = 0
    for _ in 0..<20_000 {
      let isV6 = Bool.random(using: &random)
      let length = Int.random(in: 0...(isV6 ? 128 : 32), using: &random)
      let base = Self.randomText(isV6: isV6, near: nil, &random)
      let other = Self.randomText(isV6: isV6, near: base, &random)
      let (baseBits, otherBits) = (try #require(Self.bits(base)), try #require(Self.bits(other)))
      let network = IPNetwork(try #require(IPAddress(base)), prefixLength: length)
      let expected = baseBits.prefix(length).elementsEqual(otherBits.prefix(length))
      #expect(network.contains(try #require(IPAddress(other))) == expected, "\(network) \(other)")
      #expect(try IPNetwork(parsing: network.description) == network || network.address.unwrapped != network.address)
      if expected { inside += 1 }
    }
    #expect(inside > 2000)
  }

  @Test func oneFamilyIsNotInTheOther() throws {
    #expect(try !IPNetwork(parsing: "::/0").contains(try #require(IPAddress("10.0.0.1"))))
    #expect(try !IPNetwork(parsing: "0.0.0.0/0").contains(try #require(IPAddress("::1"))))
  }

  private static func randomText(isV6: Bool, near base: String?, _ random: inout SeededRandom) -> String {
    var bytes = base.flatMap(bytes) ?? []
    if base == nil {
      for _ in 0..<(isV6 ? 16 : 4) { bytes.append(.random(in: 0...255, using: &random)) }
    } else {
      // One bit differs, anywhere.
      let bit = Int.random(in: 0..<(bytes.count * 8), using: &random)
      bytes[bit / 8] ^= 0x80 >> UInt8(bit % 8)
    }
    if !isV6 { return bytes.map(String.init).joined(separator: ".") }
    return (0..<8).map { String(UInt16(bytes[2 * $0]) << 8 | UInt16(bytes[2 * $0 + 1]), radix: 16) }
      .joined(separator: ":")
  }

  private static func bytes(_ text: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 16)
    let isV6 = text.contains(":")
    guard inet_pton(isV6 ? AF_INET6 : AF_INET, text, &bytes) == 1 else { return nil }
    return Array(bytes.prefix(isV6 ? 16 : 4))
  }

  private static func bits(_ text: String) -> [Bool]? {
    bytes(text)?.flatMap { byte in (0..<8).map { byte & (0x80 >> UInt8($0)) != 0 } }
  }

  @Test(arguments: [
    "192.0.2.1", "255.255.255.255", "0.0.0.0", "2001:DB8::1", "::", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8",
    "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "127.1", "010.0.0.1", "0x7f.0.0.1", "[::1]", "fe80::1%1", "",
    " 1.2.3.4", "1.2.3.4 ", "1.2.3.4\0", "\0", ":", "1::2::3", "1.2.3.4:5", "12345::", "é", "1.2.3.4.5",
    "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000",
  ])
  func octetsAreReadAsTextIs(text: String) {
    #expect(Array(text.utf8).withUnsafeBytes { IPAddress(octets: $0) } == IPAddress(text))
  }

  @Test(arguments: [
    ("::ffff:10.0.0.1", "10.0.0.1"), ("::fffe:10.0.0.1", "::fffe:a00:1"), ("64:ff9b::10.0.0.1", "64:ff9b::a00:1"),
    ("1::ffff:10.0.0.1", "1::ffff:a00:1"), ("::10.0.0.1", "::10.0.0.1"), ("10.0.0.1", "10.0.0.1"),
  ])
  func onlyMappedAddressesAreIPv4(text: String, unmapped: String) {
    #expect(IPAddress(text)?.unmapped.description == unmapped)
  }

  @Test(arguments: [("127.0.0.1", true), ("127.9.8.7", true), ("192.0.2.1", false), ("2001:db8::1", false)])
  func theMachinesOwn(text: String, isOwn: Bool) throws {
    #expect(try #require(IPAddress(text)).isOfThisMachine == isOwn)
  }
}

@Suite struct SpecialNetworksTests {
  /// The first and last address of each network, and their neighbours.
  @Test(
    arguments: [
      ("0.0.0.0", false), ("0.255.255.255", false), ("1.0.0.0", true), ("9.255.255.255", true), ("10.0.0.0", false),
      ("10.255.255.255", false), ("11.0.0.0", true), ("100.63.255.255", true), ("100.64.0.0", false),
      ("100.100.100.200", false), ("100.127.255.255", false), ("100.128.0.0", true), ("126.255.255.255", true),
      ("127.0.0.0", false), ("127.255.255.255", false), ("128.0.0.0", true), ("169.253.255.255", true),
      ("169.254.0.0", false), ("169.254.169.254", false), ("169.254.255.255", false), ("169.255.0.0", true),
      ("172.15.255.255", true), ("172.16.0.0", false), ("172.31.255.255", false), ("172.32.0.0", true),
      ("191.255.255.255", true), ("192.0.0.0", false), ("192.0.0.255", false), ("192.0.1.0", true),
      ("192.0.2.0", false),
      ("192.0.2.255", false), ("192.0.3.0", true), ("192.88.98.255", true), ("192.88.99.1", false),
      ("192.88.100.0", true),
      ("192.167.255.255", true), ("192.168.0.0", false), ("192.168.255.255", false), ("192.169.0.0", true),
      ("198.17.255.255", true), ("198.18.0.0", false), ("198.19.255.255", false), ("198.20.0.0", true),
      ("198.51.99.255", true), ("198.51.100.0", false), ("198.51.100.255", false), ("198.51.101.0", true),
      ("203.0.112.255", true), ("203.0.113.0", false), ("203.0.113.255", false), ("203.0.114.0", true),
      ("223.255.255.255", true), ("224.0.0.0", false), ("239.255.255.255", false), ("240.0.0.0", false),
      ("255.255.255.254", false), ("255.255.255.255", false), ("8.8.8.8", true),
      ("::", false), ("::1", false), ("::2", false), ("::7f00:1", false), ("::1:0:0:0", false), ("64:ff9b:1::", false),
      ("64:ff9b:2::", false), ("100::1", false), ("1fff:ffff::", false), ("2000::", true), ("2001::1", false),
      ("2001:1ff:ffff::", false), ("2001:200::", true), ("2001:db7::", true), ("2001:db8::", false),
      ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", false), ("2001:db9::", true), ("2001:ffff::", true), ("2002::", false),
      ("2002:808:808::1", false), ("2003::", true), ("2606:4700::1", true), ("3ffe:ffff::", true), ("3fff::", false),
      ("3fff:fff::", false), ("3fff:1000::", true), ("4000::", false), ("5f00::", false), ("fc00::", false),
      ("fd00:ec2::254", false), ("fdff::", false), ("fe80::1", false), ("febf::", false), ("fec0::", false),
      ("ff02::1", false),
    ] as [(String, Bool)])
  func publicAddresses(text: String, isPublic: Bool) throws {
    let purpose = SpecialNetworks.purpose(of: try #require(IPAddress(text)))
    #expect((purpose == nil) == isPublic, "\(purpose ?? "public")")
  }
}
