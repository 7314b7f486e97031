internal import CCurl
internal import CLinux
internal import Glibc
package import WeirIO

/// Runs transfers on an event loop: one libcurl multi handle, its connections, and a pool of easy handles.
///
/// Confined to the loop. libcurl is never entered from one of its own callbacks. A delegate's calls in between (start,
/// cancel, resume, close) become errands, run at the end of the turn.
///
/// The loop keeps an engine with connections alive until `close`.
package final class TransferEngine {
  /// How often libcurl's due timeouts are served in one turn.
  static let roundsPerTurn = 8
  static let pooledHandles = 1024

  package let loop: EventLoop
  package let options: TransportOptions
  let prepared: PreparedOptions
  /// Held strongly until `close`, as a weak reference would slow down reference counting of both objects.
  var observer: (any TransferEngineObserver)?
  private let workers: WorkerPool?
  /// The workers that read files to be sent.
  private(set) lazy var fileWorkers = workers ?? WorkerPool(name: "weir.files", width: 2)

  var multi: UnsafeMutableRawPointer?
  @exclusivity(unchecked) var sockets = SocketTable()
  let caches: SharedCaches
  var addresses = AddressCache()
  @exclusivity(unchecked) var protocols = ProtocolMemory()
  @exclusivity(unchecked) var timeouts = CurlTimeouts()
  let watch = ReadWatch()
  let pruner: ConnectionPruner
  /// The time at which libcurl was last entered.
  var now = MonotonicTime.now
  /// Counts the header lines and pieces of bodies that libcurl delivered.
  var arrivals: UInt64 = 0
  /// Counts the turns in which there was something to do.
  var turn: UInt64 = 0
  /// Whether a call into libcurl is under way.
  @exclusivity(unchecked) var isInside = false
  var isClosed = false
  var isFlushScheduled = false

  @exclusivity(unchecked) var transfers: [Transfer] = []
  @exclusivity(unchecked) var errands = Deque<Transfer>()
  var postponed: [Transfer] = []
  @exclusivity(unchecked) var pool: [EasyHandle] = []
  var unwatched: [CInt] = []
  /// Whether another engine goes on where a choice of versions has led to HTTP/1, so that the connection is closed after
  /// its response.
  package var leavesHTTP1 = false
  /// Whether any transfer was allowed to use HTTP/2.
  var mayMultiplex = false
  /// Whether any transfer had rules of its own for its connection.
  var hasRules = false
  /// The longest time in seconds that any transfer lets its connection be idle.
  var longestIdle: Int
  /// The descriptor that stays open when libcurl closes its connection; −1 for none.
  var keptOpen: CInt = -1
  /// TLS connections that are not libcurl's to use, by descriptor.
  var pinned: [CInt: SocketStream] = [:]
  /// The handles of TLS connections that were closed while libcurl was being called.
  var unpinned: [EasyHandle] = []
  /// The headers of all dials, which libcurl may look at for as long as a connection lives.
  let noHeaders = PreparedHeaders(HeaderBlock())
  let nextTurnTimer = LoopTimer()
  var extraPolls = ExtraPolls()
  let extraPollTimer = LoopTimer()

  /// - Parameter workers: The pool that reads files to be sent; nil for a small pool of the engine's own, made when
  ///   needed.
  package init(
    loop: EventLoop, options: TransportOptions, observer: (any TransferEngineObserver)?, workers: WorkerPool? = nil
  ) throws(TransferError) {
    loop.preconditionCurrent()
    self.loop = loop
    self.options = options
    self.observer = observer
    self.workers = workers
    prepared = try PreparedOptions(options)
    longestIdle = prepared.maximumIdle
    guard let caches = SharedCaches(lookups: options.maximumConcurrentLookups) else {
      throw TransferError(.curl, code: .outOfMemory, message: "no memory for libcurl's caches")
    }
    self.caches = caches
    pruner = ConnectionPruner(idleLifetime: options.idleConnectionLifetime)
    multi = try makeMulti()
  }

  /// An engine with a multi handle of its own that is otherwise as `other`.
  init(sharingWith other: TransferEngine) throws(TransferError) {
    loop = other.loop
    options = other.options
    observer = other.observer
    workers = other.workers
    prepared = other.prepared
    longestIdle = prepared.maximumIdle
    caches = other.caches
    pruner = ConnectionPruner(idleLifetime: options.idleConnectionLifetime)
    multi = try makeMulti()
  }

  deinit {
    // Reached without `close` only when no descriptor is registered; sockets that libcurl may still close need no
    // callback.
    watch.closesAll()
    if let multi { curl_multi_cleanup(multi) }
  }

  /// Starts a transfer; its delegate hears nothing before this call has returned.
  package func start(
    _ spec: consuming TransferSpec, headers: PreparedHeaders, delegate: any TransferDelegate
  ) -> Transfer {
    loop.preconditionCurrent()
    let proxy = proxy(of: spec)
    let transfer = Transfer(spec: spec, headers: headers, delegate: delegate, engine: self, through: proxy)
    begin(transfer)
    return transfer
  }

  func begin(_ transfer: Transfer) {
    transfer.slot = transfers.count
    transfers.append(transfer)
    if isClosed {
      transfer.failure = .engineClosed
      need(.cancel, for: transfer)
    } else {
      need(.add, for: transfer)
    }
  }

  /// Fails all transfers, closes all connections and releases the loop. Delegates hear the end by the end of this turn,
  /// never from within this call.
  package func close() {
    loop.preconditionCurrent()
    guard !isClosed else { return }
    isClosed = true
    scheduleFlush()
  }

  /// Transfers that have not finished.
  package var activeTransfers: Int { transfers.count }

  /// Name lookups that are under way.
  package var runningLookups: Int { caches.lookups.running }

  /// Descriptors that libcurl has open for connections.
  package var openConnections: Int { sockets.openCount }
}

