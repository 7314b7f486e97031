internal import Glibc

extension IPAddress {
  /// Whether what is sent to the address stays on this machine: it is in 127.0.0.0/8, or one of the machine's
  /// interfaces has it at present.
  package var isOfThisMachine: Bool {
    if case .v4(let number) = self, number >> 24 == 127 { return true }
    return Self.ofInterfaces.contains(self)
  }

  /// The addresses of the machine's interfaces (getifaddrs(3)).
  private static var ofInterfaces: [IPAddress] {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0, let first else { return [] }
    defer { freeifaddrs(first) }
    return sequence(first: first) { $0.pointee.ifa_next }.compactMap { interface in
      guard let address = interface.pointee.ifa_addr else { return nil }
      let length =
        switch CInt(address.pointee.sa_family) {
        case AF_INET: MemoryLayout<sockaddr_in>.size
        case AF_INET6: MemoryLayout<sockaddr_in6>.size
        default: 0
        }
      return IPAddress(SocketAddress(system: UnsafeRawBufferPointer(start: address, count: length)))
    }
  }
}
