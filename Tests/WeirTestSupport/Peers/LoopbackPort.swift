import CLinux
import Glibc

/// Ports of 127.0.0.1 for servers that can't choose one themselves.
package enum LoopbackPort {
  /// The ports given out lie below the range from which the system takes the ports of outgoing connections, so that none of
  /// those can get in between.
  private static let first = 10_000, count = 22_000

  /// A port on which nothing listens. Test processes that run side by side are not given the same one.
  package static func free() -> Int {
    while true {
      let port = first + nextNumber() % count
      if canListen(port) { return port }
    }
  }

  /// The next number of a counter that this user's test processes share: a file, locked while it is read and written.
  private static func nextNumber() -> Int {
    let descriptor = open("/tmp/weir-test-ports.\(getuid())", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    precondition(descriptor >= 0, "the counter of ports in /tmp can't be opened: errno \(errno)")
    defer { close(descriptor) }
    flock(descriptor, LOCK_EX)
    var number = 0
    withUnsafeMutableBytes(of: &number) { _ = pread(descriptor, $0.baseAddress, $0.count, 0) }
    number = (number &+ 1) & 0xFFFF_FFFF
    withUnsafeBytes(of: number) { _ = pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    return number
  }

  /// Whether somebody listens there.
  static func accepts(_ port: Int) -> Bool {
    withSocket(port) { connect($0, $1, $2) == 0 }
  }

  private static func canListen(_ port: Int) -> Bool {
    withSocket(port) { descriptor, address, size in
      var on: CInt = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size))
      return bind(descriptor, address, size) == 0
    }
  }

  private static func withSocket(
    _ port: Int, _ body: (CInt, UnsafePointer<sockaddr>, socklen_t) -> Bool
  ) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
