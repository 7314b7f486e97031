internal import CCurl
internal import Glibc
internal import WeirIO

// Restarts of transfers that have no answer yet.
extension TransferEngine {
  /// Restarts a transfer of which nothing was sent on its connection; false when that is impossible.
  func changeConnection(of transfer: Transfer) -> Bool {
    transfer.repeats.needsFreshConnection = false
    // A challenge that could not be answered on its own connection will come again.
    let isChallenged = transfer.receiving.phase == .provisional && transfer.receiving.status != 417
    guard let handle = transfer.handle, transfer.receiving.headerBytes == 0 || isChallenged else {
      return transfer.fail(.connectionLost)
    }
    guard takeBack(transfer, isStale: !transfer.dial.avoidsPool),
      weir_easy_set_long(handle.easy, CURLOPT_FRESH_CONNECT, 1) == CURLE_OK
    else { return false }
    if isChallenged { transfer.forgetChallenge() }
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
    transfer.repeats.startAnew(isStale: isStale)
    transfer.clock.restarted = MonotonicTime.now.seconds(since: transfer.clock.start)
    transfer.state = .waiting
    return true
  }
}
