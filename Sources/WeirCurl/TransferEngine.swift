internal import CCurl
internal import Glibc
package import WeirIO

/// Runs transfers on an event loop: one libcurl multi handle, its connections, and a pool of easy handles.
///
/// Confined to the loop. libcurl is never entered from one of its own callbacks: what a delegate asks for meanwhile
/// (start, cancel, resume, close) is an errand, run at the end of the turn.
///
/// The loop keeps an engine alive while it has connections; only `close` ends that.
package final class TransferEngine {
  /// Bytes of body that one transfer gets to deliver before the others had their turn.
  static let bytesPerTurn = 262_144
  /// Times that libcurl's due timeouts are served in one turn.
  private static let roundsPerTurn = 8
  private static let pooledHandles = 1024

  package let loop: EventLoop
  package let options: TransportOptions
  let prepared: PreparedOptions
  /// Held until `close`, so that no weak reference slows down the counting of references to either.
  private(set) var observer: (any TransferEngineObserver)?
  private let workers: WorkerPool?
  private var ownWorkers: WorkerPool?

  var multi: UnsafeMutableRawPointer?
  var sockets = SocketTable()
  var lookups: LookupGate<Transfer>
  var addresses = AddressCache()
  var timeouts = CurlTimeouts()
  let sweeper: Sweeper
  /// The time at which libcurl was last entered.
  var now = MonotonicTime.now
  /// Counts turns in which there was anything to do.
  private(set) var turn: UInt64 = 0
  /// Whether a call into libcurl is under way.
  private var isInside = false
  private var isClosed = false
  private var isFlushScheduled = false

  private var transfers: [Transfer] = []
  private var errands: [Transfer] = []
  private var postponed: [Transfer] = []
  private var pool: [EasyHandle] = []
  private var unwatched: [CInt] = []
  private let nextTurnTimer = LoopTimer()

  /// - Parameter workers: who reads files to be sent; nil for a small pool of the engine's own, made when needed.
  package init(
    loop: EventLoop, options: TransportOptions, observer: (any TransferEngineObserver)?, workers: WorkerPool? = nil
  ) throws(TransferError) {
    loop.preconditionCurrent()
    self.loop = loop
    self.options = options
    self.observer = observer
    self.workers = workers
    prepared = try PreparedOptions(options)
    lookups = LookupGate(limit: options.maximumConcurrentLookups)
    sweeper = Sweeper(idleLifetime: options.idleConnectionLifetime)
    multi = try makeMulti()
  }

  deinit {
    // Reached without `close` only when nothing is registered; the sockets libcurl may still close need no callback.
    if let multi { curl_multi_cleanup(multi) }
  }

  /// Starts a transfer; its delegate hears nothing before this call has returned.
  package func start(
    _ spec: TransferSpec, headers: PreparedHeaders, delegate: any TransferDelegate
  ) -> Transfer {
    loop.preconditionCurrent()
    let transfer = Transfer(spec: spec, headers: headers, delegate: delegate, engine: self)
    transfer.slot = transfers.count
    transfers.append(transfer)
    if isClosed {
      transfer.failure = .engineClosed
      need(.cancel, for: transfer)
    } else {
      need(.add, for: transfer)
    }
    return transfer
  }

  /// Fails all transfers, closes all connections and lets go of the loop. Delegates hear the end before this call
  /// returns, unless it came from within one of libcurl's callbacks: then by the end of the turn.
  package func close() {
    loop.preconditionCurrent()
    guard !isClosed else { return }
    isClosed = true
    if isInside { scheduleFlush() } else { shutDown() }
  }

  /// Transfers that have not finished.
  package var activeTransfers: Int { transfers.count }

  /// Name lookups that are under way.
  package var runningLookups: Int { lookups.running }

  /// Descriptors that libcurl has open for connections.
  package var openConnections: Int { sockets.openCount }
}

// MARK: - Errands

extension TransferEngine {
  func need(_ errand: Transfer.Errands, for transfer: Transfer) {
    if transfer.errands.isEmpty { errands.append(transfer) }
    transfer.errands.insert(errand)
    scheduleFlush()
  }

  func scheduleFlush() {
    guard !isFlushScheduled else { return }
    isFlushScheduled = true
    loop.atEndOfTurn { [self] in flush() }
  }

  /// Takes up a transfer, which had its share of this turn, again in the next one.
  func continueNextTurn(_ transfer: Transfer) {
    postponed.append(transfer)
    loop.schedule(nextTurnTimer, at: now, handler: self)
  }

