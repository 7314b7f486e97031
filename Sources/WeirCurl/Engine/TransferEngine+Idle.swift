internal import CCurl
internal import CLinux
internal import Glibc
internal import WeirIO

/// Closes idle connections when they reach their age limit or their peer has left.
///
/// libcurl checks its idle connections only when it needs one, at most once a second. In a quiet process they would
/// stay open for good. The pruner makes it check, by a transfer that is refused its socket. Before that it ends the
/// connections whose own limits are shorter than libcurl's.
final class ConnectionPruner {
  let timer = LoopTimer()
  /// The shortest time in seconds for which a connection is kept.
  private var lifetime: Double
  private var easy: UnsafeMutableRawPointer?
  private var isRunning = false
  /// How many more checks libcurl must make soon.
  private var looksDue = 0
  /// Two checks: the first may come within a second of an earlier one, and then libcurl skips it. Also, the first check
  /// finds a reset connection alive and clears its error; only the second finds it dead.
  private static let looksAtOnce = 2
  /// Seconds after which libcurl checks again.
  private static let pace = 1.1

  init(idleLifetime: Double) {
    lifetime = max(0, idleLifetime)
  }

  deinit {
    if let easy { curl_easy_cleanup(easy) }
  }

  /// A connection may have become idle.
  func transferEnded(_ engine: TransferEngine) {
    if !timer.isArmed, !isRunning { arm(engine, after: period) }
  }

  /// The peer of an idle connection closed it, or sent data that was not asked for.
  func idleConnectionEnded(_ engine: TransferEngine) {
    looksDue = Self.looksAtOnce
    let due = MonotonicTime.now.advanced(bySeconds: Self.pace)
    if !timer.isArmed || timer.due > due { arm(engine, after: Self.pace) }
  }

  /// Some connections are kept for this time only.
  func shorten(to seconds: Double, _ engine: TransferEngine) {
    guard seconds < lifetime else { return }
    lifetime = max(0, seconds)
    if timer.isArmed, timer.due > MonotonicTime.now.advanced(bySeconds: period) { arm(engine, after: period) }
  }

  func timerFired(_ engine: TransferEngine) {
    if engine.endOverdueConnections() { looksDue = Self.looksAtOnce }
    guard engine.openConnections > 0, !isRunning, let multi = engine.multi, let easy = prepared(engine) else { return }
    isRunning = curl_multi_add_handle(multi, easy) == CURLM_OK
  }

  func finished(_ engine: TransferEngine, _ multi: UnsafeMutableRawPointer) {
    detach(from: multi)
    guard engine.openConnections > 0 else { return }
    arm(engine, after: looksDue > 0 ? Self.pace : period)
    looksDue = max(0, looksDue - 1)
  }

  func detach(from multi: UnsafeMutableRawPointer) {
    if isRunning, let easy { curl_multi_remove_handle(multi, easy) }
    isRunning = false
  }

  /// Short enough that a connection lives at most a quarter longer than its limit, apart from libcurl's rounding to
  /// seconds.
  private var period: Double { min(15, max(Self.pace, lifetime / 4)) }

  private func arm(_ engine: TransferEngine, after seconds: Double) {
    engine.loop.schedule(timer, at: MonotonicTime.now.advanced(bySeconds: seconds), handler: engine)
  }

  private func prepared(_ engine: TransferEngine) -> UnsafeMutableRawPointer? {
    if let easy {
      _ = weir_easy_set_long(easy, CURLOPT_MAXAGE_CONN, engine.longestIdle)
      return easy
    }
    guard let made = curl_easy_init() else { return nil }
    var options = OptionSetter(made)
    // The URL has an address, so that no name is looked up. Its socket is refused, so that nothing is sent.
    options.set(CURLOPT_URL, "http://127.0.0.1:1/")
    options.set(CURLOPT_PROXY, "")
    options.set(CURLOPT_NOSIGNAL, 1)
    options.set(CURLOPT_FRESH_CONNECT, 1)
    options.set(CURLOPT_MAXAGE_CONN, engine.longestIdle)
    options.keep(weir_easy_set_open_socket_callback(made, curlRefuseSocket))
    guard options.result == .ok else {
      curl_easy_cleanup(made)
      return nil
    }
    easy = made
    return made
  }
}

// The rules of single transfers for their connections.
//
// When libcurl needs a connection, it judges all idle ones of its multi handle by the options of the transfer that asks
// (CURLOPT_MAXAGE_CONN, CURLOPT_MAXLIFETIME_CONN). With limits of its own, each transfer would close the connections of
// others. So libcurl gets the longest idle time of all transfers and no age, and the limits are kept here. A connection
// goes by the rules of the transfer that used it last. libcurl does not name a Unix socket before a request is written to
// it, so that such a connection is ended by the pruner only.
extension TransferEngine {
  func connectTimeout(of spec: TransferSpec) -> Int { spec.rules?.connectMilliseconds ?? prepared.connectTimeout }

  /// A transfer with rules is about to begin.
  func note(_ rules: TransferRules) {
    hasRules = true
    if let idle = rules.idleTimeout { longestIdle = max(longestIdle, Int(clamping: idle, times: 1)) }
    pruner.shorten(to: min(rules.idleTimeout ?? .infinity, rules.maximumAge ?? .infinity), self)
  }