// MARK: - Entering libcurl

extension TransferEngine: EventHandler, TimerHandler {
  package func descriptorReady(_ fd: CInt, events: IOEvents) {
    let (wanted, change) = sockets.ready(fd, events)
    apply(change, to: fd)
    guard !wanted.isEmpty else {
      if change == .unregister { nobodyWanted(fd) }
      return
    }
    let before = arrivals
    act(fd, wanted.curlMask)
    if arrivals == before, wanted.contains(.read) { pollAgain(fd) }
  }

  package func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if timer === nextTurnTimer {
      let resumed = postponed
      postponed.removeAll(keepingCapacity: true)
      for transfer in resumed { need(.unpause, for: transfer) }
      scheduleFlush()
    } else if timer === timeouts.timer {
      timeouts.timerFired(now: .now)
      if timeouts.isDueNow { scheduleFlush() } else { armTimeouts() }
    } else if timer === extraPollTimer {
      extraPollsDue()
    } else {
      pruner.timerFired(self)
    }
  }

  func armTimeouts() {
    guard let due = timeouts.dueToArm() else { return }
    loop.schedule(timeouts.timer, at: due, handler: self)
  }

  func serveTimeouts() {
    timeouts.beginServing()
    act(weir_socket_timeout, 0)
    guard let multi, timeouts.isUnanswered else { return }
    // libcurl reports only changes of its timeout. If it found nothing due, we have to ask for the time.
    var milliseconds = -1
    if curl_multi_timeout(multi, &milliseconds) == CURLM_OK {
      timeouts.set(milliseconds: milliseconds < 0 ? -1 : max(1, milliseconds), now: .now)
      armTimeouts()
    }
  }

  func act(_ socket: CInt, _ mask: CInt) {
    guard let multi, !isInside else { return }
    now = .now
    var running: CInt = 0
    var code = CURLM_OK
    inside { code = curl_multi_socket_action(multi, socket, mask, &running) }
    if code == CURLM_OK || code == CURLM_BAD_SOCKET {
      collect()
    } else {
      replaceMulti()
    }
  }

  /// Marks the time during which libcurl must not be entered again.
  func inside(_ call: () -> Void) {
    isInside = true
    watch.crosses()
    call()
    watch.crosses()
    isInside = false
  }

  private func collect() {
    var result = CURLE_OK
    while let multi, let easy = weir_multi_next_done(multi, &result) {
      guard let context = weir_easy_get_private(easy) else {
        pruner.finished(self, multi)
        continue
      }
      let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
      libcurlFinished(transfer, CurlCode(rawValue: result.rawValue))
    }
  }
}

/// The last address as a String, kept because most transfers go to the address of the one before.
struct AddressCache {
  private var bytes: [CChar] = [0]
  private var text = ""

  mutating func string(_ address: UnsafePointer<CChar>) -> String {
    let isKnown = bytes.withUnsafeBufferPointer { known in
      known.baseAddress.map { strcmp($0, address) == 0 } ?? false
    }
    if isKnown { return text }
    text = String(cString: address)
    bytes = Array(UnsafeBufferPointer(start: address, count: strlen(address) + 1))
    return text
  }
}

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
      // The transfer of a socket that can't be watched must not wait for ever.
      unwatched.append(fd)
      scheduleFlush()
    }
  }

  func didOpen(_ fd: CInt, tag: AnyObject?) -> OpenedSocket {
    let socket = OpenedSocket(descriptor: fd)
    if let stale = sockets.open(socket, tag: tag) { forget(fd, stale) }
    return socket
  }

  func closeSocket(_ fd: CInt) -> CInt {
    if fd == keptOpen { return 0 }
    if let stream = pinned[fd] { lose(stream) }
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
    for fd in sockets.descriptors {
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
