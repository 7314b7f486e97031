internal import CLinux
internal import Glibc

extension Socket {
  private static let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)

  /// Opens a socket that listens on `address`.
  ///
  /// All addresses (`:8080`) means both versions of IP, or IPv4 alone on a machine without IPv6. The file that a dead
  /// process left at a Unix socket's path is replaced.
  package static func listening(on address: SocketAddress, backlog: Int) throws(Errno) -> Socket {
    do {
      return try bound(to: address, backlog: backlog)
    } catch {
      switch (error, address) {
      case (.addressFamilyNotSupported, .v6(high: 0, low: 0, _, let port)),
        (.addressNotAvailable, .v6(high: 0, low: 0, _, let port)):
        return try bound(to: .v4(0, port: port), backlog: backlog)
      case (.addressInUse, .unix(let path)):
        guard let file = SocketFile(at: path), isAbandoned(path) else { throw error }
        file.remove()
        return try bound(to: address, backlog: backlog)
      default: throw error
      }
    }
  }

  /// Begins to connect. The socket becomes ready for writing when that has succeeded or failed.
  package static func connecting(to address: SocketAddress) throws(Errno) -> Socket {
    let socket = try open(address)
    do {
      _ = try systemCall { address.withSystemAddress { Glibc.connect(socket.descriptor, $0, $1) } }
    } catch .inProgress {
      return socket
    } catch {
      socket.close()
      throw error
    }
    return socket
  }

  /// Takes one waiting connection.
  package func accept() throws(Errno) -> (socket: Socket, peer: SocketAddress) {
    let flags = CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let (descriptor, peer) = try SocketAddress.read { accept4(self.descriptor, $0, $1, flags) }
    return (Socket(descriptor: descriptor), peer)
  }

  private static func open(_ address: SocketAddress) throws(Errno) -> Socket {
    Socket(descriptor: try systemCall { socket(address.family, kind, 0) })
  }

  private static func bound(to address: SocketAddress, backlog: Int) throws(Errno) -> Socket {
    let socket = try open(address)
    do {
      socket.prepareToListen(address)
      _ = try systemCall { address.withSystemAddress { bind(socket.descriptor, $0, $1) } }
      _ = try systemCall { listen(socket.descriptor, CInt(clamping: backlog)) }
    } catch {
      socket.close()
      throw error
    }
    return socket
  }

  /// The bytes that the system takes for a peer beyond those that it may send at once, about. It would take some MiB for
  /// a peer that reads nothing, and the peer would get none of them sooner.
  private static let unsentBytes: CInt = 128 * 1024

  /// Sets the options that accepted connections inherit, which saves each of them the system calls.
  private func prepareAccepted() {
    // Small writes are sent at once, and don't wait to fill a packet.
    setOption(CInt(IPPROTO_TCP), TCP_NODELAY, CInt(1))
    setOption(CInt(IPPROTO_TCP), TCP_NOTSENT_LOWAT, Self.unsentBytes)
  }

  /// Sets the listener's options.
  private func prepareToListen(_ address: SocketAddress) {
    guard address.family != AF_UNIX else { return }
    setOption(SOL_SOCKET, SO_REUSEADDR, CInt(1))
    prepareAccepted()
    if address.family == AF_INET6 { setOption(CInt(IPPROTO_IPV6), IPV6_V6ONLY, CInt(0)) }
  }

  private static func isAbandoned(_ path: String) -> Bool {
    do {
      try connecting(to: .unix(path: path)).close()
      return false
    } catch {
      return error == .connectionRefused
    }
  }
}

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

/// The file at a Unix socket's path. Device and inode tell it from other files that take its place.
///
/// While a socket is bound to the file, no other file gets its inode.
package struct SocketFile: Sendable, Equatable {
  package let path: String
  private let identity: FileStatus.Identity

  /// Nil if there is no file, or if the file is not a socket: then it belongs to another program.
  package init?(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    self.path = path
    identity = FileStatus.Identity(status)
  }

  /// Removes the file, unless another file has taken its path.
  package func remove() {
    if Self(at: path) == self { unlink(path) }
  }
}
