import WeirHTTP
package import WeirIO

/// Reads the header with which a proxy begins a connection, to tell whose connection it passes on (haproxy's
/// proxy-protocol.txt, versions 1 and 2).
///
/// The header is read from all input so far, of which 107 octets are enough. Once a part of the input decides, more input
/// changes nothing. A defect is refused at the octet that shows it: no request of HTTP begins like either version.
package enum ProxyHeader {
  package enum Reading: Hashable, Sendable {
    /// The input is the beginning of a header.
    case needsMore
    case refused(Refusal)
    /// A header of `length` octets; the client's own octets follow. The end of a header of version 2, which tells of no
    /// source, may be still to come.
    ///
    /// The source is the address of the client that the proxy passes on, IPv4 if it is IPv4-mapped IPv6. It is nil if
    /// the connection's peer counts as the client: for LOCAL, UNKNOWN, AF_UNSPEC, and what has no address of TCP.
    case header(length: Int, source: SocketAddress?)
  }

  /// The reason why input is no header: a fixed text without any part of the input.
  package enum Refusal: String, Error, Hashable, Sendable {
    case signature = "the connection doesn't begin with a PROXY header"
    case version = "the PROXY header's version is unknown"
    case command = "the PROXY header's command is unknown"
    case family = "the PROXY header's protocol or address family is unknown"
    case line = "the PROXY header's line is malformed"
    case address = "the PROXY header has a malformed address"
    case port = "the PROXY header has a malformed port"
    case length = "the PROXY header is shorter than its addresses"
    case tooLong = "the PROXY header is too long"
  }

  /// The greatest length of a header of version 1 with its CRLF (section 2.1).
  package static let longestLine = 107
  /// The greatest length of a header of version 2, and so of any: the fixed part, and as much as its length can tell.
  package static let longest = fixedPart + 0xffff

  /// Reads the header at the beginning of `input`, which is everything received on the connection.
  package static func read(_ input: Span<UInt8>) -> Reading {
    guard input.count > 0 else { return .needsMore }
    do throws(Refusal) {
      return try input[0] == .carriageReturn ? readVersion2(input) : readVersion1(input)
    } catch {
      return .refused(error)
    }
  }

  // MARK: Version 1

  private static func readVersion1(_ input: Span<UInt8>) throws(Refusal) -> Reading {
    let signature: StaticString = "PROXY "
    let start = signature.utf8CodeUnitCount
    guard input.agrees(with: signature, at: 0) else { throw .signature }
    guard input.count > start else { return .needsMore }
    return try input[start] == UInt8(ascii: "U") ? readUnknown(input, at: start) : readTCP(input, at: start)
  }

  /// Whatever follows UNKNOWN has no meaning. A bare CR or LF is refused, since other parsers would end the line there.
  private static func readUnknown(_ input: Span<UInt8>, at start: Int) throws(Refusal) -> Reading {
    let word: StaticString = "UNKNOWN"
    let next = start + word.utf8CodeUnitCount
    guard input.agrees(with: word, at: start) else { throw .family }
    guard next < input.count else { return .needsMore }
    guard input[next] == .space || input[next] == .carriageReturn else { throw .family }
    guard let end = try lineEnd(input, from: next, allowing: { $0 != .lineFeed }) else { return .needsMore }
    return .header(length: end + 2, source: nil)
  }

  private static func readTCP(_ input: Span<UInt8>, at start: Int) throws(Refusal) -> Reading {
    let isV4 = input.agrees(with: "TCP4 ", at: start)
    guard isV4 || input.agrees(with: "TCP6 ", at: start) else { throw .family }
    let addresses = start + 5
    let end = try lineEnd(input, from: addresses) { OctetSet.ipLiteral.contains($0) || $0 == .space }
    guard let end else { return .needsMore }
    let source = try input.withUnsafeBytes { (octets) throws(Refusal) in
      try readEndpoints(octets.octets(addresses..<end), isV4: isV4)
    }
    return .header(length: end + 2, source: source)
  }

  /// Returns the index of the CR that ends the line; nil if the line goes on.
  private static func lineEnd(
    _ input: Span<UInt8>, from start: Int, allowing isAllowed: (UInt8) -> Bool
  ) throws(Refusal) -> Int? {
    var index = start
    // The CR is at the latest the octet before the last.
    while index < min(input.count, longestLine - 1) {
      if input[index] == .carriageReturn {
        guard index + 1 < input.count else { return nil }
        guard input[index + 1] == .lineFeed else { throw .line }
        return index
      }
      guard isAllowed(input[index]) else { throw .line }
      index += 1
    }
    if input.count >= longestLine - 1 { throw .tooLong }
    return nil
  }

  /// Reads both addresses and both ports, with single spaces between them. All have to be valid.
  private static func readEndpoints(_ text: UnsafeRawBufferPointer, isV4: Bool) throws(Refusal) -> SocketAddress {
    var words = FieldParts(text, separator: .space, respectsQuotes: false)
    guard let source = words.next(), let destination = words.next(), let sourcePort = words.next(),
      let destinationPort = words.next(), words.next() == nil
    else { throw .line }
    guard let address = IPAddress(octets: source), address.isV4 == isV4,
      let other = IPAddress(octets: destination), other.isV4 == isV4
    else { throw .address }
    guard let port = readPort(sourcePort), readPort(destinationPort) != nil else { throw .port }
    return SocketAddress(address, port: port)
  }

  private static func readPort(_ text: UnsafeRawBufferPointer) -> UInt16? {
    guard (1...5).contains(text.count), text.count == 1 || text[0] != UInt8(ascii: "0") else { return nil }
    return text.decimal.flatMap { UInt16(exactly: $0) }
  }

  // MARK: Version 2

  /// The sixteen octets that every header of version 2 has: signature, version and command, family, length (section
  /// 2.2).
  private static let fixedPart = 16

  private static func readVersion2(_ input: Span<UInt8>) throws(Refusal) -> Reading {
    guard input.agrees(with: "\r\n\r\n\0\r\nQUIT\n", at: 0) else { throw .signature }
    guard input.count > 12 else { return .needsMore }
    guard input[12] >> 4 == 2 else { throw .version }
    guard input[12] & 0xf <= 1 else { throw .command }
    guard input.count > 13 else { return .needsMore }
    let block = try addressBlock(family: input[13], isLocal: input[12] & 0xf == 0)
    guard input.count >= fixedPart else { return .needsMore }
    let rest = Int(input[14]) << 8 | Int(input[15])
    guard rest >= block else { throw .length }
    guard input.count >= fixedPart + block else { return .needsMore }
    return .header(length: fixedPart + rest, source: source(in: input, block))
  }

  /// The octets of both addresses and both ports.
  private static let v4Block = 12
  private static let v6Block = 36

  /// The length of the addresses and ports; 0 if there are none. A receiver ignores the family of a LOCAL connection, such
  /// as a proxy's own health check. For the families that it knows and has no use for, UDP and Unix sockets, it falls back
  /// to AF_UNSPEC.
  private static func addressBlock(family: UInt8, isLocal: Bool) throws(Refusal) -> Int {
    switch family {
    case _ where isLocal: 0
    case 0x00, 0x12, 0x22, 0x31, 0x32: 0
    case 0x11: v4Block
    case 0x21: v6Block
    default: throw .family
    }
  }

  /// The source's address and, behind the destination's address, its port.
  private static func source(in input: Span<UInt8>, _ block: Int) -> SocketAddress? {
    switch block {
    case v4Block:
      let number = UInt32(truncatingIfNeeded: input.number(at: fixedPart, octets: 4))
      return SocketAddress(.v4(number), port: UInt16(truncatingIfNeeded: input.number(at: fixedPart + 8, octets: 2)))
    case v6Block:
      let address = IPAddress.v6(
        high: input.number(at: fixedPart, octets: 8), low: input.number(at: fixedPart + 8, octets: 8))
      return SocketAddress(address, port: UInt16(truncatingIfNeeded: input.number(at: fixedPart + 32, octets: 2)))
    default: return nil
    }
  }
}

extension IPAddress {
  fileprivate var isV4: Bool { if case .v4 = self { true } else { false } }
}

extension SocketAddress {
  /// A listener for both versions of IP may have seen the client as IPv4-mapped IPv6; that is read as IPv4, as the
  /// addresses of sockets are.
  fileprivate init(_ address: IPAddress, port: UInt16) {
    switch address.unmapped {
    case .v4(let number): self = .v4(number, port: port)
    case .v6(let high, let low): self = .v6(high: high, low: low, port: port)
    }
  }
}

extension Span<UInt8> {
  /// Whether the octets from `start` on are `text`, as far as there are any.
  fileprivate func agrees(with text: StaticString, at start: Int) -> Bool {
    var index = 0
    while index < text.utf8CodeUnitCount, start + index < count {
      guard self[start + index] == text.utf8Start[index] else { return false }
      index += 1
    }
    return true
  }

  /// The big-endian number in the octets from `start` on, all of which are there.
  fileprivate func number(at start: Int, octets: Int) -> UInt64 {
    var number = UInt64(0)
    for index in start..<start + octets { number = number << 8 | UInt64(self[index]) }
    return number
  }
}
