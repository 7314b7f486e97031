extension ConnectionMachine {
  /// The time limits of a client, in seconds.
  struct Timing {
    var header: Double
    var body: Double
    var idle: Double
    var write: Double
    /// The time for which a connection lingers whose client is not expected to send more.
    let linger = 2.0
    /// The longest time for which the rest of a request is discarded that was answered early; nginx has the same.
    var discard: Double
    var stopLinger: Double
    var drainBytes: Int

    init(_ limits: ServerLimits) {
      header = limits.headerTimeout
      body = limits.bodyTimeout
      idle = limits.idleTimeout
      discard = max(30, limits.bodyTimeout)
      write = limits.writeTimeout
      stopLinger = limits.stopLinger
      drainBytes = limits.drainBytes
    }
  }
  /// The order in which connections are closed to make place for a new one, the least first. Nil while a handler is at
  /// work.
  var evictionRank: Int? {
    if phase == .tunnel { return nil }
    if phase == .lingering { return 0 }
    if request == .none, output == .empty { return 1 }
    return response == .ended || request == .none ? 2 : nil
  }
}