  private func flush() {
    isFlushScheduled = false
    if isClosed { return shutDown() }
    turn &+= 1
    now = .now
    let failed = unwatched
    unwatched.removeAll()
    for fd in failed { act(fd, CURL_CSELECT_ERR) }
    for _ in 0..<Self.roundsPerTurn {
      runErrands()
      guard timeouts.isDueNow else { break }
      serveTimeouts()
    }
    if isClosed { return shutDown() }
    if timeouts.isDueNow || !errands.isEmpty { loop.schedule(nextTurnTimer, at: now, handler: self) }
  }

  private func runErrands() {
    var index = 0
    // Errands that these bring up are run as well: a transfer that ends may start the next one.
    while index < errands.count, index < 4096 {
      let transfer = errands[index]
      let wanted = transfer.errands
      transfer.errands = []
      index += 1
      run(wanted, of: transfer)
    }
    if index < errands.count { errands.removeFirst(index) } else { errands.removeAll(keepingCapacity: true) }
  }

  private func run(_ wanted: Transfer.Errands, of transfer: Transfer) {
    guard transfer.state != .finished else { return }
    if wanted.contains(.cancel) || transfer.failure != nil {
      finishEarly(transfer)
    } else if wanted.contains(.add) {
      add(transfer)
    } else if wanted.contains(.unpause) {
      unpause(transfer)
    }
  }

  private func add(_ transfer: Transfer) {
    guard transfer.state == .waiting, let multi else { return }
    if transfer.handle == nil {
      guard let handle = pool.popLast() ?? EasyHandle() else {
        return finish(transfer, result: .outOfMemory)
      }
      transfer.handle = handle
      handle.transfer = transfer
      if let error = handle.prepare(for: transfer, engine: self) { return finish(transfer, error: error) }
      armSilence(handle, transfer)
    }
    transfer.state = .running
    let code = curl_multi_add_handle(multi, transfer.handle?.easy)
    if code != CURLM_OK { finish(transfer, result: .failedInit) }
  }

  private func unpause(_ transfer: Transfer) {
    if transfer.state == .held, !transfer.receiving.isPaused, let report = transfer.heldReport {
      return settle(transfer, error: nil, report: report)
    }
    guard transfer.state == .running, let handle = transfer.handle else { return }
    let before = transfer.pausedInCurl
    if !transfer.receiving.isPaused { transfer.receiving.isPausedInCurl = false }
    if !transfer.sending.isPaused { transfer.sending.isPausedInCurl = false }
    let after = transfer.pausedInCurl
    guard before != after else { return }
    inside { _ = curl_easy_pause(handle.easy, after) }
    if transfer.failure != nil { need(.cancel, for: transfer) }
  }

  /// Files to be sent are read here.
  func fileWorkers() -> WorkerPool {
    if let workers = workers ?? ownWorkers { return workers }
    let made = WorkerPool(name: "weir.files", width: 2)
    ownWorkers = made
    return made
  }
}

extension Transfer {
  /// The mask that libcurl was given or is to be given.
  var pausedInCurl: CInt {
    (receiving.isPausedInCurl ? CURLPAUSE_RECV : 0) | (sending.isPausedInCurl ? CURLPAUSE_SEND : 0)
  }
}

// MARK: - Entering libcurl

extension TransferEngine: EventHandler, TimerHandler {
  package func descriptorReady(_ fd: CInt, events: IOEvents) {
    let (wanted, change) = sockets.ready(fd, events)
    apply(change, to: fd)
    guard !wanted.isEmpty else {
      if change == .unregister { sweeper.idleConnectionEnded(self) }
      return
    }
    act(fd, wanted.curlMask)
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
    } else {
      sweeper.timerFired(self)
    }
  }

  func armTimeouts() {
    guard let due = timeouts.dueToArm() else { return }
    loop.schedule(timeouts.timer, at: due, handler: self)
  }

  /// The loop could not watch a socket; its transfer must not wait for ever.
  func socketFailed(_ fd: CInt) {
    unwatched.append(fd)
    scheduleFlush()
  }

  private func serveTimeouts() {
    timeouts.beginServing()
    act(weir_socket_timeout, 0)
    guard let multi, timeouts.isUnanswered else { return }
    // libcurl only tells of changes: when it found nothing due, it has to be asked.
    var milliseconds = -1
    if curl_multi_timeout(multi, &milliseconds) == CURLM_OK {
      timeouts.set(milliseconds: milliseconds < 0 ? -1 : max(1, milliseconds), now: .now)
      armTimeouts()
    }
  }

  private func act(_ socket: CInt, _ mask: CInt) {
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

  /// Marks the time in which nothing may enter libcurl again.
  private func inside(_ call: () -> Void) {
    isInside = true
    call()
    isInside = false
  }

  private func collect() {
    var result = CURLE_OK
    while let multi, let easy = weir_multi_next_done(multi, &result) {
      guard let context = weir_easy_get_private(easy) else {
        sweeper.finished(self, multi)
        continue
      }
      let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
      libcurlFinished(transfer, CurlCode(rawValue: result.rawValue))
    }
  }
}

