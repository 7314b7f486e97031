/// How many of those who wait to be accepted a server takes in one turn of its loop. A value.
struct AcceptShare: Equatable {
  /// Whether it has more connections than falls to each of the servers that share its listener: then there is another
  /// with fewer.
  let isAhead: Bool
  let connections: Int

  /// A loop that has nothing else to do takes one per turn, so that servers which share a listener share its connections;
  /// and so does one that is ahead. To a busy one whoever waits to be accepted is one more who is ready: at one per turn,
  /// the last of hundreds would wait for hundreds of turns, and these are the longer the more there is to serve.
  ///
  /// - Parameters:
  ///   - ready: descriptors that are ready in this turn, the listener among them.
  ///   - own: connections of this server.
  ///   - all: connections of all servers of the listener.
  init(ready: Int, own: Int, all: Int, servers: Int) {
    isAhead = own * servers > all
    connections = isAhead ? 1 : max(1, ready)
  }
}
