internal import Synchronization
package import WeirIO

/// The addresses on which this process listens, to which a policy may refuse connections: so requests of others don't
/// lead back into it. It outlives changes of the listeners, of which it is told.
package final class ListeningAddresses: Sendable {
  private let places = Mutex<[String: [SocketAddress]]>([:])

  package init() {}

  /// Takes the present addresses of one part of the process.
  package func follow(_ addresses: [SocketAddress], of part: String) {
    places.withLock { $0[part] = addresses }
  }

  /// Whether a connection to the address would be one to this process. Without a host a listener takes what comes to
  /// any address of the machine.
  func include(_ address: IPAddress, port: Int) -> Bool {
    let hosts = places.withLock { places in
      places.values.joined().filter { $0.port.map(Int.init) == port }.compactMap { IPAddress($0) }
    }
    return hosts.contains { host in
      switch host {
      case .v6(high: 0, low: 0): address.isOfThisMachine
      case .v4(0): if case .v4 = address { address.isOfThisMachine } else { false }
      default: host == address
      }
    }
  }
}
