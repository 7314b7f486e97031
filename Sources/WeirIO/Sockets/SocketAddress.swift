internal import CLinux
internal import Glibc

/// Where a socket listens or what it is connected to.
package enum SocketAddress: Hashable, Sendable {
  /// The four bytes of the address in network order, and the port.
  case v4(UInt32, port: UInt16)
  /// The sixteen bytes of the address in network order as two halves, and the port.
  case v6(high: UInt64, low: UInt64, scope: UInt32 = 0, port: UInt16)
  case unix(path: String)

  /// Reads `127.0.0.1:8080`, `[::1]:8080`, `:8080` (all addresses), `localhost:8080` and `unix:/path`.
  package init(parsing text: String) throws(SocketAddressError) {
    throw SocketAddressError(text: text)
  }

  /// Nil for a Unix socket.
  package var port: UInt16? { nil }
}

package struct SocketAddressError: Error, Hashable, Sendable, CustomStringConvertible {
  package let text: String
  package var description: String { text }
}
