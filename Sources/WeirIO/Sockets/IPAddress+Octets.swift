internal import Glibc

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
      return isV6 ? Self.v6(text.baseAddress) : Self.v4(text.baseAddress)
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

  private static func v4(_ text: UnsafePointer<CChar>?) -> IPAddress? {
    guard let text else { return nil }
    var number = UInt32(0)
    return inet_pton(AF_INET, text, &number) == 1 ? .v4(UInt32(bigEndian: number)) : nil
  }

  private static func v6(_ text: UnsafePointer<CChar>?) -> IPAddress? {
    guard let text else { return nil }
    var address = (UInt64(0), UInt64(0))
    guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
    return .v6(high: UInt64(bigEndian: address.0), low: UInt64(bigEndian: address.1))
  }
}
