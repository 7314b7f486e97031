import WeirIO
import WeirServer

/// A listener as a configuration has it. A value.
package struct ListenerSettings: Sendable, Equatable {
  static let maximumCount = 16
  /// The name of the listener that `--gateway.listen-address` makes.
  static let standardName = "gateway"

  /// The name by which metrics and log lines tell listeners apart.
  var name = standardName
  var address: SocketAddress
  /// Open connections of each worker; nil for an equal part of those for which there are descriptors.
  var connections: Int?
  /// Whether connections begin with a PROXY header: all of them, or those of the trusted proxies if there are any.
  var proxyProtocol = false
  /// The proxies whose word about the client counts; nil if the file doesn't say.
  var trustedProxies: ClientNetworks?
  /// The field in which trusted proxies tell of the client.
  var clientAddress = ClientAddress.Field.xForwardedFor
  /// The clients that may use the listener; nil for all.
  var clients: ClientRules?
  /// Nil for plain HTTP.
  var tls: ListenerTLS?
  /// Whether clients may use it as their proxy: routes with `requested` and `connect` take their requests.
  var isForwardProxy = false
  /// The fields that no client may send, since a listener of the configuration sends them.
  var reservedFields: [String] = []
  /// The limits for each client; `connections` follows from the property above.
  var limits = ServerLimits.gateway

  /// Whether the servers of these settings can go on with others: all that differs is what handshakes follow.
  func canFollow(_ other: ListenerSettings) -> Bool {
    guard let tls, let next = other.tls, tls.forward == next.forward else { return self == other }
    var same = other
    same.tls = tls
    return self == same
  }

  /// Whether a connection of a peer has to begin with a PROXY header; nil if none has to.
  var expectsProxyHeader: (@Sendable (SocketAddress) -> Bool)? {
    guard proxyProtocol else { return nil }
    guard let proxies = trustedProxies else { return { _ in true } }
    return { proxies.contains(ClientAddress(peer: $0)) }
  }

  /// Whether the peer of every connection is the client of its requests.
  private var knowsClientsAtAccept: Bool { !proxyProtocol && trustedProxies.map { $0 == ClientNetworks() } ?? true }

  /// Whether a connection is closed as soon as it is accepted; nil if none is.
  var refusesPeer: (@Sendable (SocketAddress) -> Bool)? {
    guard knowsClientsAtAccept, let clients else { return nil }
    return { !clients.admit(ClientAddress(peer: $0)) }
  }

  /// The rules that each request is judged by, as its client is known only then; nil without any.
  var clientsOfRequests: ClientRules? { knowsClientsAtAccept ? nil : clients }

  /// The limits with the number of connections that a worker may have.
  ///
  /// - Parameter share: The connections for which a worker has descriptors, if the listener doesn't say.
  func limits(share: Int) -> ServerLimits {
    var limits = limits
    limits.connections = min(max(1, connections ?? share), ServerLimits.mostConnections)
    return limits
  }
}

extension ServerLimits {
  /// The most connections that a worker has for one listener.
  static let mostConnections = 8192

  /// The limits of a listener without settings of its own. The upstream limits the size of bodies, since they are streamed.
  static let gateway: ServerLimits = {
    var limits = ServerLimits()
    limits.bodyBytes = nil
    limits.stopLinger = 1
    return limits
  }()
}
