import Synchronization
import WeirIO
import WeirServer

/// The listening sockets that the process began with. Each is taken once: by the name that a service manager has given
/// it, or by the address for which the process before this one has opened it.
package final class InheritedSockets: Sendable {
  /// The name of the socket for the metrics.
  static let metricsName = "metrics"

  private struct Items {
    var named: [String: Socket] = [:]
    var opened: [(address: SocketAddress, socket: Socket)] = []
  }

  private let items = Mutex(Items())

  deinit {
    closeRest()
  }

  func add(_ socket: Socket, named name: String) {
    items.withLock { items in items.named[name] = socket }
  }

  func add(_ socket: Socket, openedFor address: SocketAddress) {
    items.withLock { items in items.opened.append((address, socket)) }
  }

  /// Takes the socket of a listener, or opens one.
  func listener(named name: String, at address: SocketAddress) throws(ListenError) -> Listener {
    guard let socket = take(name, address) else { return try Listener(address) }
    return try Listener(inheriting: socket, for: address)
  }

  private func take(_ name: String, _ address: SocketAddress) -> Socket? {
    items.withLock { items in
      if let socket = items.named.removeValue(forKey: name) { return socket }
      guard let index = items.opened.firstIndex(where: { $0.address == address }) else { return nil }
      return items.opened.remove(at: index).socket
    }
  }

  /// Closes the sockets that no listener has taken.
  func closeRest() {
    let rest = items.withLock { items in
      defer { items = Items() }
      return items.named.values + items.opened.map(\.socket)
    }
    for socket in rest { socket.close() }
  }
}
