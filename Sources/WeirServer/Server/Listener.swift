internal import Synchronization
package import WeirIO

/// A bound, listening socket that the servers of several loops share.
///
/// Each loop registers it with `EPOLLEXCLUSIVE`. `SO_REUSEPORT` is left off: it would hide a second instance on the
/// same port. The descriptor closes with the last reference.
package final class Listener: Sendable {
  /// The default number of connections that may wait to be accepted.
  package static let backlog = 1024

  /// The address it listens on, with the real port if port 0 was asked for.
  package let address: SocketAddress
  let socket: Socket
  /// The file at a Unix socket's path, which this listener removes unless another file has taken the path.
  private let file: SocketFile?
  let clients = ClientCounts()
  private let isListening = Atomic(true)
  private let servers = Atomic(0)
  private let connections = Atomic(0)

  /// - Parameter backlog: The number of connections that may wait to be accepted; the system's limit applies too.
  package init(_ address: SocketAddress, backlog: Int = Listener.backlog) throws(ListenError) {
    (socket, self.address) = try Listener.open(address, backlog: backlog)
    file = if case .unix(let path) = self.address { SocketFile(at: path) } else { nil }
  }

  deinit {
    close()
    socket.close()
  }

  /// Refuses new connections from now on, in all loops. It is meant for when all servers of this listener stop.
  package func close() {
    guard isListening.exchange(false, ordering: .acquiringAndReleasing) else { return }
    socket.shutdownListening()
    file?.remove()
  }

  var isOpen: Bool { isListening.load(ordering: .acquiring) }

  /// The number of servers that accept from it, and below that of open connections of all these servers.
  var serverCount: Int { servers.load(ordering: .relaxed) }
  var connectionCount: Int { connections.load(ordering: .relaxed) }

  func noteServers(_ change: Int) { servers.add(change, ordering: .relaxed) }
  func noteConnections(_ change: Int) { connections.add(change, ordering: .relaxed) }

  private static func open(_ address: SocketAddress, backlog: Int) throws(ListenError) -> (Socket, SocketAddress) {
    do {
      let socket = try Socket.listening(on: address, backlog: backlog)
      return (socket, try socket.localAddress())
    } catch {
      throw ListenError(address: address, error: error)
    }
  }
}

/// The reason why an address can't be listened on.
package struct ListenError: Error, Sendable, CustomStringConvertible {
  package let address: SocketAddress
  package let error: Errno

  private var isOfFile: Bool { if case .unix = address { true } else { false } }

  package var description: String {
    switch error {
    case .addressInUse where isOfFile:
      "\(address) is in use: another program listens there, or it is a file and no socket"
    case .addressInUse: "\(address) is in use: another program, or another instance of this one, listens there"
    default: "can't listen on \(address): \(error)"
    }
  }
}
