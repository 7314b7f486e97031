/// An event in the life of a connection in a session's pool.
public struct ConnectionEvent: Sendable, Hashable {
  /// The kinds of event.
  public enum Kind: String, Sendable, CaseIterable {
    /// A connection was opened, with its TLS handshake if it has one.
    case opened
    /// An attempt used only connections that were already open.
    case reused
    /// An attempt has left its connection open for the next one.
    case idle
    /// The connection was closed.
    case closed
  }

  /// The kind of this event.
  public let kind: Kind
  /// The destination for which the connection was opened. Behind a proxy it is the destination, not the proxy.
  public let destination: Destination

  /// Takes the kind of the event and the connection's destination.
  public init(kind: Kind, destination: Destination) {
    self.kind = kind
    self.destination = destination
  }
}
