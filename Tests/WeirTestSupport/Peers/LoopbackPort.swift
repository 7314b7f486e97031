import CLinux
import Glibc
import Synchronization

/// Ports of 127.0.0.1 for servers that can't choose one themselves.
package enum LoopbackPort {
  /// Below the range from which the system takes the ports of outgoing connections, so that none of those can get in
  /// between; from a start of this process's own, so that two test runs rarely meet.
  private static let next = Atomic(10_000 + Int(getpid()) * 7 % 20_000)

  /// A port on which nobody listens, and which is given out once.
  package static func free() -> Int {
    while true {
      let port = 10_000 + next.wrappingAdd(1, ordering: .relaxed).newValue % 22_000
      if canListen(port) { return port }
    }
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
