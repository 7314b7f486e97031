/// What became of a connection in a session's pool.
public struct ConnectionEvent: Sendable, Hashable {
  /// What can become of a connection.
  public enum Kind: String, Sendable, CaseIterable {
    /// A connection was made: TCP, and TLS where there is any.
    case opened
    /// An attempt was made on connections that were there already.
    case reused
    /// An attempt has left its connection open for the next.
    case idle
    /// The connection is gone.
    case closed
  }

  /// What became of this one.
  public let kind: Kind
  /// What the connection was opened for; a connection through a proxy counts for the destination behind it.
  public let destination: Destination

  /// Takes what became of the connection, and where it leads.
  public init(kind: Kind, destination: Destination) {
    self.kind = kind
    self.destination = destination
  }
}
