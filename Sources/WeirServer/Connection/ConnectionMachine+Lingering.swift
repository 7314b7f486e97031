internal import WeirIO

// The end of a connection whose client may still send. Closing the socket then would reset it, and a reset destroys what
// the client has not read yet (RFC 9112 §9.6): clients that send a whole request before they read would never see an
// early answer to it. So the sending side ends first, and what still comes is discarded.
extension ConnectionMachine {
  /// The time in seconds for which a connection lingers whose client is not expected to send more.
  static let linger = 2.0
  /// The longest time for which the rest of a request is discarded that was answered early, unless a body may take longer;
  /// nginx has the same.
  private static let discard = 30.0

  /// Discards a part of a body whose response has ended, up to a limit.
  mutating func drain(_ count: Int, now: MonotonicTime) -> Action? {
    drained += count
    return drained > limits.drainBytes ? abandonInput(now: now) : nil
  }

  /// Ends our side. A body that was answered early may take its time, as any body may. Whether anything follows a head
  /// that was refused shows soon. A client that waits for `100 Continue`, or was too slow, is not expected to send more.
  mutating func abandonInput(now: MonotonicTime) -> Action {
    if output == .unsent {
      isPersistent = false
      mustLinger = true
      return .flush
    }
    let isOwed = request == .arriving ? !head.awaitsContinue : owesBody
    let isRefused = ending == .refused || ending == .tls
    let seconds = isOwed || isRefused ? max(Self.discard, limits.bodyTimeout) : Self.linger
    linger(seconds, silently: isOwed ? limits.bodyTimeout : Self.linger, now: now)
    return .shutdown
  }

  /// The handshake failed. What still comes is discarded, so that the client can read why.
  mutating func handshakeFailed(now: MonotonicTime) {
    ending = .tls
    linger(Self.linger, silently: Self.linger, now: now)
  }

  private mutating func linger(_ seconds: Double, silently wait: Double, now: MonotonicTime) {
    phase = .lingering
    lingersUntil = now.advanced(bySeconds: seconds)
    awaitMore(isStopping ? Self.linger : wait, now: now)
  }

  /// Input that comes gives the client time for more, until the end that was set.
  mutating func discard(_ input: Span<UInt8>, at position: inout Int, now: MonotonicTime) -> Action {
    if position < input.count { awaitMore(isStopping ? Self.linger : limits.bodyTimeout, now: now) }
    position = input.count
    return inputEnded ? end(.close) : .read
  }

  private mutating func awaitMore(_ seconds: Double, now: MonotonicTime) {
    readDeadline = min(lingersUntil, now.advanced(bySeconds: seconds))
  }

  /// Whether so much of the body may remain unread that the connection can't serve another request.
  var mayBeLeftUnread: Bool {
    guard request == .arriving else { return false }
    if head.awaitsContinue { return true }
    switch head.bodyLength {
    case .length(let length): return length > limits.drainBytes
    // A reader took all that came, and the body has not ended: much of it may be missing.
    case .chunked: return reader != .none
    default: return false
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
