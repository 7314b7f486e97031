internal import CLinux
internal import Glibc

/// An IP address, without port and interface.
package enum IPAddress: Hashable, Sendable {
  /// The four bytes read as one big-endian number.
  case v4(UInt32)
  /// The sixteen bytes read as two big-endian numbers.
  case v6(high: UInt64, low: UInt64)

  /// Reads `192.0.2.1` and `2001:db8::1`, and no other spelling.
  package init?(_ text: some StringProtocol) {
    guard !text.utf8.contains(0) else { return nil }
    let text = String(text)
    guard let address = Self(v6: text) ?? Self(v4: text) else { return nil }
    self = address
  }

  /// Reads a URL's host as a resolver does, including `127.1`, `0x7f000001`, `0177.0.0.1` and `2130706433`. A dot at
  /// the end is accepted, and so are brackets and a zone of an IPv6 address. Nil for names.
  package init?(host: some StringProtocol) {
    var bytes = Array(host.utf8)[...]
    if bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]") { bytes = bytes.dropFirst().dropLast() }
    if bytes.contains(UInt8(ascii: ":")) {
      self.init(String(decoding: bytes.prefix { $0 != UInt8(ascii: "%") }, as: UTF8.self))
      return
    }
    if bytes.last == UInt8(ascii: ".") { bytes = bytes.dropLast() }
    var number = in_addr()
    // `inet_aton` stops at blanks, which no host holds.
    guard !bytes.contains(where: { $0 <= UInt8(ascii: " ") }) else { return nil }
    guard inet_aton(String(decoding: bytes, as: UTF8.self), &number) == 1 else { return nil }
    self = .v4(UInt32(bigEndian: number.s_addr))
  }

  /// Reads `192.0.2.1`.
  init?(v4 text: UnsafePointer<CChar>) {
    var number = UInt32(0)
    guard inet_pton(AF_INET, text, &number) == 1 else { return nil }
    self = .v4(UInt32(bigEndian: number))
  }

  /// Reads `2001:db8::1`.
  init?(v6 text: UnsafePointer<CChar>) {
    var address = (UInt64(0), UInt64(0))
    guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
    self = .v6(high: UInt64(bigEndian: address.0), low: UInt64(bigEndian: address.1))
  }

  /// Nil for a Unix socket's address.
  package init?(_ address: SocketAddress) {
    switch address {
    case .v4(let number, _): self = .v4(number)
    case .v6(let high, let low, _, _): self = .v6(high: high, low: low)
    case .unix, .unnamed: return nil
    }
  }

  /// The IPv4 address that an IPv6 address stands for: `::ffff:192.0.2.1` (RFC 4291 §2.5.5.2) and, behind a NAT64,
  /// `64:ff9b::192.0.2.1` (RFC 6052 §2.1). Other addresses are unchanged.
  package var unwrapped: IPAddress {
    guard case .v6(let high, let low) = self else { return self }
    let isMapped = high == 0 && low >> 32 == 0xffff
    let isTranslated = high == 0x0064_ff9b_0000_0000 && low >> 32 == 0
    return isMapped || isTranslated ? .v4(UInt32(truncatingIfNeeded: low)) : self
  }

  /// The address that Linux connects to: the loopback address in place of the unspecified one, `0.0.0.0` or `::`. Other
  /// addresses are unchanged.
  package var connected: IPAddress {
    switch self {
    case .v4(0): .v4(0x7f00_0001)
    case .v6(high: 0, low: 0): .v6(high: 0, low: 1)
    default: self
    }
  }
}

/// Addresses in octets that were received, which are read where they lie.
extension IPAddress {
  /// The length of the longest spelling, `INET6_ADDRSTRLEN` without its NUL.
  private static let longestSpelling = 45

  /// Reads what `init(_:)` reads, without allocating memory.
  package init?(octets: UnsafeRawBufferPointer) {
    guard !octets.isEmpty, octets.count <= Self.longestSpelling, !octets.contains(0) else { return nil }
    let isV6 = octets.contains(0x3a)
    let read = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Self.longestSpelling + 1) { text -> IPAddress? in
      let bytes = UnsafeMutableRawBufferPointer(text)
      bytes.copyMemory(from: octets)
      bytes[octets.count] = 0
      guard let text = text.baseAddress else { return nil }
      return isV6 ? IPAddress(v6: text) : IPAddress(v4: text)
    }
    guard let read else { return nil }
    self = read
  }

  /// The IPv4 address in an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2); other addresses are unchanged. Unlike
  /// `unwrapped` it keeps the addresses behind a NAT64, whose senders are others than the IPv4 address's owner.
  package var unmapped: IPAddress {
    guard case .v6(high: 0, let low) = self, low >> 32 == 0xffff else { return self }
    return .v4(UInt32(truncatingIfNeeded: low))
  }
}

extension IPAddress: CustomStringConvertible {
  package var description: String {
    switch self {
    case .v4(let number): SocketAddress.v4(number, port: 0).host
    case .v6(let high, let low): SocketAddress.v6(high: high, low: low, port: 0).host
    }
  }
}
