internal import CCurl
internal import WeirIO

/// Closes idle connections when they reach their age limit or their peer has left.
///
/// libcurl checks its idle connections only when it needs one, at most once a second. In a quiet process they would
/// stay open for good. The sweeper makes it check, by a transfer that is refused its socket. Before that it ends the
/// connections whose own limits are shorter than libcurl's.
final class Sweeper {
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
