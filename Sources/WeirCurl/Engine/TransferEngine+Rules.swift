internal import CCurl
internal import CLinux
internal import Glibc
internal import WeirIO

// The rules of single transfers for their connections.
//
// When libcurl needs a connection, it judges all idle ones of its multi handle by the options of the transfer that asks
// (CURLOPT_MAXAGE_CONN, CURLOPT_MAXLIFETIME_CONN). With limits of its own, each transfer would close the connections of
// others. So libcurl gets the longest idle time of all transfers and no age, and the limits are kept here. A connection
// goes by the rules of the transfer that used it last. libcurl does not name a Unix socket before a request is written to
// it, so that such a connection is ended by the sweeper only.
extension TransferEngine {
  func connectTimeout(of spec: TransferSpec) -> Int { spec.rules?.connectMilliseconds ?? prepared.connectTimeout }

  /// A transfer with rules is about to begin.
  func note(_ rules: TransferRules) {
    hasRules = true
    if let idle = rules.idleTimeout { longestIdle = max(longestIdle, Int(clamping: idle, times: 1)) }
    sweeper.shorten(to: min(rules.idleTimeout ?? .infinity, rules.maximumAge ?? .infinity), self)
  }

  /// Whether a transfer may use a connection of the pool. If not, the connection is of no use to others either, or was
  /// opened for other versions of HTTP.
  func mayReuse(_ fd: CInt, by transfer: Transfer) -> Bool {
    guard sockets.version(of: fd) == version(of: transfer.spec) else { return false }
    // The age of a connection that others use is not judged, as libcurl would offer it to each further transfer.
    if sockets.isOver(fd, by: limits(transfer.spec.rules), at: now), !isUsed(fd, besides: transfer) {
      end(fd)
      return false
    }
    sockets.setRules(fd, transfer.spec.rules)
    return true
  }

  /// Ends the idle connections whose time is over. They lead libcurl to close them in its next checks.
  ///
  /// - Returns: Whether there were any.
  func endOverdueConnections() -> Bool {
    guard hasRules else { return false }
    let time = MonotonicTime.now
    let overdue = sockets.connections.filter { fd in
      sockets.isOver(fd, by: limits(sockets.rules(of: fd)), at: time) && (sockets.hasLocalPort(fd) || knowsAllSockets)
        && !isUsed(fd)
    }
    for fd in overdue { end(fd) }
    return !overdue.isEmpty
  }

  private func limits(_ rules: TransferRules?) -> ConnectionLimits {
    ConnectionLimits(
      idle: rules?.idleTimeout ?? Double(prepared.maximumIdle), age: rules?.maximumAge ?? .infinity)
  }

  private func isUsed(_ fd: CInt, besides transfer: Transfer? = nil) -> Bool {
    transfers.contains { $0 !== transfer && $0.state == .running && $0.awaitedSocket == fd }
  }

  /// After the shutdown libcurl finds the connection dead.
  private func end(_ fd: CInt) {
    shutdown(fd, CInt(SHUT_RDWR))
  }
}

/// How long a connection is kept, in seconds.
struct ConnectionLimits {
  let idle: Double
  /// Since it was opened.
  let age: Double
}
