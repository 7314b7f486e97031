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
    if dialled?.isLookup == true {
      dialled?.found(address())
      return weir_socket_bad
    }
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
    if isPooled, !mayUse(pooled: address, port: port) {
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
    if engine.options.notesPeers { peer = handle.flatMap { TLSConnection($0.easy) }?.peer() }
    if dialled != nil { secureConnection = handle.flatMap { TLSConnection($0.easy) } }
    if let timer = connectTimer { engine.loop.cancel(timer) }
    if repeats.requests > 0 { forgetProvisionalHead() }
    repeats.begin(sent: headBytesSent, received: receiving.headerBytes, isHTTP1: expectation == .http1)
    remotePort = port
    if let address { remoteAddress = engine.addresses.string(address) }
    clock.ready = engine.now
    clock.lastProgress = engine.now
    if proxy != nil, spec.leavesAtOnce { delegate?.transferHasSentBody(self) }
    return true
  }

  /// libcurl waits to read from `socket`. On a connection that is not ready yet, this is the first sign that TCP is
  /// established: until then libcurl waits to write.
  func takes(_ socket: CInt) {
    awaitedSocket = socket
    if clock.ready == nil, connected == nil, connecting.contains(where: { $0.descriptor == socket }) {
      connected = engine.now
    }
    engine.sockets.use(socket, by: Unmanaged.passUnretained(self).toOpaque())
  }

  /// libcurl no longer waits for a socket. If it was still connecting, the next address may be due.
  func loses(_ socket: CInt) {
    guard clock.ready == nil, state == .running, connecting.contains(where: { $0.descriptor == socket }) else { return }
    engine.need(.nudge, for: self)
  }

  /// If a handshake fails the transfer, or a proxy that refuses or closes at once, libcurl may never have waited to read.
  /// TCP is then noted as established here.
  func noteEstablished(failed result: CurlCode) {
    guard clock.ready == nil, connected == nil else { return }
    let isOfProxy = result == .proxy || connectStatus > 0
    if result.isOfHandshake || isOfProxy || result == .sendError || result == .receiveError { connected = engine.now }
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
    return repeats.allowsAnother(method: spec.method, sent: headBytesSent, isAskedFor: isAskedFor)
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
      let (isNew, tag) = sockets.connected(fd)
      if isNew { observer?.engineDidOpenConnection(tag: tag) }
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

// The addresses to which a transfer may connect. The policy judges the address for which a socket is opened, whatever a
// URL or a name server says. The address of a pooled connection is judged again, as it was opened under another
// transfer's policy.
extension Transfer {
  /// The policy for addresses; nil if there is none, or no address of the target's is connected to.
  private var policyOfAddresses: AddressPolicy? {
    guard proxy == nil, engine.prepared.unixSocketPath == nil, spec.endpoint?.unixSocketPath == nil else { return nil }
    return spec.addressPolicy
  }

  /// Whether a socket may be opened for the address; if not, notes the reason.
  func mayOpen(_ address: @autoclosure () -> SocketAddress) -> Bool {
    guard let policy = policyOfAddresses else { return true }
    let address = address()
    let refusal =
      IPAddress(address).map { policy.refusal(of: $0, port: address.port.map(Int.init)) }
      ?? "destinationPolicy refuses an address that is neither IPv4 nor IPv6"
    if let refusal { dial.refusal = refusal }
    return refusal == nil
  }

  /// Whether the request may be sent on a pooled connection. If not, libcurl closes that connection, and the transfer
  /// starts again on a new one.
  func mayUse(pooled address: UnsafePointer<CChar>?, port: CInt) -> Bool {
    guard let policy = policyOfAddresses else { return true }
    let address = address.flatMap { IPAddress(host: String(cString: $0)) }
    dial.avoidsPool = address.map { policy.refusal(of: $0, port: Int(port)) != nil } ?? true
    return !dial.avoidsPool
  }

  /// The policy's reason, if it refused every address. If another address was tried, its failure counts.
  func refusalOfAll(_ result: CurlCode) -> TransferError? {
    guard let refusal = dial.refusal, !dial.hasTried else { return nil }
    return TransferError(.addressRefused, code: result, message: refusal)
  }

  /// The error if there was no socket for the last address.
  func shortage(_ result: CurlCode) -> TransferError? {
    guard result == .couldNotConnect, let errno = dial.shortage else { return nil }
    let text = "no socket could be opened: \(String(cString: strerror(errno)))"
    return TransferError(.noSocket, code: result, message: text, osErrno: errno)
  }
}

extension TransferEngine {
  /// Why the request's endpoint or URL names an address that may not be requested, in any spelling that libcurl accepts;
  /// nil if it does not. The host of the URL is not connected to if there is an endpoint. Unix sockets are not judged.
  package func refusalOfLiteral(_ spec: TransferSpec) -> TransferError? {
    guard let policy = spec.addressPolicy, prepared.unixSocketPath == nil, spec.endpoint?.unixSocketPath == nil,
      let host = spec.endpoint?.host ?? CurlURL.host(of: spec.url),
      let refusal = policy.refusal(ofHost: host, port: spec.endpoint?.port ?? HostName.port(ofURL: spec.url))
    else { return nil }
    return TransferError(.addressRefused, message: refusal)
  }
}

/// The fate of the addresses for a connection that is being made.
struct DialState {
  /// Why the last refused address was refused.
  var refusal: String?
  /// Whether a socket was to be opened for an address.
  var hasTried = false
  /// Why there was no socket for the last address: no descriptors or no memory were left.
  var shortage: CInt?
  /// Whether the pooled connection is alive and not for this transfer: it leads to a refused address, or is too old.
  var avoidsPool = false
}
