internal import Glibc

extension Socket {
  /// Takes a descriptor that another process has opened and this one has inherited. Returns nil if it is not a stream
  /// socket that listens. It then has the options of sockets made here; child processes don't inherit it further.
  package static func inherited(_ descriptor: CInt) -> Socket? {
    let socket = Socket(descriptor: descriptor)
    guard socket.option(SO_TYPE) == CInt(SOCK_STREAM.rawValue), socket.option(SO_ACCEPTCONN) == 1,
      let address = SocketAddress(localOf: descriptor), address != .unnamed
    else { return nil }
    keepFromChildren(descriptor)
    let flags = fcntl(descriptor, F_GETFL)
    if flags >= 0 { _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) }
    if address.port != nil { socket.prepareAccepted() }
    return socket
  }

  /// Sets `FD_CLOEXEC`. Returns false if the descriptor is not open.
  @discardableResult
  package static func keepFromChildren(_ descriptor: CInt) -> Bool {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
  }

  private func option(_ option: CInt) -> CInt? {
    var value: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    return getsockopt(descriptor, SOL_SOCKET, option, &value, &length) == 0 ? value : nil
  }
}
