import WeirIO
import WeirServer

/// The facts that requests of one listener share: who is believed about their clients. An object, so that each request
/// keeps it at the cost of a reference.
final class ListenerEdge: Sendable {
  /// Nil if the configuration says nothing about proxies: then everybody's fields are extended.
  private let proxies: TrustedProxies?
  private let field: ClientAddress.Field

  init(_ settings: ListenerSettings) {
    proxies = settings.trustedProxies
    field = settings.clientAddress
  }

  /// How far a peer's word about the client counts.
  func trust(in peer: SocketAddress) -> ForwardingTrust {
    guard let proxies else { return .unstated }
    return proxies.contains(ClientAddress(peer: peer)) ? .trusted : .foreign
  }

  /// The client that a trusted proxy reports; nil if the peer itself counts as the client. Found anew by each call.
  func reportedClient(of exchange: Exchange) -> IPAddress? {
    guard let proxies else { return nil }
    let peer = ClientAddress(peer: exchange.peer)
    let client = ClientAddress(peer: peer, field: field, trusting: proxies) { body in
      exchange.head.fields.forEachValue(of: field.name, body)
    }
    guard client != peer, case .ip(let address) = client else { return nil }
    return address
  }
}

/// How far a peer's word about the client counts, in `X-Forwarded-*` and `Forwarded`.
enum ForwardingTrust: Sendable {
  /// Nothing was said about proxies: lists are extended, and what a client could claim is replaced.
  case unstated
  /// A trusted proxy: lists are extended, and its `X-Forwarded-Proto` and `X-Forwarded-Host` pass.
  case trusted
  /// Somebody else: all of its fields of these kinds are dropped.
  case foreign
}
