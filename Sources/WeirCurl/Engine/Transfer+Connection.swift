internal import CCurl
internal import Glibc
internal import WeirIO

// Which connection a request goes out on.
extension Transfer {
  func openSocket(
    family: CInt, type: CInt, protocolNumber: CInt, for address: @autoclosure () -> SocketAddress
  ) -> CInt {
    engine.endLookup(of: self)
    // A repeat that may not be is refused here already, before a connection is made for it.
    guard state == .running, failure == nil, mayBeginRequest(), mayOpen(address()) else { return weir_socket_bad }
    dial.hasTried = true
    let fd = socket(family, type | CInt(SOCK_CLOEXEC.rawValue), protocolNumber)
    dial.shortage = fd < 0 && Self.isShortage(errno) ? errno : nil
    guard fd >= 0 else { return weir_socket_bad }
    connecting.append(engine.didOpen(fd, tag: spec.tag))
    return fd
  }

  /// Whether it is this process, or its host, that has none left.
  private static func isShortage(_ errno: CInt) -> Bool {
    errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM
  }

  /// libcurl has a connection and is about to write the request; false ends the transfer there.
  func connectionReady(address: UnsafePointer<CChar>?, port: CInt, localPort: CInt) -> Bool {
    guard state == .running, failure == nil, mayBeginRequest() else { return false }
    engine.endLookup(of: self)
    let isPooled = connecting.isEmpty
    if isPooled, !mayUse(pooled: address) {
      repeats.needsFreshConnection = true
      return false
    }
    if !isPooled { dial = DialState() }
    if !isPooled { engine.didConnect(self, localPort: localPort) }
    if let socket = engine.connection(localPort: localPort, peer: address) {
      if isPooled, !engine.isQuiet(socket, handle) {
        repeats.needsFreshConnection = true
        return false
      }
      takes(socket)
    }
    expectProtocol()
    if let timer = connectTimer { engine.loop.cancel(timer) }
    if repeats.requests > 0 { forgetProvisionalHead() }
    repeats.begin(sent: headBytesSent, received: receiving.headerBytes, isHTTP1: expectation == .http1)
    remotePort = port
    if let address { remoteAddress = engine.addresses.string(address) }
    clock.ready = engine.now
    clock.lastProgress = engine.now
    return true
  }

  /// Something is awaited on `socket`. Of a connection that is not ready that is the first sign that TCP stands: until then
  /// it waits to be able to write.
  func takes(_ socket: CInt) {
    awaitedSocket = socket
    if clock.ready == nil, clock.connected == nil, connecting.contains(where: { $0.descriptor == socket }) {
      clock.connected = engine.now
    }
    engine.sockets.use(socket, by: Unmanaged.passUnretained(self).toOpaque())
  }

  /// libcurl waits for a socket no longer. If it was one to be connected, the next address may be due.
  func loses(_ socket: CInt) {
    guard clock.ready == nil, state == .running, connecting.contains(where: { $0.descriptor == socket }) else { return }
    engine.need(.nudge, for: self)
  }

  /// A handshake that fails on what comes at once waits for nothing before.
  func noteHandshake(failed result: CurlCode) {
    if result.isOfHandshake, clock.ready == nil, clock.connected == nil { clock.connected = engine.now }
  }

  /// Notes a failure when the request was sent, and must not be sent twice: it has no answer, or one that is to be read.
  func mayBeginRequest() -> Bool {
    guard repeats.requests > 0 else { return true }
    // What would come now would be taken for the rest of the body.
    guard receiving.phase != .body else {
      verdict = verdict ?? Self.brokenOff
      return false
    }
    let isAskedFor = receiving.phase == .provisional
    return unread == nil
      && repeats.allowsAnother(method: spec.method, sent: headBytesSent, isAskedFor: isAskedFor)
      || fail(.connectionLost)
  }

  /// libcurl begins again whenever a stream is reset with HTTP_1_1_REQUIRED.
  private static let brokenOff = TransferError(
    .curl, code: .partialFile, message: "the response was broken off, and could not be begun again in its middle")

  /// Bytes of request heads that the system has taken.
  private var headBytesSent: Int {
    handle.map { weir_easy_get_long($0.easy, CURLINFO_REQUEST_SIZE) } ?? 0
  }
}

extension TransferEngine {
  /// The transfer has its connection. Of the sockets that it tried, those that lost are closed by now, in some versions
  /// without a word.
  func didConnect(_ transfer: Transfer, localPort: CInt) {
    for fd in reconcile(transfer) {
      if let port = SocketAddress(localOf: fd)?.port, CInt(port) == localPort { sockets.setLocalPort(fd, localPort) }
      announce(fd)
    }
  }

  /// The connection that libcurl speaks of by its addresses; nil for one of a Unix socket.
  func connection(localPort: CInt, peer: UnsafePointer<CChar>?) -> CInt? {
    sockets.connection(atPort: localPort) { fd in
      guard let peer, let known = SocketAddress(peerOf: fd) else { return false }
      // libcurl names neither the interface of a link-local address nor IPv4 behind an IPv6 socket as such.
      let (text, host) = (String(cString: peer), known.host.prefix { $0 != "%" })
      return text == host || text == "::ffff:" + host
    }
  }
}
