internal import WeirIO

/// The connection before its first request: a PROXY header, and a handshake.
extension Connection {
  /// Reads the PROXY header at the beginning of the held input, and goes on with what follows it.
  func takeProxyHeader() {
    if headerRest == 0 {
      switch ProxyHeader.read(held.span) {
      case .needsMore: return
      case .refused(let refusal):
        server.noteRefusal(refusal, of: peer)
        return finish(.close, .proxyProtocol)
      case .header(let length, let source):
        if let source { peer = source }
        guard server.countsClient(of: self) else { return finish(.close, .refused) }
        headerRest = length
      }
    }
    let dropped = min(headerRest, held.count)
    held.removeFirst(dropped)
    headerRest -= dropped
    guard headerRest == 0 else { return }
    if server.isSecure { return awaitHandshake() }
    preludeEnded()
    process(held: true)
  }

  /// Requests come from now on.
  func preludeEnded() {
    prelude = .none
    server.tally.endsPrelude()
    machine.preludeEnded(now: now)
  }

  private func awaitHandshake() {
    prelude = .handshake
    if held.isEmpty { armTimer() } else { receiveSecurely() }
  }

  /// Hands over what came behind a PROXY header.
  func takeHeld(_ channel: any SecureChannel) {
    guard prelude == .handshake, !held.isEmpty else { return }
    held.withUnsafeBytes { channel.take($0) }
    held = []
  }

  /// The PROXY header or the handshake takes too long, or its place is another's.
  func preludeTimedOut() {
    let ending: ConnectionEnding = prelude == .proxyHeader ? .proxyProtocol : .tls
    if prelude == .handshake { handshakeEnded(.timedOut) }
    finish(.close, machine.isStopping ? .drain : ending)
  }
}
