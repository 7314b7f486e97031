extension ConnectionMachine {
  /// The time limits of a client, in seconds.
  struct Timing {
    var header: Double
    var body: Double
    var idle: Double
    var write: Double
    var linger = 2.0
    var stopLinger: Double
    var drainBytes: Int

    init(_ limits: ServerLimits) {
      header = limits.headerTimeout
      body = limits.bodyTimeout
      idle = limits.idleTimeout
      write = limits.writeTimeout
      stopLinger = limits.stopLinger
      drainBytes = limits.drainBytes
    }
  }
}
