internal import CLinux
internal import Glibc

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
    return (result, withUnsafeBytes(of: storage) { SocketAddress(system: $0.prefix(Int(length))) })
  }

  private init(system bytes: Slice<UnsafeRawBufferPointer>) {
    self.init(system: UnsafeRawBufferPointer(rebasing: bytes))
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