  /// Whether a transfer may use a connection of the pool. If not, the connection is of no use to others either, or was
  /// opened for other versions of HTTP.
  func mayReuse(_ fd: CInt, by transfer: Transfer) -> Bool {
    guard sockets.version(of: fd) == version(of: transfer.spec) else { return false }
    // The age of a connection that others use is not judged, as libcurl would offer it to each further transfer.
    if isOver(fd, under: transfer.spec.rules, at: now), !isUsed(fd, besides: transfer) {
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
      isOver(fd, under: sockets.rules(of: fd), at: time) && (sockets.hasLocalPort(fd) || knowsAllSockets)
        && !isUsed(fd)
    }
    for fd in overdue { end(fd) }
    return !overdue.isEmpty
  }

  /// Whether a connection has reached the end of its time under the rules, if nobody uses it.
  private func isOver(_ fd: CInt, under rules: TransferRules?, at time: MonotonicTime) -> Bool {
    sockets.isOver(
      fd, idle: rules?.idleTimeout ?? Double(prepared.maximumIdle), age: rules?.maximumAge ?? .infinity, at: time)
  }

  private func isUsed(_ fd: CInt, besides transfer: Transfer? = nil) -> Bool {
    transfers.contains { $0 !== transfer && $0.state == .running && $0.awaitedSocket == fd }
  }

  /// After the shutdown libcurl finds the connection dead.
  private func end(_ fd: CInt) {
    shutdown(fd, CInt(SHUT_RDWR))
  }
}

// Data on connections from which no transfer awaits anything.
extension TransferEngine {
  /// Whether a pooled HTTP/1 connection has no data waiting. libcurl 7.88.1 considers a connection with waiting bytes
  /// alive, and would take them for the response to the next request.
  ///
  /// If a TLS record held more than the last bytes of a response, its rest waits in the TLS library, where libcurl up
  /// to 8.14.1 doesn't look.
  func isQuiet(_ fd: CInt, _ handle: EasyHandle?) -> Bool {
    guard sockets.isHTTP1(fd) else { return true }
    if let handle, let tls = TLSConnection(handle.easy), tls.hasPending { return false }
    var byte: UInt8 = 0
    return recv(fd, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) < 0 && errno == EAGAIN
  }

  /// Data came in on a socket for which libcurl wants no event: that of a paused transfer, or of an idle connection. An
  /// idle connection is then of no more use; after the shutdown libcurl, too, finds it dead.
  func nobodyWanted(_ fd: CInt) {
    if sockets.isIdleHTTP1(fd), sockets.hasLocalPort(fd) || knowsAllSockets {
      shutdown(fd, CInt(SHUT_RDWR))
      drain(fd)
    }
    pruner.idleConnectionEnded(self)
  }

  /// Whether every transfer's socket is known. libcurl names a Unix socket only when it waits for it, and a response
  /// that is there at once may be paused before that.
  var knowsAllSockets: Bool {
    transfers.allSatisfy { $0.awaitedSocket >= 0 || $0.repeats.requests == 0 }
  }

  /// Empties a socket, as one with bytes waiting would still count as alive. After the shutdown no more bytes arrive.
  private func drain(_ fd: CInt) {
    // With this flag TCP drops the bytes without copying them.
    let flags = CInt(MSG_DONTWAIT) | CInt(MSG_TRUNC)
    withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
      for _ in 0..<256 where recv(fd, buffer.baseAddress, buffer.count, flags) <= 0 { return }
    }
  }
}

/// Schedules additional calls of libcurl for a connection that may speak HTTP/2.
///
/// nghttp2 ends a connection by itself when it reads data that breaks the rules. libcurl 8.14 notices that in its next
/// call, for which there may never be a reason. A call right after may itself have read more, so further calls follow
/// at growing intervals: one of them will find nothing to read.
struct ExtraPolls {
  /// Seconds between two ticks.
  static let pace = 0.05
  /// Calls are made at 1, 2, 4, 8 and 16 ticks.
  private static let last = 16

  private var ticks: [CInt: Int] = [:]

  var isEmpty: Bool { ticks.isEmpty }

  /// Notes that data read on `fd` belonged to no response.
  mutating func note(_ fd: CInt) { ticks[fd] = 0 }

  /// The descriptors that are due at this tick.
  mutating func tick() -> [CInt] {
    var due: [CInt] = []
    for (fd, count) in ticks {
      let count = count + 1
      if count & (count - 1) == 0 { due.append(fd) }
      ticks[fd] = count < Self.last ? count : nil
    }
    return due
  }
}

extension TransferEngine {
  /// The data that was read on `fd` belonged to no response.
  func pollAgain(_ fd: CInt) {
    guard CurlLibrary.noticesHTTP2EndLate, mayMultiplex, sockets.mayBeHTTP2(fd) else { return }
    act(fd, 0)
    extraPolls.note(fd)
    if !extraPollTimer.isArmed { armExtraPolls() }
  }

  func extraPollsDue() {
    for fd in extraPolls.tick() where sockets.mayBeHTTP2(fd) { act(fd, 0) }
    if !extraPolls.isEmpty { armExtraPolls() }
  }

  private func armExtraPolls() {
    loop.schedule(extraPollTimer, at: MonotonicTime.now.advanced(bySeconds: ExtraPolls.pace), handler: self)
  }
}
