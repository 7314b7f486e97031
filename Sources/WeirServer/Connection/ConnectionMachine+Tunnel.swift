internal import WeirIO

// The tunnel that a connection becomes by the response 101 (RFC 9110 §7.8), or 200 to CONNECT (§9.3.6). The sides of the
// request and the response are then the client's stream and ours; a reader takes the client's as it takes a body.
extension ConnectionMachine {
  /// The head of that response is buffered. Input that has come behind the request waits for the reader.
  mutating func beginTunnel() {
    phase = .tunnel
    (request, response, reader) = (.arriving, .begun, .none)
    readDeadline = .distantFuture
  }

  /// Our side ends behind the output that is buffered.
  mutating func endTunnelOutput() {
    if phase == .tunnel { response = .ended }
  }

  /// Both sides end: the buffered output is sent, and input that still comes is discarded.
  mutating func closeTunnel(now: MonotonicTime) {
    guard phase == .tunnel else { return }
    (phase, request, response) = (.open, .complete, .begun)
    _ = cutResponse(isDelimitedByClose: false, now: now)
  }

  /// Returns the next action of a tunnel. The tunnel ends once both sides have.
  mutating func relay(_ input: Span<UInt8>, at position: inout Int) -> Action {
    if reader == .active, position < input.count {
      defer { position = input.count }
      return .deliver(position..<input.count)
    }
    if reader == .active, inputEnded, request == .arriving {
      request = .complete
      return .endBody
    }
    if response == .ended, !hasShutDown {
      if output == .unsent { return .flush }
      if output == .empty {
        hasShutDown = true
        return .shutdown
      }
    }
    if request == .complete { return hasShutDown ? end(.close) : .wait }
    return reader == .active ? .read : .pause
  }
}
