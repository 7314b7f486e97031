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
