/// What a server grants each client; all of it is bounded by default. Sizes in bytes, times in seconds.
package struct ServerLimits: Sendable {
  /// The request target; a longer one is answered 414.
  package var targetBytes = 8 * 1024
  /// All header fields of a request, or all of its trailer fields; more are answered 431.
  package var headerBytes = 32 * 1024
  /// Header fields of a request; more are answered 431.
  package var headerFields = 200
  /// The request body, streamed or collected; a larger one is answered 413. Nil: no limit.
  package var bodyBytes: Int64? = 1024 * 1024
  /// Open connections of one `Server`. At the limit, the connection that has waited longest for a request makes place
  /// for a new one; while none waits, new connections stay in the listener's queue.
  package var connections = 1024
  /// From the first byte of a request, or from accepting the connection, to the end of the header; then 408.
  package var headerTimeout = 10.0
  /// Silence while the body of a request is awaited; then 408.
  package var bodyTimeout = 30.0
  /// Between requests of a connection.
  package var idleTimeout = 75.0
  /// How long, once the server stops, a connection that waits for a request stays readable, since one may be under way;
  /// it is then answered with `Connection: close`. 0: such connections close at once.
  package var stopLinger = 0.0
  /// Without progress while a client doesn't read its response; then the connection is reset.
  package var writeTimeout = 30.0
  /// Response bytes that wait for a slow client before `Exchange.write` says to stop.
  package var writeHighWaterMark = 128 * 1024
  /// How much of an unread request body is discarded to keep its connection usable.
  package var drainBytes = 256 * 1024

  package init() {}
}
