internal import CCurl
internal import CLinux
internal import Glibc
internal import WeirIO

// The ends of transfers, and of the engine itself.
extension TransferEngine {
  func libcurlFinished(_ transfer: Transfer, _ result: CurlCode) {
    if transfer.lookup == .postponed, transfer.failure == nil, transfer.state == .running, waitForLookup(transfer) {
      return
    }
    lookupFailed(transfer, result)
    transfer.noteEstablished(failed: result)
    if let dial = transfer.dialled, result == .ok, transfer.failure == nil { return finishDial(dial, transfer) }
    if transfer.repeats.needsFreshConnection, transfer.failure == nil, changeConnection(of: transfer) { return }
    if result == .ok, transfer.failure == nil, transfer.receiving.phase == .provisional {
      _ = transfer.deliverHead()
    }
    if transfer.state == .abandoned { endAbandoned(transfer) } else { finish(transfer, result: result) }
  }

  /// Ends a transfer from outside of libcurl.
  func finishEarly(_ transfer: Transfer) {
    if transfer.state == .running, transfer.lookup == .running, !isClosed {
      return abandon(transfer)
    }
    finish(transfer, result: .ok)
  }

  /// Ends a transfer for its delegate, and leaves the handle to libcurl until the lookup is over. The lookup's thread
  /// can't be stopped. If libcurl gave it up, it would run on without being counted. For that reason the timeout is
  /// lifted, too.
  private func abandon(_ transfer: Transfer) {
    let error = transfer.error(for: .ok)
    let report = transfer.report()
    transfer.state = .abandoned
    transfer.fail(.cancelled)
    if let handle = transfer.handle {
      _ = weir_easy_set_long(handle.easy, CURLOPT_CONNECTTIMEOUT_MS, PreparedOptions.longestTimeout)
    }
    tell(transfer, error, report)
  }

  /// The lookup of an abandoned transfer is over, or the engine is.
  private func endAbandoned(_ transfer: Transfer) {
    release(transfer)
    remove(transfer)
    transfer.state = .finished
  }

  func finish(_ transfer: Transfer, result: CurlCode) {
    let error = transfer.error(for: result)
    // libcurl reports success, but the response is invalid, so its end is unknown. libcurl keeps the connection, which
    // must not serve another request.
    if error != nil, result == .ok, transfer.failure == nil, transfer.verdict == nil, transfer.awaitedSocket >= 0,
      transfer.expectation == .http1
    {
      shutdown(transfer.awaitedSocket, CInt(SHUT_RDWR))
    }
    finish(transfer, error: error)
  }

  func finish(_ transfer: Transfer, error: TransferError?) {
    let report = transfer.heldReport ?? transfer.report()
    release(transfer)
    if error == nil, transfer.receiving.isPaused {
      transfer.heldReport = report
      transfer.state = .held
      return
    }
    settle(transfer, error: error, report: report)
  }

  func settle(_ transfer: Transfer, error: TransferError?, report: TransferReport) {
    remove(transfer)
    transfer.state = .finished
    tell(transfer, error, report)
  }

  private func tell(_ transfer: Transfer, _ error: TransferError?, _ report: TransferReport) {
    if let timer = transfer.connectTimer { loop.cancel(timer) }
    let delegate = transfer.delegate
    transfer.delegate = nil
    transfer.dialled = nil
    delegate?.transfer(transfer, didFinish: error, report: report)
  }

  /// Takes the handle back from libcurl and returns it to the pool.
  func release(_ transfer: Transfer) {
    if transfer.lookup == .waiting { caches.lookups.leave(transfer.lookupTicket, for: transfer.lookupName) }
    guard let handle = transfer.handle else { return endLookup(of: transfer) }
    if transfer.state == .running || transfer.state == .abandoned, let multi {
      curl_multi_remove_handle(multi, handle.easy)
      reconcile(transfer)
    }
    endLookup(of: transfer)
    sockets.leave(transfer.awaitedSocket, Unmanaged.passUnretained(transfer).toOpaque(), at: now)
    transfer.handle = nil
    handle.transfer = nil
    if pool.count < Self.pooledHandles { pool.append(handle) } else { loop.cancel(handle.silenceTimer) }
    pruner.transferEnded(self)
  }

  func remove(_ transfer: Transfer) {
    let slot = transfer.slot
    guard slot >= 0, slot < transfers.count, transfers[slot] === transfer else { return }
    let last = transfers.removeLast()
    if last !== transfer {
      transfers[slot] = last
      last.slot = slot
    }
    transfer.slot = -1
  }

  /// After an error the multi handle is unusable: its transfers fail, and a new one takes its place.
  func replaceMulti() {
    for transfer in transfers where transfer.state == .running || transfer.state == .abandoned {
      transfer.fail(.engineFailed)
      finish(transfer, result: .ok)
    }
    closeMulti()
    multi = try? makeMulti()
  }

  /// Called only at the end of a turn, with no other step of the engine under way. If delegates ask for errands
  /// meanwhile, the engine is closed already, and this is called again.
  func shutDown() {
    let dropped = postponed
    postponed = []
    while let transfer = errands.popFirst() { transfer.errands = [] }
    withExtendedLifetime(dropped) {}
    for transfer in transfers where transfer.state != .finished {
      transfer.fail(.engineClosed)
      if transfer.state == .abandoned { endAbandoned(transfer) } else { finish(transfer, result: .ok) }
    }
    closeMulti()
    observer = nil
    for handle in pool { loop.cancel(handle.silenceTimer) }
    pool.removeAll()
    for timer in [timeouts.timer, nextTurnTimer, extraPollTimer, pruner.timer] { loop.cancel(timer) }
  }

  private func closeMulti() {
    guard let old = multi else { return }
    loseAll()
    multi = nil
    pruner.detach(from: old)
    inside { _ = curl_multi_cleanup(old) }
    closeRemainingSockets()
    timeouts.clear()
  }
}

// Restarts of transfers that have no answer yet.
extension TransferEngine {
  /// Restarts a transfer of which nothing was sent on its connection; false when that is impossible.
  func changeConnection(of transfer: Transfer) -> Bool {
    transfer.repeats.needsFreshConnection = false
    guard let handle = transfer.handle, transfer.receiving.headerBytes == 0 else {
      return transfer.fail(.connectionLost)
    }
    guard takeBack(transfer, isStale: !transfer.dial.avoidsPool),
      weir_easy_set_long(handle.easy, CURLOPT_FRESH_CONNECT, 1) == CURLE_OK
    else { return false }
    need(.add, for: transfer)
    return true
  }

  /// Takes a transfer back from libcurl, for which it is a new one when it is added again; false when its body can't be
  /// sent from the beginning.
  func takeBack(_ transfer: Transfer, isStale: Bool) -> Bool {
    guard let multi, let handle = transfer.handle else { return false }
    // An earlier connection may have taken some of the body.
    if transfer.sending.supplied > 0, !transfer.sending.isInline,
      transfer.seek(to: 0, origin: SEEK_SET) != CURL_SEEKFUNC_OK
    {
      return false
    }
    curl_multi_remove_handle(multi, handle.easy)
    handle.errorText[0] = 0
    sockets.leave(transfer.awaitedSocket, Unmanaged.passUnretained(transfer).toOpaque(), at: now)
    transfer.awaitedSocket = -1
    transfer.tunnel = TunnelState()
    transfer.connected = nil
    transfer.repeats.startAnew(isStale: isStale)
    transfer.restarted = MonotonicTime.now.seconds(since: transfer.clock.start)
    transfer.state = .waiting
    return true
  }
}
