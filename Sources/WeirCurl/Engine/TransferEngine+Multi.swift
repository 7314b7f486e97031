internal import CCurl
internal import CLinux
internal import Glibc
internal import WeirIO

// The multi handle and its sockets.
extension TransferEngine {
  func makeMulti() throws(TransferError) -> UnsafeMutableRawPointer {
    guard CurlLibrary.initialized == .ok, let multi = curl_multi_init() else {
      throw TransferError(.curl, code: .failedInit, message: "libcurl could not be set up")
    }
    let context = Unmanaged.passUnretained(self).toOpaque()
    weir_multi_set_socket_callback(multi, curlSocketInterest)
    weir_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, context)
    weir_multi_set_timer_callback(multi, curlTimer)
    weir_multi_set_pointer(multi, CURLMOPT_TIMERDATA, context)
    weir_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(1, options.maximumPooledConnections))
    return multi
  }

  func want(_ fd: CInt, _ events: IOEvents) {
    apply(sockets.want(fd, events), to: fd)
  }

  func timeoutChanged(_ milliseconds: Int) {
    timeouts.set(milliseconds: milliseconds, now: milliseconds > 0 ? .now : now)
    if timeouts.isDueNow { scheduleFlush() } else { armTimeouts() }
  }

  func apply(_ change: SocketTable.Change, to fd: CInt) {
    do {
      switch change {
      case .none: return
      case .register(let events): try loop.register(fd, for: events, handler: self)
      case .update(let events): try loop.update(fd, for: events)
      case .unregister: loop.unregister(fd)
      }
    } catch {
      sockets.forgetRegistration(fd)
      socketFailed(fd)
    }
  }

  func didOpen(_ fd: CInt, tag: AnyObject?) -> OpenedSocket {
    let socket = OpenedSocket(descriptor: fd)
    if let stale = sockets.open(socket, tag: tag) { forget(fd, stale) }
    return socket
  }

  /// Tells the observer of an established connection, once.
  func announce(_ fd: CInt) {
    let (isNew, tag) = sockets.connected(fd)
    if isNew { observer?.engineDidOpenConnection(tag: tag) }
  }

  func closeSocket(_ fd: CInt) -> CInt {
    if fd == keptOpen { return 0 }
    if let stream = pinned[fd] { lose(stream) }
    keepUnread(fd)
    if let closed = sockets.close(fd) { forget(fd, closed) }
    return Glibc.close(fd)
  }

  /// Finds sockets of a connection given up early: before 8.2 libcurl may close them without a callback. Only sockets
  /// that this transfer opened, and only ones that never sent anything, can be among them. Returns those that are open.
  @discardableResult func reconcile(_ transfer: Transfer) -> [CInt] {
    guard !transfer.connecting.isEmpty else { return [] }
    var open: [CInt] = []
    for socket in transfer.connecting where sockets.knows(socket) {
      let fd = socket.descriptor
      if socket.isOpen {
        open.append(fd)
      } else if let closed = sockets.close(fd) {
        forget(fd, closed)
      }
    }
    transfer.connecting.removeAll()
    return open
  }

  /// Removes the sockets that libcurl has not closed through our callback by the time its multi handle is gone.
  func closeRemainingSockets() {
    for fd in sockets.registeredDescriptors where !sockets.isOwn(fd) {
      loop.unregister(fd)
      sockets.forgetRegistration(fd)
    }
    for fd in sockets.ownDescriptors {
      if let closed = sockets.close(fd) { forget(fd, closed) }
    }
  }

  private func forget(_ fd: CInt, _ closed: SocketTable.Closed) {
    watch.closes(fd)
    if closed.wasRegistered { loop.unregister(fd) }
    if closed.isConnected { observer?.engineDidCloseConnection(tag: closed.tag) }
  }
}

/// A socket. Its inode tells it from a later socket with the same number, as no other open socket has the same inode.
struct OpenedSocket: Equatable {
  let descriptor: CInt
  private let inode: UInt64?

  init(descriptor: CInt) {
    self.descriptor = descriptor
    var status = stat()
    inode = fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : nil
  }

  /// Whether the socket is still open.
  var isOpen: Bool { inode != nil && OpenedSocket(descriptor: descriptor) == self }
}
