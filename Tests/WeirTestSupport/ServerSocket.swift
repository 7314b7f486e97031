import CLinux
import Glibc
import WeirIO

/// Blocking sockets for servers in tests.
enum ServerSocket {
  /// - Parameters:
  ///   - host: the last number of an address of 127.0.0.0/8.
  ///   - port: 0 for a free one.
  static func listenOnLoopback(
    queue: CInt = 512, host: UInt8 = 1, port: Int = 0
  ) throws(Errno) -> (descriptor: CInt, port: Int) {
    let fd = try systemCall { socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0) }
    var address = loopback(host: host, port: port)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = try withSocketAddress(&address) { pointer throws(Errno) in try systemCall { bind(fd, pointer, size) } }
    _ = try systemCall { Glibc.listen(fd, queue) }
    _ = try withSocketAddress(&address) { pointer throws(Errno) in
      try systemCall { getsockname(fd, pointer, &size) }
    }
    return (fd, Int(UInt16(bigEndian: address.sin_port)))
  }

  static func listen(unixSocketPath path: String) throws(Errno) -> CInt {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard path.utf8.count < room else { throw .invalidArgument }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let fd = try systemCall { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    _ = try withSocketAddress(&address) { pointer throws(Errno) in try systemCall { bind(fd, pointer, size) } }
    _ = try systemCall { Glibc.listen(fd, 512) }
    return fd
  }

  /// A connection that may still be under way when this returns.
  static func beginConnecting(toLoopback port: Int, host: UInt8 = 1) throws(Errno) -> CInt {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let fd = try systemCall { socket(AF_INET, type, 0) }
    var address = loopback(host: host, port: port)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withSocketAddress(&address) { connect(fd, $0, size) }
    return fd
  }

  /// - Parameters:
  ///   - queue: by default as short as can be.
  ///   - port: 0 for a free one.
  static func listenOnIPv6Loopback(queue: CInt = 0, port: Int) throws(Errno) -> CInt {
    let fd = try systemCall { socket(AF_INET6, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0) }
    var (address, on) = (loopback6(port: port), CInt(1))
    let size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    setsockopt(fd, CInt(IPPROTO_IPV6), IPV6_V6ONLY, &on, socklen_t(MemoryLayout<CInt>.size))
    _ = try withSocketAddress(&address) { pointer throws(Errno) in try systemCall { bind(fd, pointer, size) } }
    _ = try systemCall { Glibc.listen(fd, queue) }
    return fd
  }

  static func beginConnecting(toIPv6Loopback port: Int) throws(Errno) -> CInt {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let fd = try systemCall { socket(AF_INET6, type, 0) }
    var address = loopback6(port: port)
    let size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    _ = withSocketAddress(&address) { connect(fd, $0, size) }
    return fd
  }

  private static func loopback6(port: Int) -> sockaddr_in6 {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_addr = in6addr_loopback
    address.sin6_port = UInt16(truncatingIfNeeded: port).bigEndian
    return address
  }

  private static func loopback(host: UInt8, port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = (UInt32(0x7F00_0000) + UInt32(host)).bigEndian
    address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
    return address
  }

  static func accept(_ listener: CInt) -> CInt? {
    while true {
      let fd = accept4(listener, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
      if fd >= 0 {
        // What a script sends is there when `send` has returned, also behind something that nobody has acknowledged yet.
        var isOn: CInt = 1
        setsockopt(fd, CInt(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<CInt>.size))
        return fd
      }
      // A test that takes the process's descriptors away for a moment takes them from this thread too.
      if errno == EMFILE {
        letPass(0.001)
        continue
      }
      guard [EINTR, ECONNABORTED].contains(errno) else { return nil }
    }
  }

  static func send(_ fd: CInt, _ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        Glibc.send(fd, buffer.baseAddress?.advanced(by: sent), buffer.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// nil at the end of the connection.
  static func receive(_ fd: CInt, atMost limit: Int = 65_536) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: min(65_536, limit))
    let count = try? systemCall { recv(fd, &buffer, buffer.count, 0) }
    guard let count, count > 0 else { return nil }
    return Array(buffer[..<count])
  }

  /// Whether bytes, or the end of the connection, have arrived.
  static func isReadable(_ fd: CInt) -> Bool {
    var byte: UInt8 = 0
    return recv(fd, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) >= 0 || errno != EAGAIN
  }

  static func resetOnClose(_ fd: CInt) {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  private static func withSocketAddress<Address, Result, Failure: Error>(
    _ address: inout Address, _ body: (UnsafeMutablePointer<sockaddr>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafeMutablePointer(to: &address) { pointer throws(Failure) in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic throws(Failure) in try body(generic) }
    }
  }
}
