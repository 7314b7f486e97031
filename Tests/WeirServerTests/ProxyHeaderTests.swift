import Testing
import WeirIO

@testable import WeirServer

@Suite struct ProxyHeaderTests {
  /// The result for the whole input of a row.
  enum Expected: Sendable {
    /// The address as `SocketAddress` describes it; nil if the peer is kept.
    case source(String?)
    case refused(ProxyHeader.Refusal)
    case needsMore
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let expected: Expected

    init(_ line: String, _ expected: Expected) {
      testDescription = line.debugDescription
      bytes = Array(line.utf8)
      self.expected = expected
    }

    /// A header of version 2.
    ///
    /// - Parameter length: the length it claims; nil for that of `block`.
    init(
      _ description: String, _ versionAndCommand: UInt8, _ family: UInt8, length: Int? = nil, _ block: [UInt8],
      _ expected: Expected
    ) {
      testDescription = description
      let length = length ?? block.count
      let fixed = [versionAndCommand, family, UInt8(length >> 8), UInt8(length & 0xff)]
      bytes = ProxyHeaderTests.signature + fixed + block
      self.expected = expected
    }

    private var isVersion2: Bool { bytes.starts(with: ProxyHeaderTests.signature) }

    /// The length of the header that the bytes begin.
    var length: Int { isVersion2 ? 16 + Int(bytes[14]) << 8 + Int(bytes[15]) : bytes.count }

    /// How many of the bytes tell the source: what follows the addresses of version 2 tells nothing.
    var enough: Int {
      guard isVersion2 else { return bytes.count }
      return bytes[12] & 0xf == 0 ? 16 : 16 + ([0x11: 12, 0x21: 36][bytes[13]] ?? 0)
    }
  }

