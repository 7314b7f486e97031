internal import CLinux
internal import Glibc

/// The address that a socket listens on or is connected to.
package enum SocketAddress: Hashable, Sendable {
  /// An IPv4 address, its four bytes read as one big-endian number, and the port.
  case v4(UInt32, port: UInt16)
  /// An IPv6 address, its sixteen bytes read as two big-endian numbers; the interface if the address is link-local; the
  /// port.
  case v6(high: UInt64, low: UInt64, scope: UInt32 = 0, port: UInt16)
  case unix(path: String)
  /// The address of a peer that has none, as the clients of Unix sockets do.
  case unnamed

  package static func loopback(port: UInt16) -> SocketAddress { .v4(0x7f00_0001, port: port) }
  /// All addresses of the machine, of both versions of IP if it has both.
  package static func any(port: UInt16) -> SocketAddress { .v6(high: 0, low: 0, port: port) }

  /// The port; nil for a Unix socket.
  package var port: UInt16? {
    switch self {
    case .v4(_, let port), .v6(_, _, _, let port): port
    case .unix, .unnamed: nil
    }
  }

  /// Whether sockets can't listen at both addresses: they are the same, or have one port and one of them stands for the
  /// other too. The unspecified IPv6 address stands for those of IPv4 as well.
  package func overlaps(_ other: SocketAddress) -> Bool {
    if self == other { return true }
    guard let port, port != 0, port == other.port else { return false }
    return includes(other) || other.includes(self)
  }

  /// Whether the address stands for all addresses of a machine, of which `other` is one.
  private func includes(_ other: SocketAddress) -> Bool {
    switch (self, other) {
    case (.v6(high: 0, low: 0, _, _), _), (.v4(0, _), .v4): true
    default: false
    }
  }

  /// The address without its port, such as `192.0.2.1` or `2001:db8::1`, or the path of a Unix socket.
  package var host: String {
    switch self {
    case .v4(let address, _): Self.text(AF_INET, address.bigEndian)
    case .v6(let high, let low, let scope, _):
      Self.text(AF_INET6, (high.bigEndian, low.bigEndian)) + (scope == 0 ? "" : "%\(scope)")
    case .unix(let path): path
    case .unnamed: ""
    }
  }

  private static func text<Address>(_ family: CInt, _ address: Address) -> String {
    withUnsafeBytes(of: address) { source in
      String(unsafeUninitializedCapacity: Int(INET6_ADDRSTRLEN)) { text in
        let end = text.withMemoryRebound(to: CChar.self) {
          inet_ntop(family, source.baseAddress, $0.baseAddress, socklen_t($0.count))
        }
        return end == nil ? 0 : text.prefix { $0 != 0 }.count
      }
    }
  }
}

extension SocketAddress: CustomStringConvertible {
  /// In the form that `init(parsing:)` reads.
  package var description: String {
    switch self {
    case .v4(_, let port): "\(host):\(port)"
    case .v6(_, _, _, let port): "[\(host)]:\(port)"
    case .unix(let path): "unix:\(path)"
    case .unnamed: "unix:"
    }
  }
}
