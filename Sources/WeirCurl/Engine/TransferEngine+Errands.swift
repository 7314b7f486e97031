internal import CCurl
package import WeirIO

// Actions that delegates ask for, performed at the end of the turn.
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

  /// Continues a transfer that has had its share of this turn in the next one.
  func continueNextTurn(_ transfer: Transfer) {
    postponed.append(transfer)
    loop.schedule(nextTurnTimer, at: now, handler: self)
  }

  private func flush() {
    isFlushScheduled = false
    giveBackUnpinned()
    if isClosed { return shutDown() }
    turn &+= 1
    now = .now
    let failed = unwatched
    unwatched.removeAll()
    for fd in failed { act(fd, CURL_CSELECT_ERR) }
    for _ in 0..<Self.roundsPerTurn where !isClosed {
      runErrands()
      guard timeouts.isDueNow, !isClosed else { break }
      serveTimeouts()
    }
    if isClosed { return shutDown() }
    if timeouts.isDueNow || !errands.isEmpty { loop.schedule(nextTurnTimer, at: now, handler: self) }
  }

  private func runErrands() {
    var budget = 4096
    // Errands that are added meanwhile are run as well. A transfer that ends may start the next one. It may also close
    // the engine, which then ends the remaining transfers in its own way.
    while budget > 0, !isClosed, let transfer = errands.popFirst() {
      budget -= 1
      let wanted = transfer.errands
      transfer.errands = []
      run(wanted, of: transfer)
    }
  }

  private func run(_ wanted: Transfer.Errands, of transfer: Transfer) {
    guard !transfer.isFinished else { return }
    if wanted.contains(.cancel) || transfer.failure != nil {
      finishEarly(transfer)
    } else if wanted.contains(.add) {
      add(transfer)
    } else {
      if wanted.contains(.unpause) { unpause(transfer) }
      if wanted.contains(.nudge) { nudge(transfer) }
    }
  }

  private func add(_ transfer: Transfer) {
    guard transfer.state == .waiting else { return }
    guard let multi else { return finish(transfer, result: .failedInit) }
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

  /// Makes libcurl continue with a connection that it has stopped waiting for. From outside, only a change of the
  /// pauses does that. Before the request is written there is nothing that a pause could affect.
  private func nudge(_ transfer: Transfer) {
    guard transfer.state == .running, transfer.clock.ready == nil, let handle = transfer.handle else { return }
    inside {
      _ = curl_easy_pause(handle.easy, CURLPAUSE_RECV)
      _ = curl_easy_pause(handle.easy, transfer.pausedInCurl)
    }
  }

  /// The bytes of a file that is to be sent; reading begins at once.
  package func fileBody(_ path: String, _ size: Int64) -> LoopBound<FileBody> {
    let file = LoopBound(FileBody(path: path, size: size, workers: fileWorkers), on: loop)
    file.value.readAhead(file)
    return file
  }
}

extension Transfer {
  /// The pause mask that libcurl was given or is to be given.
  var pausedInCurl: CInt {
    (receiving.isPausedInCurl ? CURLPAUSE_RECV : 0) | (sending.isPausedInCurl ? CURLPAUSE_SEND : 0)
  }
}
