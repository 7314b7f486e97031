internal import CCurl
internal import CLinux
internal import Glibc
internal import WeirIO

// What libcurl calls. Each recovers its object, calls one method, maps the result. The objects outlive the calls: the
// engine keeps a transfer until libcurl has given its handle back, and itself destroys the multi handle.

func curlHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = object(Transfer.self, context) else { return 0 }
  return transfer.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
}

func curlWrite(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = object(Transfer.self, context) else { return 0 }
  return transfer.receiveBody(UnsafeRawBufferPointer(start: bytes, count: count))
}

func curlRead(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let transfer = object(Transfer.self, context) else { return weir_read_abort }
  return transfer.supply(UnsafeMutableRawBufferPointer(start: buffer, count: size &* count))
}

func curlSeek(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: CInt) -> CInt {
  object(Transfer.self, context)?.seek(to: Int64(offset), origin: origin) ?? CURL_SEEKFUNC_FAIL
}

/// The connection stands, new or pooled, and the request is about to be written to it.
func curlBeforeRequest(
  _ context: UnsafeMutableRawPointer?, _ address: UnsafeMutablePointer<CChar>?,
  _ localAddress: UnsafeMutablePointer<CChar>?, _ port: CInt, _ localPort: CInt
) -> CInt {
  let mayGoOn = object(Transfer.self, context)?.connectionReady(address: address, port: port) ?? false
  return mayGoOn ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

/// A name is about to be looked up; anything but 0 makes it fail.
func curlLookup(
  _ resolver: UnsafeMutableRawPointer?, _ reserved: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) -> CInt {
  object(Transfer.self, context)?.lookupStarts() ?? false ? 0 : 1
}

func curlOpenSocket(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let transfer = object(Transfer.self, context), let address else { return weir_socket_bad }
  return transfer.openSocket(
    family: address.pointee.family, type: address.pointee.socktype, protocolNumber: address.pointee.protocol)
}

/// Connections outlive transfers, so this one is the engine's.
func curlCloseSocket(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> CInt {
  object(TransferEngine.self, context)?.closeSocket(socket) ?? close(socket)
}

func curlSocketInterest(
  _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: CInt, _ context: UnsafeMutableRawPointer?,
  _ perSocket: UnsafeMutableRawPointer?
) -> CInt {
  object(TransferEngine.self, context)?.want(socket, IOEvents(curlPoll: what))
  return 0
}

func curlTimer(_ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?) -> CInt {
  object(TransferEngine.self, context)?.timeoutChanged(milliseconds)
  return 0
}

/// The sweeper must not connect to anything.
func curlRefuseSocket(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  weir_socket_bad
}

@inline(__always)
private func object<Object: AnyObject>(_ type: Object.Type, _ context: UnsafeMutableRawPointer?) -> Object? {
  context.map { Unmanaged<Object>.fromOpaque($0).takeUnretainedValue() }
}

extension IOEvents {
  /// What libcurl asks for in its socket callback.
  init(curlPoll what: CInt) {
    switch what {
    case CURL_POLL_IN: self = .read
    case CURL_POLL_OUT: self = .write
    case CURL_POLL_INOUT: self = [.read, .write]
    default: self = []
    }
  }

  /// The same in the terms of `curl_multi_socket_action`.
  var curlMask: CInt {
    var mask: CInt = 0
    if contains(.read) { mask |= CURL_CSELECT_IN }
    if contains(.write) { mask |= CURL_CSELECT_OUT }
    if contains(.error) || contains(.hangup) { mask |= CURL_CSELECT_ERR }
    return mask
  }
}
