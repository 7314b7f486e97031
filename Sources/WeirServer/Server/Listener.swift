internal import Synchronization
package import WeirIO

/// A bound, listening socket that the servers of several loops share.
///
/// Each loop registers it with `EPOLLEXCLUSIVE`. `SO_REUSEPORT` is left off: it would hide a second instance on the
/// same port. The descriptor closes with the last server that leaves after `close()`, or with the last reference.
///
/// Other processes may listen at the same socket: one that gave it to this process, or one that it was given to. To such
/// a listener `close()` does nothing more than that. The waiting connections, the socket and its file stay theirs.
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
  private let isInherited: Bool
  private let isHandedOver = Atomic(false)
  private let isDescriptorOpen = Atomic(true)
  private let servers = Atomic(0)
  private let connections = Atomic(0)

  /// - Parameter backlog: The number of connections that may wait to be accepted; the system's limit applies too.
  package init(_ address: SocketAddress, backlog: Int = Listener.backlog) throws(ListenError) {
    (socket, self.address) = try Listener.open(address, backlog: backlog)
    file = if case .unix(let path) = self.address { SocketFile(at: path) } else { nil }
    isInherited = false
  }

  /// Takes a listening socket that another process has opened for an address.
  package init(inheriting socket: Socket, for listened: SocketAddress) throws(ListenError) {
    do { address = try socket.localAddress() } catch { throw ListenError(address: listened, error: error) }
    self.socket = socket
    file = nil
    isInherited = true
  }

  deinit {
    close()
    closeDescriptor()
  }

  /// Whether other processes listen at the socket too.
  package var isShared: Bool { isInherited || isHandedOver.load(ordering: .acquiring) }

  /// The socket's descriptor, for a process that inherits it.
  package var descriptor: CInt { socket.descriptor }

  /// Says whether another process has inherited the socket from this one.
  package func handOver(_ isHandedOver: Bool) {
    self.isHandedOver.store(isHandedOver, ordering: .releasing)
  }

  /// Accepts no new connections from now on, in all loops, and refuses them unless the listener is shared. It is meant
  /// for when all servers of this listener stop.
  package func close() {
    guard isListening.exchange(false, ordering: .acquiringAndReleasing), !isShared else { return }
    socket.shutdownListening()
    file?.remove()
  }

  private func closeDescriptor() {
    if isDescriptorOpen.exchange(false, ordering: .acquiringAndReleasing) { socket.close() }
  }

  var isOpen: Bool { isListening.load(ordering: .acquiring) }

  /// The number of servers that accept from it, and below that of open connections of all these servers.
  var serverCount: Int { servers.load(ordering: .relaxed) }
  var connectionCount: Int { connections.load(ordering: .relaxed) }

  /// Counts a server that begins to accept. Returns false, and counts none, if the listener is closed.
  func enter() -> Bool {
    // The count is raised before the look, so that no other server closes the descriptor in between.
    servers.add(1, ordering: .acquiringAndReleasing)
    if isOpen { return true }
    leave()
    return false
  }

  /// Counts a server that has left the socket.
  func leave() {
    let (_, rest) = servers.subtract(1, ordering: .acquiringAndReleasing)
    if rest == 0, !isOpen { closeDescriptor() }
  }

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

/// The open connections of each client's address, over all servers of a listener.
final class ClientCounts: Sendable {
  private let counts = Mutex<[IPAddress: Int]>([:])

  /// Counts one more connection. Returns false, and counts nothing, if the client has as many as it may have.
  func opens(_ client: IPAddress, limit: Int) -> Bool {
    counts.withLock { counts in
      let count = counts[client, default: 0]
      guard count < limit else { return false }
      counts[client] = count + 1
      return true
    }
  }

  func closes(_ client: IPAddress) {
    counts.withLock { counts in
      let count = (counts[client] ?? 1) - 1
      counts[client] = count > 0 ? count : nil
    }
  }
}

/// The consequence of a connection that could not be accepted.
enum AcceptFailure: Equatable {
  /// Another loop took the connection first, or the client has left.
  case nothing
  /// The listener has closed.
  case end
  /// Close a waiting connection, and try once more.
  case evict
  /// Ignore the listener for a moment. It stays ready, so that going on would spin.
  case pause

  /// - Parameter mayEvict: False if a connection was already closed for this one. Other parts of the process may need
  ///   descriptors too, and would take all that this server gives up.
  init(_ error: Errno, isListening: Bool, mayEvict: Bool) {
    switch error {
    case .wouldBlock, .connectionAborted: self = .nothing
    case .invalidArgument where !isListening: self = .end
    case .tooManyOpenFiles, .tooManyOpenFilesInSystem: self = mayEvict ? .evict : .pause
    default: self = .pause
    }
  }
}

/// The number of waiting connections that a server accepts in one turn of its loop. A value.
struct AcceptShare: Equatable {
  /// Whether this server has more than its share of the listener's connections; then another server has fewer.
  let isAhead: Bool
  let connections: Int

  /// A loop that has nothing else to do accepts one connection per turn, so that servers which share a listener share
  /// its connections. So does a server that is ahead. A busy loop accepts as many as it has ready descriptors: with
  /// one per turn, the last of hundreds would wait for hundreds of turns. Turns get longer with the load.
  ///
  /// - Parameters:
  ///   - ready: the number of descriptors that are ready in this turn, the listener among them.
  ///   - own: the number of connections of this server.
  ///   - all: the number of connections of all servers of the listener.
  init(ready: Int, own: Int, all: Int, servers: Int) {
    isAhead = own * servers > all
    connections = isAhead ? 1 : max(1, ready)
  }
}
