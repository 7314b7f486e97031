internal import CCurl
internal import Glibc
internal import WeirIO

// The connection on which a request is sent.
extension Transfer {
  func openSocket(
    family: CInt, type: CInt, protocolNumber: CInt, for address: @autoclosure () -> SocketAddress
  ) -> CInt {
    engine.endLookup(of: self)
    // A repeat that is not allowed is refused here already, before a connection is made for it.
    guard state == .running, failure == nil, mayBeginRequest(), mayOpen(address()) else { return weir_socket_bad }
    dial.hasTried = true
    let fd = socket(family, type | CInt(SOCK_CLOEXEC.rawValue), protocolNumber)
    dial.shortage = fd < 0 && Self.isShortage(errno) ? errno : nil
    guard fd >= 0 else { return weir_socket_bad }
    let opened = engine.didOpen(fd, tag: spec.tag)
    engine.sockets.begin(fd, engine.version(of: spec), spec.rules, at: engine.now)
    if mayMultiplex { engine.watch.opened(opened) }
    connecting.append(opened)
    return fd
  }

  /// Whether this process or its host has no descriptors or no memory left.
  private static func isShortage(_ errno: CInt) -> Bool {
    errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM
  }

  /// libcurl has a connection and is about to write the request. False ends the transfer here.
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
      if isPooled, engine.hasRules, !engine.mayReuse(socket, by: self) {
        dial.avoidsPool = true
        repeats.needsFreshConnection = true
        return false
      }
      takes(socket)
    }
    expectProtocol()
    if engine.prepared.notesPeers { peer = handle.flatMap { TLSConnection($0.easy) }?.peer() }
    if dialled != nil { secureConnection = handle.flatMap { TLSConnection($0.easy) } }
    if let timer = connectTimer { engine.loop.cancel(timer) }
    if repeats.requests > 0 { forgetProvisionalHead() }
    repeats.begin(sent: headBytesSent, received: receiving.headerBytes, isHTTP1: expectation == .http1)
    remotePort = port
    if let address { remoteAddress = engine.addresses.string(address) }
    clock.ready = engine.now
    clock.lastProgress = engine.now
    return true
  }

  /// libcurl waits to read from `socket`. On a connection that is not ready yet, this is the first sign that TCP is
  /// established: until then libcurl waits to write.
  func takes(_ socket: CInt) {
    awaitedSocket = socket
    if clock.ready == nil, clock.connected == nil, connecting.contains(where: { $0.descriptor == socket }) {
      clock.connected = engine.now
    }
    engine.sockets.use(socket, by: Unmanaged.passUnretained(self).toOpaque())
  }

  /// libcurl no longer waits for a socket. If it was still connecting, the next address may be due.
  func loses(_ socket: CInt) {
    guard clock.ready == nil, state == .running, connecting.contains(where: { $0.descriptor == socket }) else { return }
    engine.need(.nudge, for: self)
  }

  /// If a handshake fails on data that arrived at once, libcurl never waited to read. TCP is then noted as established
  /// here.
  func noteHandshake(failed result: CurlCode) {
    if result.isOfHandshake, clock.ready == nil, clock.connected == nil { clock.connected = engine.now }
  }

  /// Whether the request may be put on the wire, possibly again. If not, notes the failure: the earlier request has no
  /// answer, or one that is still to be read.
  func mayBeginRequest() -> Bool {
    guard repeats.requests > 0 else { return true }
    // A new response would be taken for the rest of the body.
    guard receiving.phase != .body else {
      verdict = verdict ?? Self.brokenOff
      return false
    }
    let isAskedFor = receiving.phase == .provisional
    return unread == nil
      && repeats.allowsAnother(method: spec.method, sent: headBytesSent, isAskedFor: isAskedFor)
      || fail(.connectionLost)
  }

  /// libcurl repeats a request whenever its stream is reset with HTTP_1_1_REQUIRED.
  private static let brokenOff = TransferError(
    .curl, code: .partialFile, message: "the response was broken off, and can't be continued on another connection")

  /// Bytes of request heads that the system has taken.
  private var headBytesSent: Int {
    handle.map { weir_easy_get_long($0.easy, CURLINFO_REQUEST_SIZE) } ?? 0
  }
}

extension TransferEngine {
  /// The transfer has its connection. The sockets of its other attempts to connect are closed by now, in some versions
  /// without a callback.
  func didConnect(_ transfer: Transfer, localPort: CInt) {
    for fd in reconcile(transfer) {
      if let port = SocketAddress(localOf: fd)?.port, CInt(port) == localPort { sockets.setLocalPort(fd, localPort) }
      announce(fd)
    }
  }

  /// The connection with the addresses that libcurl gives; nil for a Unix socket.
  func connection(localPort: CInt, peer: UnsafePointer<CChar>?) -> CInt? {
    sockets.connection(atPort: localPort) { fd in
      guard let peer, let known = SocketAddress(peerOf: fd) else { return false }
      // libcurl's text of the peer leaves out the interface of a link-local address, and may write the IPv4 peer of an
      // IPv6 socket as `::ffff:` and the address.
      let (text, host) = (String(cString: peer), known.host.prefix { $0 != "%" })
      return text == host || text == "::ffff:" + host
    }
  }
}
