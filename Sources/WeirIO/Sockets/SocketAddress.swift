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

extension SocketAddress {
  /// Reads `127.0.0.1:8080`, `[::1]:8080`, `:8080` (all addresses), `localhost:8080` and `unix:/path`.
  ///
  /// Names other than `localhost` are not looked up: the program can't guess which of a name's addresses to listen on.
  package init(parsing text: String) throws(SocketAddressError) {
    if text.hasPrefix("unix:") {
      self = try Self.unix(String(text.dropFirst(5)), in: text)
      return
    }
    guard let colon = text.lastIndex(of: ":") else { throw SocketAddressError(text: text, problem: .missingPort) }
    guard let port = Self.port(text[text.index(after: colon)...]) else {
      throw SocketAddressError(text: text, problem: .badPort)
    }
    guard let address = Self.address(of: text[..<colon], port: port) else {
      throw SocketAddressError(text: text, problem: .badHost)
    }
    self = address
  }

  private static func unix(_ path: String, in text: String) throws(SocketAddressError) -> SocketAddress {
    guard !path.isEmpty, !path.utf8.contains(0), path.utf8.count < Self.unixPathCapacity else {
      throw SocketAddressError(text: text, problem: .badPath)
    }
    return .unix(path: path)
  }

  private static func port(_ text: Substring) -> UInt16? {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }  // UInt16 would take a sign
    return UInt16(text)
  }

  private static func address(of host: Substring, port: UInt16) -> SocketAddress? {
    switch host {
    case "": return .any(port: port)
    case "localhost": return .loopback(port: port)
    default: break
    }
    if host.hasPrefix("["), host.hasSuffix("]") {
      guard case .v6(let high, let low)? = IPAddress(v6: String(host.dropFirst().dropLast())) else { return nil }
      return .v6(high: high, low: low, port: port)
    }
    guard case .v4(let number)? = IPAddress(v4: String(host)) else { return nil }
    return .v4(number, port: port)
  }
}

/// The reason why a text is not an address to listen on.
package struct SocketAddressError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Problem: Hashable, Sendable {
    case missingPort
    case badPort
    case badHost
    case badPath
  }

  package let text: String
  package let problem: Problem

  package var description: String {
    switch problem {
    case .missingPort: "'\(text)' has no port; write 127.0.0.1:8080, [::1]:8080, :8080 or unix:/path"
    case .badPort: "'\(text)' has no valid port; ports are numbers from 0 to 65535"
    case .badHost: "'\(text)' has no valid host; write an IPv4 address, an IPv6 address in brackets, or localhost"
    case .badPath: "'\(text)' has no valid socket path; it holds 1 to \(SocketAddress.unixPathCapacity - 1) bytes"
    }
  }
}

/// Conversion between this type and the system's `sockaddr` structures.
extension SocketAddress {
  /// Bytes of `sun_path`, its closing NUL included.
  static let unixPathCapacity = MemoryLayout.size(ofValue: sockaddr_un().sun_path)

  var family: CInt {
    switch self {
    case .v4: AF_INET
    case .v6: AF_INET6
    case .unix, .unnamed: AF_UNIX
    }
  }

  func withSystemAddress(_ call: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
    switch self {
    case .v4(let address, let port):
      var system = sockaddr_in()
      system.sin_family = sa_family_t(AF_INET)
      system.sin_port = port.bigEndian
      system.sin_addr.s_addr = address.bigEndian
      return Self.pass(&system, call)
    case .v6(let high, let low, let scope, let port):
      var system = sockaddr_in6()
      system.sin6_family = sa_family_t(AF_INET6)
      system.sin6_port = port.bigEndian
      system.sin6_scope_id = scope
      withUnsafeMutableBytes(of: &system.sin6_addr) {
        $0.storeBytes(of: high.bigEndian, toByteOffset: 0, as: UInt64.self)
        $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
      }
      return Self.pass(&system, call)
    case .unix(let path):
      var system = sockaddr_un()
      system.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &system.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
      return Self.pass(&system, call)
    case .unnamed:
      var system = sockaddr(sa_family: sa_family_t(AF_UNIX), sa_data: sockaddr().sa_data)
      return call(&system, socklen_t(MemoryLayout<sa_family_t>.size))
    }
  }

  private static func pass<System>(
    _ system: inout System, _ call: (UnsafePointer<sockaddr>, socklen_t) -> CInt
  ) -> CInt {
    withUnsafePointer(to: &system) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(MemoryLayout<System>.size)) }
    }
  }

  /// Has `call` fill in an address; throws when the call failed.
  static func read(
    _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
  )
    throws(Errno) -> (result: CInt, address: SocketAddress)
  {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = try systemCall {
      withUnsafeMutablePointer(to: &storage) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
      }
    }
    let address = withUnsafeBytes(of: storage) {
      SocketAddress(system: UnsafeRawBufferPointer(rebasing: $0.prefix(Int(length))))
    }
    return (result, address)
  }

  /// Reads a `sockaddr` of any family. A family other than IPv4 and IPv6 is read as a Unix socket or as unnamed.
  package init(system bytes: UnsafeRawBufferPointer) {
    let family = bytes.count >= MemoryLayout<sockaddr_in>.size ? CInt(bytes.load(as: sa_family_t.self)) : AF_UNIX
    if family == AF_INET {
      let system = bytes.load(as: sockaddr_in.self)
      self = .v4(UInt32(bigEndian: system.sin_addr.s_addr), port: UInt16(bigEndian: system.sin_port))
    } else if family == AF_INET6, bytes.count >= MemoryLayout<sockaddr_in6>.size {
      self.init(bytes.load(as: sockaddr_in6.self))
    } else {
      let path = bytes.dropFirst(MemoryLayout<sa_family_t>.size).prefix { $0 != 0 }
      self = path.isEmpty ? .unnamed : .unix(path: String(decoding: path, as: UTF8.self))
    }
  }

  /// Reads an IPv6 address. An IPv4 peer of a socket for both versions appears as `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2)
  /// and is read as IPv4.
  private init(_ system: sockaddr_in6) {
    let port = UInt16(bigEndian: system.sin6_port)
    let (high, low) = withUnsafeBytes(of: system.sin6_addr) {
      (
        UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
    if high == 0, low >> 32 == 0xffff {
      self = .v4(UInt32(truncatingIfNeeded: low), port: port)
    } else {
      self = .v6(high: high, low: low, scope: system.sin6_scope_id, port: port)
    }
  }
}

extension SocketAddress {
  /// The local address of the socket `descriptor`; nil if it is not a socket.
  package init?(localOf descriptor: CInt) {
    guard let read = try? Self.read({ getsockname(descriptor, $0, $1) }) else { return nil }
    self = read.address
  }

  /// The peer's address of the socket `descriptor`; nil if it has no peer.
  package init?(peerOf descriptor: CInt) {
    guard let read = try? Self.read({ getpeername(descriptor, $0, $1) }) else { return nil }
    self = read.address
  }
}
