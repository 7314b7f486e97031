internal import CCurl
internal import CLinux
internal import Glibc
internal import WeirIO

// libcurl's callbacks. Each recovers its object, calls one method and maps the result. The objects outlive the calls:
// the engine keeps a transfer until libcurl has given its handle back, and itself destroys the multi handle.

func curlHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  with(context, or: 0) { (transfer: Transfer) in
    transfer.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
  }
}

func curlWrite(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  with(context, or: 0) { (transfer: Transfer) in
    transfer.receiveBody(UnsafeRawBufferPointer(start: bytes, count: count))
  }
}

func curlRead(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  with(context, or: weir_read_abort) { (transfer: Transfer) in
    transfer.supply(UnsafeMutableRawBufferPointer(start: buffer, count: size &* count))
  }
}

func curlSeek(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: CInt) -> CInt {
  with(context, or: CURL_SEEKFUNC_FAIL) { (transfer: Transfer) in transfer.seek(to: Int64(offset), origin: origin) }
}

/// The connection, new or pooled, is ready, and libcurl is about to write the request to it.
func curlBeforeRequest(
  _ context: UnsafeMutableRawPointer?, _ address: UnsafeMutablePointer<CChar>?,
  _ localAddress: UnsafeMutablePointer<CChar>?, _ port: CInt, _ localPort: CInt
) -> CInt {
  with(context, or: CURL_PREREQFUNC_ABORT) { (transfer: Transfer) in
    transfer.connectionReady(address: address, port: port, localPort: localPort)
      ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
  }
}

/// libcurl is about to look a name up; any result but 0 makes the lookup fail.
func curlLookup(
  _ resolver: UnsafeMutableRawPointer?, _ reserved: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) -> CInt {
  with(context, or: 1) { (transfer: Transfer) in transfer.lookupStarts() ? 0 : 1 }
}

func curlOpenSocket(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let address, let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return weir_socket_bad }
  let known = address.pointee
  // The address is longer than the structure says, for families other than IPv4.
  let bytes = UnsafeRawBufferPointer(start: UnsafeRawPointer(address) + offset, count: Int(known.addrlen))
  return with(context, or: weir_socket_bad) { (transfer: Transfer) in
    transfer.openSocket(
      family: known.family, type: known.socktype, protocolNumber: known.protocol, for: SocketAddress(system: bytes))
  }
}

/// Connections outlive transfers, so the context is the engine.
func curlCloseSocket(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> CInt {
  guard let context else { return close(socket) }
  return with(context, or: 0) { (engine: TransferEngine) in engine.closeSocket(socket) }
}

/// libcurl begins a handshake, with the server or with an `https` proxy.
func curlBeginsTLS(
  _ easy: UnsafeMutableRawPointer?, _ tls: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) -> CURLcode {
  with(context, or: CURLE_OK) { (transfer: Transfer) in
    transfer.handshakeBegins()
    return CURLE_OK
  }
}

func curlSocketInterest(
  _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: CInt, _ context: UnsafeMutableRawPointer?,
  _ perSocket: UnsafeMutableRawPointer?
) -> CInt {
  with(context, or: 0) { (engine: TransferEngine) in
    engine.apply(engine.sockets.want(socket, IOEvents(curlPoll: what)), to: socket)
    guard let easy else { return 0 }
    let loses = what == CURL_POLL_REMOVE && CurlLibrary.forgetsNextAddress
    guard loses || what & CURL_POLL_IN != 0 else { return 0 }
    return with(weir_easy_get_private(easy), or: 0) { (transfer: Transfer) in
      if loses { transfer.loses(socket) } else { transfer.takes(socket) }
      return 0
    }
  }
}

func curlTimer(_ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?) -> CInt {
  with(context, or: 0) { (engine: TransferEngine) in
    engine.timeoutChanged(milliseconds)
    return 0
  }
}

/// Keeps the pruner from connecting to anything.
func curlRefuseSocket(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  weir_socket_bad
}

/// Calls `body` with the object behind a context pointer, without counting that reference.
@inline(__always)
private func with<Object: AnyObject, Answer>(
  _ context: UnsafeMutableRawPointer?, or absent: Answer, _ body: (Object) -> Answer
) -> Answer {
  guard let context else { return absent }
  return Unmanaged<Object>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
}

extension IOEvents {
  /// The events that libcurl asks for in its socket callback.
  init(curlPoll what: CInt) {
    self = []
    if what & CURL_POLL_IN != 0 { insert(.read) }
    if what & CURL_POLL_OUT != 0 { insert(.write) }
  }

  /// The events as `curl_multi_socket_action` takes them.
  var curlMask: CInt {
    var mask: CInt = 0
    if contains(.read) { mask |= CURL_CSELECT_IN }
    if contains(.write) { mask |= CURL_CSELECT_OUT }
    if !isDisjoint(with: .failure) { mask |= CURL_CSELECT_ERR }
    return mask
  }
}
