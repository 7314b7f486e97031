internal import CCurl
internal import Glibc
internal import WeirIO

// Which connection a request goes out on.
extension Transfer {
  func openSocket(family: CInt, type: CInt, protocolNumber: CInt) -> CInt {
    engine.endLookup(of: self)
    // A repeat that may not be is refused here already, before a connection is made for it.
    guard state == .running, failure == nil, mayBeginRequest() else { return weir_socket_bad }
    let fd = socket(family, type | CInt(SOCK_CLOEXEC.rawValue), protocolNumber)
    guard fd >= 0 else { return weir_socket_bad }
    connecting.append(fd)
    engine.didOpen(fd, tag: spec.tag)
    return fd
  }

  /// libcurl has a connection and is about to write the request; false ends the transfer there.
  func connectionReady(address: UnsafePointer<CChar>?, port: CInt, localPort: CInt) -> Bool {
    guard state == .running, failure == nil, mayBeginRequest() else { return false }
    engine.endLookup(of: self)
    let isPooled = connecting.isEmpty
    if !isPooled { engine.didConnect(self, localPort: localPort) }
    if let socket = engine.connection(localPort: localPort, peer: address) {
      if isPooled, !engine.isQuiet(socket, handle) {
        repeats.needsFreshConnection = true
        return false
      }
      takes(socket)
    }
    if let timer = connectTimer { engine.loop.cancel(timer) }
    repeats.begin(sent: headBytesSent, received: receiving.headerBytes)
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
    if clock.ready == nil, clock.connected == nil, connecting.contains(socket) { clock.connected = engine.now }
    engine.sockets.use(socket, by: Unmanaged.passUnretained(self).toOpaque())
  }

  /// libcurl waits for a socket no longer. If it was one to be connected, the next address may be due.
  func loses(_ socket: CInt) {
    guard clock.ready == nil, state == .running, connecting.contains(socket) else { return }
    engine.need(.nudge, for: self)
  }

  /// A handshake that fails on what comes at once waits for nothing before.
  func noteHandshake(failed result: CurlCode) {
    if result.isOfHandshake, clock.ready == nil, clock.connected == nil { clock.connected = engine.now }
  }

  /// Notes a failure when the request was sent, has no answer, and must not be sent twice.
  func mayBeginRequest() -> Bool {
    repeats.requests == 0
      || repeats.allowsAnother(method: spec.method, sent: headBytesSent, received: receiving.headerBytes)
      || fail(.connectionLost)
  }

  /// Bytes of request heads that the system has taken.
  private var headBytesSent: Int {
    handle.map { weir_easy_get_long($0.easy, CURLINFO_REQUEST_SIZE) } ?? 0
  }
}

extension TransferEngine {
  /// The transfer has its connection. Of the sockets that it tried, those that lost are closed by now, in some versions
  /// without a word.
  func didConnect(_ transfer: Transfer, localPort: CInt) {
    let tried = transfer.connecting
    reconcile(transfer)
    noteConnection(among: tried, localPort: localPort)
    for fd in tried { announce(fd) }
  }

  /// Finds out which of a transfer's sockets became its connection.
  private func noteConnection(among candidates: [CInt], localPort: CInt) {
    guard localPort > 0 else { return }
    for fd in candidates where InternetAddress(localOf: fd)?.port == localPort { sockets.setLocalPort(fd, localPort) }
  }

  /// The connection that libcurl speaks of by its addresses; nil for one of a Unix socket.
  func connection(localPort: CInt, peer: UnsafePointer<CChar>?) -> CInt? {
    sockets.connection(atPort: localPort) { fd in
      guard let peer, let known = InternetAddress(peerOf: fd) else { return false }
      return known.text == String(cString: peer)
    }
  }

  /// Whether nothing has come in on a pooled connection of HTTP/1. libcurl 7.88.1 calls one alive that has bytes waiting,
  /// and would take them for the response to whatever is sent next.
  /// Of a record that held more than a response's last bytes the rest waits in the TLS library, where libcurl up to 8.14.1
  /// doesn't look.
  func isQuiet(_ fd: CInt, _ handle: EasyHandle?) -> Bool {
    guard sockets.isHTTP1(fd) else { return true }
    if let handle, !TLSBuffer.isEmpty(handle.easy) { return false }
    var byte: UInt8 = 0
    return recv(fd, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) < 0 && errno == EAGAIN
  }

  /// Whether a response for `url` may have come by HTTP/2.
  func mayHaveNegotiatedHTTP2(_ url: String) -> Bool {
    switch prepared.httpVersion {
    case Int(CURL_HTTP_VERSION_1_1): false
    case Int(CURL_HTTP_VERSION_2TLS): Scheme(url: url) == .https
    default: true
    }
  }

  /// Something came in on a socket that libcurl asks nothing of: of a paused transfer, or on an idle connection, which is
  /// then of no more use. Shut down, it is dead to libcurl too.
  func nobodyWanted(_ fd: CInt) {
    if sockets.isIdleHTTP1(fd), sockets.hasLocalPort(fd) || knowsAllSockets {
      shutdown(fd, CInt(SHUT_RDWR))
      drain(fd)
    }
    sweeper.idleConnectionEnded(self)
  }

  /// Whether no transfer is on a connection that can't be told from others: libcurl names a Unix socket only when it waits
  /// for it, and a response that is there at once may pause before that.
  private var knowsAllSockets: Bool {
    transfers.allSatisfy { $0.awaitedSocket >= 0 || $0.repeats.requests == 0 }
  }

  /// Reads a socket empty: one with bytes waiting would still count as alive. Nothing more gets in once it is shut down.
  private func drain(_ fd: CInt) {
    // With this flag TCP throws the bytes away without copying them.
    let flags = CInt(MSG_DONTWAIT) | CInt(MSG_TRUNC)
    withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
      for _ in 0..<256 where recv(fd, buffer.baseAddress, buffer.count, flags) <= 0 { return }
    }
  }
}

/// One end of a TCP connection.
private struct InternetAddress {
  let port: CInt
  let text: String

  init?(localOf fd: CInt) { self.init(fd, getsockname) }

  init?(peerOf fd: CInt) { self.init(fd, getpeername) }

  private init?(
    _ fd: CInt, _ name: (CInt, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
  ) {
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let port: CInt? = withUnsafeMutablePointer(to: &address) { storage in
      let result = storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(fd, $0, &size) }
      guard result == 0 else { return nil }
      switch CInt(storage.pointee.ss_family) {
      case AF_INET:
        return storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          _ = inet_ntop(AF_INET, &$0.pointee.sin_addr, &text, socklen_t(text.count))
          return CInt(UInt16(bigEndian: $0.pointee.sin_port))
        }
      case AF_INET6:
        return storage.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
          _ = inet_ntop(AF_INET6, &$0.pointee.sin6_addr, &text, socklen_t(text.count))
          return CInt(UInt16(bigEndian: $0.pointee.sin6_port))
        }
      default: return nil
      }
    }
    guard let port else { return nil }
    self.port = port
    self.text = text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
  }
}
