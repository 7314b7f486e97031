internal import Glibc

/// The limits of a server for each client, all finite by default. Sizes in bytes, times in seconds.
package struct ServerLimits: Sendable, Equatable {
  /// The size of the request target; a longer one is answered 414.
  package var targetBytes = 8 * 1024
  /// The size of all header fields of a request, or of all its trailer fields; more are answered 431.
  package var headerBytes = 32 * 1024
  /// The number of header fields of a request; more are answered 431.
  package var headerFields = 200
  /// The size of the request body, streamed or collected; a larger one is answered 413. Nil means no limit.
  package var bodyBytes: Int64? = 1024 * 1024
  /// The number of open connections of one `Server`. At the limit, the connection that has waited longest for a request
  /// is closed for a new one. While none waits, new connections stay in the listener's queue.
  package var connections = 1024
  /// The number of open connections of one client's address, over all servers of the listener; one more is closed at
  /// once. Nil means no limit. Clients of Unix sockets have no address, and no limit.
  package var connectionsPerClient: Int?
  /// The time from accepting a connection to the end of its PROXY header and its handshake, if it has to begin so.
  package var handshakeTimeout = 10.0
  /// The number of handshakes that are under way at once. For a further one the oldest that waits for its client is
  /// given up, of the address that has the most; without such a one it waits unread.
  package var handshakes = 256
  /// The time from the first byte of a request, or from accepting the connection, to the end of the header; then 408.
  package var headerTimeout = 10.0
  /// The time without a byte while the body of a request is awaited; then 408.
  package var bodyTimeout = 30.0
  /// The time between requests of a connection.
  package var idleTimeout = 75.0
  /// The age from which on a connection's next response is its last. One that waits for a request closes by
  /// ``idleTimeout``, as no request under way may be lost. Nil means no limit.
  package var maximumAge: Double?
  /// The time for which a connection that waits for a request stays readable once the server stops, since a request may
  /// be under way. Such a request is answered with `Connection: close`. With 0, such connections close at once.
  package var stopLinger = 0.0
  /// The time without progress while a client doesn't read its response; then the connection is reset.
  package var writeTimeout = 30.0
  /// The number of bytes of an unread request body that are discarded to keep its connection usable.
  package var drainBytes = 256 * 1024

  package init() {}
}

/// The number of descriptors that the process may have open (`RLIMIT_NOFILE`).
package enum DescriptorLimit {
  /// The soft limit at this moment.
  package static var current: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    return Int(clamping: limit.rlim_cur)
  }

  /// Raises the soft limit to the hard one, at most to 1,048,576. Linux keeps it low for programs that use `select`.
  /// Nothing here does, and each forwarded request takes two descriptors.
  package static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
      return
    }
    // A higher limit would only cost memory in programs that size tables by it.
    limit.rlim_cur = min(limit.rlim_max, 1 << 20)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