  static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
  /// 192.0.2.1:56324 to 198.51.100.7:443.
  static let v4: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 7, 0xdc, 0x04, 0x01, 0xbb]
  /// [2001:db8::1]:56324 to [2001:db8:ffff::2]:443.
  static let v6: [UInt8] =
    [0x20, 0x01, 0x0d, 0xb8] + zeros(11) + [1] + [0x20, 0x01, 0x0d, 0xb8, 0xff, 0xff] + zeros(9) + [2]
    + [0xdc, 0x04, 0x01, 0xbb]
  static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  static let longestV6 = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"

  static let lines: [Row] = [
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n", .source("192.0.2.1:56324")),
    Row("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", .source("255.255.255.255:65535")),
    Row("PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n", .source("0.0.0.0:0")),
    Row("PROXY TCP6 2001:db8::1 2001:db8::2 56324 443\r\n", .source("[2001:db8::1]:56324")),
    Row("PROXY TCP6 2001:DB8:0:0:0:0:0:A ::1 1 2\r\n", .source("[2001:db8::a]:1")),
    Row("PROXY TCP6 \(longestV6) \(longestV6) 65535 65535\r\n", .source("[\(longestV6)]:65535")),
    Row("PROXY TCP6 ::ffff:192.0.2.1 ::ffff:198.51.100.7 1 2\r\n", .source("192.0.2.1:1")),
    Row("PROXY TCP6 64:ff9b::192.0.2.1 ::1 1 2\r\n", .source("[64:ff9b::c000:201]:1")),
    Row("PROXY UNKNOWN\r\n", .source(nil)),
    Row("PROXY UNKNOWN \r\n", .source(nil)),
    Row("PROXY UNKNOWN \(longestV6) \(longestV6) 65535 65535\r\n", .source(nil)),
    Row("PROXY UNKNOWN \u{0}\u{1}/what ever\u{ff}\r\n", .source(nil)),
    Row("PROXY UNKNOWN " + String(repeating: "x", count: 91) + "\r\n", .source(nil)),
    Row("PROXY UNKNOWN " + String(repeating: "x", count: 92) + "\r\n", .refused(.tooLong)),
    Row("PROXY UNKNOWN a\nb\r\n", .refused(.line)),
    Row("PROXY UNKNOWN a\rb\r\n", .refused(.line)),
    Row("PROXY UNKNOWNS\r\n", .refused(.family)),
    Row("PROXY UNIX /a /b\r\n", .refused(.family)),
    Row("PROXY UDP4 192.0.2.1 198.51.100.7 1 2\r\n", .refused(.family)),
    Row("PROXY TCP5 192.0.2.1 198.51.100.7 1 2\r\n", .refused(.family)),
    Row("PROXY tcp4 192.0.2.1 198.51.100.7 1 2\r\n", .refused(.family)),
    Row("PROXY TCP4\r\n", .refused(.family)),
    Row("PROXY  TCP4 192.0.2.1 198.51.100.7 1 2\r\n", .refused(.family)),
    Row("PROXY\tTCP4 192.0.2.1 198.51.100.7 1 2\r\n", .refused(.signature)),
    Row("proxy TCP4 192.0.2.1 198.51.100.7 1 2\r\n", .refused(.signature)),
    Row("PROXY TCP4  192.0.2.1 198.51.100.7 1 2\r\n", .refused(.line)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 1\r\n", .refused(.line)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 1 2 \r\n", .refused(.line)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 1 2 3\r\n", .refused(.line)),
    Row("PROXY TCP4 192.0.2.1  198.51.100.7 1\r\n", .refused(.address)),
    Row("PROXY TCP4 192.0.2.1\t198.51.100.7 1 2\r\n", .refused(.line)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 1 2\n", .refused(.line)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 1 2\r\r\n", .refused(.line)),
    Row("PROXY TCP4 192.0.2.1\u{0} 198.51.100.7 1 2\r\n", .refused(.line)),
    Row("PROXY TCP4 192.0.2.01 198.51.100.7 1 2\r\n", .refused(.address)),
    Row("PROXY TCP4 192.0.513 198.51.100.7 1 2\r\n", .refused(.address)),
    Row("PROXY TCP4 192.0.2.256 198.51.100.7 1 2\r\n", .refused(.address)),
    Row("PROXY TCP4 ::1 198.51.100.7 1 2\r\n", .refused(.address)),
    Row("PROXY TCP4 192.0.2.1 ::1 1 2\r\n", .refused(.address)),
    Row("PROXY TCP6 192.0.2.1 ::1 1 2\r\n", .refused(.address)),
    Row("PROXY TCP6 ::1 192.0.2.1 1 2\r\n", .refused(.address)),
    Row("PROXY TCP6 ::1%1 ::2 1 2\r\n", .refused(.line)),
    Row("PROXY TCP6 [::1] ::2 1 2\r\n", .refused(.line)),
    Row("PROXY TCP6 1::2::3 ::2 1 2\r\n", .refused(.address)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 01 2\r\n", .refused(.port)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 1 00\r\n", .refused(.port)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 65536 2\r\n", .refused(.port)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 1 99999\r\n", .refused(.port)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 a 2\r\n", .refused(.port)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7  2\r\n", .refused(.port)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 -1 2\r\n", .refused(.line)),
    Row("PROXY TCP4 " + String(repeating: "1", count: 200) + "\r\n", .refused(.tooLong)),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 1 2", .needsMore),
    Row("PROXY TCP4 192.0.2.1 198.51.100.7 1 2\r", .needsMore),
    Row("P", .needsMore),
    Row("", .needsMore),
    Row("GET / HTTP/1.1\r\nHost: a\r\n\r\n", .refused(.signature)),
    Row("PUT / HTTP/1.1\r\nHost: a\r\n\r\n", .refused(.signature)),
    Row("PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n", .refused(.signature)),
    Row("PROXY / HTTP/1.1\r\nHost: a\r\n\r\n", .refused(.family)),
    Row("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .refused(.signature)),
    Row("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", .refused(.signature)),
    Row("\n", .refused(.signature)),
    Row("\u{16}\u{3}\u{1}", .refused(.signature)),
  ]

  static let blocks: [Row] = [
    Row("v2 IPv4", 0x21, 0x11, v4, .source("192.0.2.1:56324")),
    Row("v2 IPv6", 0x21, 0x21, v6, .source("[2001:db8::1]:56324")),
    Row(
      "v2 IPv4-mapped", 0x21, 0x21, zeros(10) + [0xff, 0xff, 192, 0, 2, 1] + zeros(16) + v4[8...],
      .source("192.0.2.1:56324")),
    Row("v2 IPv4 and TLVs", 0x21, 0x11, v4 + [0x01, 0, 2, 0x68, 0x32, 0x04, 0, 0], .source("192.0.2.1:56324")),
    Row("v2 IPv4 and no whole TLV", 0x21, 0x11, v4 + [0x01, 0xff], .source("192.0.2.1:56324")),
    Row("v2 IPv4, 4,096 octets", 0x21, 0x11, v4 + zeros(4_096 - 28), .source("192.0.2.1:56324")),
    Row("v2 IPv4, 65,551 octets claimed", 0x21, 0x11, length: 65_535, v4, .source("192.0.2.1:56324")),
    Row("v2 LOCAL", 0x20, 0x00, [], .source(nil)),
    Row("v2 LOCAL with addresses", 0x20, 0x11, v4, .source(nil)),
    Row("v2 LOCAL of an unknown family", 0x20, 0xff, [1, 2, 3], .source(nil)),
    Row("v2 LOCAL, 4,096 octets", 0x20, 0x00, zeros(4_080), .source(nil)),
    Row("v2 AF_UNSPEC", 0x21, 0x00, [], .source(nil)),
    Row("v2 AF_UNSPEC with TLVs", 0x21, 0x00, [0x04, 0, 1, 0], .source(nil)),
    Row("v2 AF_UNSPEC and STREAM", 0x21, 0x01, [], .refused(.family)),
    Row("v2 UDP over IPv4", 0x21, 0x12, v4, .source(nil)),
    Row("v2 UDP over IPv6", 0x21, 0x22, v6, .source(nil)),
    Row("v2 UDP over IPv4, with TLVs", 0x21, 0x12, v4 + [0x04, 0, 1, 0], .source(nil)),
    Row("v2 UDP over IPv4, empty", 0x21, 0x12, [], .source(nil)),
    Row("v2 AF_INET of no transport", 0x21, 0x10, v4, .refused(.family)),
    Row("v2 AF_INET6 of no transport", 0x21, 0x20, v6, .refused(.family)),
    Row("v2 AF_UNIX of no transport", 0x21, 0x30, zeros(216), .refused(.family)),
    Row("v2 AF_UNIX", 0x21, 0x31, zeros(216), .source(nil)),
    Row("v2 AF_UNIX and DGRAM", 0x21, 0x32, zeros(216), .source(nil)),
    Row("v2 AF_UNIX of an unknown transport", 0x21, 0x33, zeros(216), .refused(.family)),
    Row("v2 unknown family", 0x21, 0x41, v4, .refused(.family)),
    Row("v2 unknown transport", 0x21, 0x13, v4, .refused(.family)),
    Row("v2 unknown command", 0x22, 0x11, v4, .refused(.command)),
    Row("v2 version 1", 0x11, 0x11, v4, .refused(.version)),
    Row("v2 version 3", 0x31, 0x11, v4, .refused(.version)),
    Row("v2 IPv4, short", 0x21, 0x11, length: 11, v4, .refused(.length)),
    Row("v2 IPv4, empty", 0x21, 0x11, [], .refused(.length)),
    Row("v2 IPv6, short", 0x21, 0x21, length: 35, v6, .refused(.length)),
    Row("v2 IPv6 with the addresses of IPv4", 0x21, 0x21, v4, .refused(.length)),
    Row("v2 IPv4 without its TLVs", 0x21, 0x11, length: 20, v4, .source("192.0.2.1:56324")),
    Row("v2 IPv4, cut", 0x21, 0x11, length: 12, v4.dropLast(), .needsMore),
  ]

  /// The whole input, and each shorter one: before the length that decides, more is needed, and from there on the
  /// result is the same.
  @Test(arguments: lines + blocks)
  func readsPieceByPiece(row: Row) {
    let whole = read(row.bytes)
    expect(whole, row.expected, length: row.length)
    var first: ProxyHeader.Reading?
    for count in 0...row.bytes.count {
      let reading = read(row.bytes.prefix(count))
      if first == nil, reading != .needsMore { first = reading }
      #expect(reading == first ?? .needsMore, "\(count) octets")
      if case .source = row.expected { #expect((reading == .needsMore) == (count < row.enough)) }
    }
    #expect(whole == first ?? .needsMore)
  }

  @Test(arguments: lines + blocks, ["GET / HTTP/1.1\r\n", "PROXY UNKNOWN\r\n", "\r\n", "\u{0}", "0"])
  func whatFollowsIsLeftAlone(row: Row, rest: String) {
    let whole = read(row.bytes)
    if whole == .needsMore { return }
    #expect(read(row.bytes + rest.utf8) == whole)
  }

  /// Every octet is needed, and none is taken beyond the bounds of the document.
  @Test func theOctetThatDecides() {
    let long = Array(("PROXY UNKNOWN " + String(repeating: "x", count: 91) + "\r\n").utf8)
    #expect(long.count == ProxyHeader.longestLine)
    #expect(read(long) == .header(length: 107, source: nil))
    let endless = Array("PROXY UNKNOWN ".utf8) + [UInt8](repeating: 0x78, count: 1_000)
    #expect(decision(endless)?.count == 106)
    let version2 = Self.signature + [0x21, 0x11, 0, 12] + Self.v4
    for (index, change) in [(0, 1), (1, 2), (4, 5), (11, 12), (12, 13), (13, 14)] {
      var bytes = version2
      bytes[index] ^= 0xf0
      #expect(decision(bytes)?.count == change, "octet \(index)")
    }
    #expect(decision(Self.signature + [0x21, 0x11, 0, 11])?.count == 16)
    #expect(decision(Array("GET".utf8))?.count == 1)
    #expect(decision(Array("POST".utf8))?.count == 2)
    #expect(decision(Array("PROXY /".utf8))?.count == 7)
    #expect(decision(Array("PROXY TCP4 x".utf8))?.count == 12)
  }

  /// The format's own bound is the only one, and the source is known before the header is whole.
  @Test func theLongestHeader() {
    let long = Self.signature + [0x21, 0x11, 0xff, 0xff] + Self.v4
    #expect(ProxyHeader.longest == 65_551)
    #expect(read(long) == .header(length: ProxyHeader.longest, source: .v4(0xc000_0201, port: 56_324)))
  }

  @Test(arguments: [lines[0], lines[3], lines[8], blocks[0], blocks[1], blocks[8]])
  func headersAreNoRequests(row: Row) {
    var parser = RequestParser(limits: RequestParser.Limits(ServerLimits()))
    let bytes = row.bytes + Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    var position = 0
    guard case .refused(let refusal) = parser.next(bytes.span, at: &position) else {
      Issue.record("read as a request")
      return
    }
    #expect(refusal.status == 400)
  }

  @Test(arguments: ["PROXY UNKNOWN HTTP/1.1\r\n", "PROXY TCP4 HTTP/1.1\r\n"])
  func notEvenWithAVersion(line: String) {
    var parser = RequestParser(limits: RequestParser.Limits(ServerLimits()))
    var position = 0
    let event = parser.next(Array("\(line)Host: a\r\n\r\n".utf8).span, at: &position)
    guard case .refused = event else {
      Issue.record("read as a request")
      return
    }
  }

  private func read(_ bytes: some Collection<UInt8>) -> ProxyHeader.Reading {
    let bytes = Array(bytes)
    return ProxyHeader.read(bytes.span)
  }

  private func expect(_ reading: ProxyHeader.Reading, _ expected: Expected, length: Int) {
    switch (reading, expected) {
    case (.header(let read, let source), .source(let text)):
      #expect(read == length)
      #expect(source?.description == text)
    case (.refused(let refusal), .refused(let other)): #expect(refusal == other)
    case (.needsMore, .needsMore): break
    default: Issue.record("\(reading) in place of \(expected)")
    }
  }

  /// The shortest beginning of `bytes` that is enough for a result.
  private func decision(_ bytes: [UInt8]) -> (count: Int, reading: ProxyHeader.Reading)? {
    for count in 0...bytes.count {
      let reading = read(bytes.prefix(count))
      if reading != .needsMore { return (count, reading) }
    }
    return nil
  }
}
