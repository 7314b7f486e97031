internal import CCurl
internal import WeirIO

// The limit on name lookups. A lookup beyond the limit, or a second one for a name, is refused in libcurl's callback.
// That ends the transfer in libcurl and costs the others nothing. The transfer is restarted when its lookup may run or
// is no longer needed.
extension TransferEngine {
  /// The lookup's thread has finished, or was never needed.
  func endLookup(of transfer: Transfer) {
    guard transfer.lookup == .running else { return }
    transfer.lookup = .none
    for waiter in caches.lookups.end(transfer.lookupName) { goOn(waiter) }
    startPostponedLookups()
  }

  /// If a name could not be resolved, the transfers that waited for this lookup fail as well.
  func lookupFailed(_ transfer: Transfer, _ result: CurlCode) {
    guard transfer.lookup == .running, result == .couldNotResolveHost || result == .couldNotResolveProxy else { return }
    transfer.lookup = .failed
    let error = transfer.curlError(result)
    for waiter in caches.lookups.end(transfer.lookupName) {
      waiter.verdict = waiter.verdict ?? error
      waiter.engine.need(.cancel, for: waiter)
    }
    startPostponedLookups()
  }

  /// Puts back a transfer whose lookup was refused; false when it can't wait, and ends.
  func waitForLookup(_ transfer: Transfer) -> Bool {
    guard takeBack(transfer, isStale: transfer.repeats.requests > 0) else { return false }
    transfer.lookup = .waiting
    transfer.lookupTicket = caches.lookups.wait(transfer, for: transfer.lookupName)
    startPostponedLookups()
    return true
  }

  /// A transfer that waits for a lookup ends.
  func leaveLookups(_ transfer: Transfer) {
    guard transfer.lookup == .waiting else { return }
    caches.lookups.leave(transfer.lookupTicket, for: transfer.lookupName)
  }

  private func startPostponedLookups() {
    while let transfer = caches.lookups.next() {
      goOn(transfer)
      transfer.lookup = .running
    }
  }

  private func goOn(_ transfer: Transfer) {
    transfer.lookup = .none
    transfer.restarted = MonotonicTime.now.seconds(since: transfer.clock.start)
    transfer.engine.need(.add, for: transfer)
  }
}

extension Transfer {
  /// Whether libcurl may look a name up now.
  func lookupStarts() -> Bool {
    // A repeat that is not allowed needs no name.
    guard state == .running, failure == nil, mayBeginRequest() else { return false }
    guard lookup == .none, let name = engine.prepared.lookupName(spec) else {
      limitLookup()
      return true
    }
    lookupName = name
    limitConnecting()
    guard engine.caches.lookups.begin(name) else {
      lookup = .postponed
      return false
    }
    lookup = .running
    limitLookup()
    return true
  }

  /// Makes our connect timeout end the transfer, also while it waits for a lookup. libcurl's own timeout would lose
  /// track of a resolver thread that still runs.
  private func limitConnecting() {
    let timer = connectTimer ?? LoopTimer()
    guard !timer.isArmed else { return }
    connectTimer = timer
    let seconds = Double(engine.connectTimeout(of: spec)) / 1000
    // When libcurl repeats a request, the time starts again.
    let start = clock.ready == nil ? clock.start : engine.now
    engine.loop.schedule(timer, at: start.advanced(bySeconds: seconds), handler: self)
  }

  /// Makes libcurl's connect timeout longer than ours, so that ours comes first. It is only a quarter longer, as newer
  /// versions of libcurl give half of the time to the first of several addresses.
  private func limitLookup() {
    guard lookup == .running, let handle else { return }
    let timeout = engine.connectTimeout(of: spec)
    weir_easy_set_long(handle.easy, CURLOPT_CONNECTTIMEOUT_MS, timeout + timeout / 4)
  }
}

extension Transfer: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    guard !isFinished else { return }
    let isResolving = lookup != .none
    let milliseconds = Int(MonotonicTime.now.seconds(since: clock.start) * 1000)
    verdict = TransferError(
      .curl, code: .timedOut,
      message: "\(isResolving ? "Resolving" : "Connection") timed out after \(milliseconds) milliseconds")
    engine.need(.cancel, for: self)
  }
}