// MARK: - Ends

extension TransferEngine {
  private func libcurlFinished(_ transfer: Transfer, _ result: CurlCode) {
    if transfer.lookup == .postponed, transfer.failure == nil { return wait(transfer) }
    if result == .ok, transfer.failure == nil, transfer.receiving.phase == .refusedExpectation {
      _ = transfer.deliverHead()
    }
    if transfer.state == .abandoned {
      release(transfer)
      remove(transfer)
      transfer.state = .finished
    } else {
      finish(transfer, result: result)
    }
  }

  /// Ends a transfer from outside of libcurl.
  private func finishEarly(_ transfer: Transfer) {
    if transfer.state == .running, transfer.lookup == .running, !isClosed {
      return abandon(transfer)
    }
    finish(transfer, result: .ok)
  }

  /// Ends a transfer for its delegate, and leaves the handle to libcurl until the lookup is over: that thread can't be
  /// stopped, only be forgotten, and then would no longer be counted.
  private func abandon(_ transfer: Transfer) {
    let error = transfer.error(for: .ok)
    let report = transfer.report()
    transfer.state = .abandoned
    tell(transfer, error, report)
  }

  private func finish(_ transfer: Transfer, result: CurlCode) {
    finish(transfer, error: transfer.error(for: result))
  }

  private func finish(_ transfer: Transfer, error: TransferError?) {
    let report = transfer.heldReport ?? transfer.report()
    release(transfer)
    if error == nil, transfer.receiving.isPaused {
      transfer.heldReport = report
      transfer.state = .held
      return
    }
    settle(transfer, error: error, report: report)
  }

  private func settle(_ transfer: Transfer, error: TransferError?, report: TransferReport) {
    remove(transfer)
    transfer.state = .finished
    tell(transfer, error, report)
  }

  private func tell(_ transfer: Transfer, _ error: TransferError?, _ report: TransferReport) {
    let delegate = transfer.delegate
    transfer.delegate = nil
    delegate?.transfer(transfer, didFinish: error, report: report)
  }

  /// Takes the handle back from libcurl, and into the pool.
  private func release(_ transfer: Transfer) {
    guard let handle = transfer.handle else { return }
    if transfer.state == .running || transfer.state == .abandoned, let multi {
      curl_multi_remove_handle(multi, handle.easy)
      reconcile(transfer)
    }
    endLookup(of: transfer)
    transfer.handle = nil
    handle.transfer = nil
    if pool.count < Self.pooledHandles { pool.append(handle) } else { loop.cancel(handle.silenceTimer) }
    sweeper.transferEnded(self)
  }

  private func remove(_ transfer: Transfer) {
    let slot = transfer.slot
    guard slot >= 0, slot < transfers.count, transfers[slot] === transfer else { return }
    let last = transfers.removeLast()
    if last !== transfer {
      transfers[slot] = last
      last.slot = slot
    }
    transfer.slot = -1
  }

  /// Puts a transfer back that must wait for another's lookup to end.
  private func wait(_ transfer: Transfer) {
    if let multi, let handle = transfer.handle {
      curl_multi_remove_handle(multi, handle.easy)
      handle.errorText[0] = 0
    }
    transfer.state = .waiting
    transfer.lookup = .none
    lookups.postpone(transfer)
    startPostponedLookups()
  }

  /// After an error the multi handle is of no use: its transfers fail and a new one takes its place.
  private func replaceMulti() {
    for transfer in transfers where transfer.state == .running || transfer.state == .abandoned {
      transfer.failure = transfer.failure ?? .engineFailed
      finish(transfer, result: .ok)
    }
    closeMulti()
    multi = try? makeMulti()
  }

  private func shutDown() {
    errands.removeAll()
    postponed.removeAll()
    for transfer in transfers {
      transfer.failure = transfer.failure ?? .engineClosed
      if transfer.state == .abandoned {
        release(transfer)
        remove(transfer)
        transfer.state = .finished
      } else {
        finish(transfer, result: .ok)
      }
    }
    closeMulti()
    observer = nil
    for handle in pool { loop.cancel(handle.silenceTimer) }
    pool.removeAll()
    for timer in [timeouts.timer, nextTurnTimer, sweeper.timer] { loop.cancel(timer) }
  }

  private func closeMulti() {
    guard let old = multi else { return }
    multi = nil
    sweeper.detach(from: old)
    inside { _ = curl_multi_cleanup(old) }
    closeRemainingSockets()
    timeouts.clear()
  }
}
