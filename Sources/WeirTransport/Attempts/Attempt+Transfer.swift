package import WeirCurl
package import WeirHTTP

// The events of an attempt's transfers.
extension Attempt: TransferDelegate {
  package func transfer(_ transfer: any TransferHandle, didReceiveInterim head: ResponseHead) {
    if !isLost { delegate?.attempt(self, didReceiveInterim: head) }
  }

  package func transfer(_ transfer: any TransferHandle, didReceiveHead head: ResponseHead) -> Flow {
    guard !isLost, let delegate else { return .stop }
    lastStatus = head.status
    costs.sums.contentEncoding = head.isEncoded ? head.value(forField: "Content-Encoding") : nil
    guard case .proceed = delegate.attempt(self, didReceiveHead: head), !isLost else { return .stop }
    return machine.reads ? .proceed : .pause
  }

  package func transfer(_ transfer: any TransferHandle, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow {
    guard !isLost, let delegate else { return .stop }
    if !machine.reads { return .pause }
    if unwanted.isDiscarded { return unwanted.discard(bytes.count) ? .proceed : .stop }
    return delegate.attempt(self, didReceiveBody: bytes)
  }

  package func transfer(_ transfer: any TransferHandle, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply
  {
    let supply = delegate?.attempt(self, provideBody: buffer) ?? .failed
    if limit != nil, case .pause = supply { awaitsBody(true) }
    return supply
  }

  package func transferRewindBody(_ transfer: any TransferHandle) -> Bool {
    if limit != nil { awaitsBody(false) }
    return delegate?.attemptRewindsBody(self) ?? false
  }

  package func transfer(_ transfer: any TransferHandle, didSendBody totalSent: Int64) {
    delegate?.attempt(self, didSendBody: totalSent)
  }

  package func transferHasSentBody(_ transfer: any TransferHandle) { hasUploaded() }

  package func transfer(_ transfer: any TransferHandle, didFinish error: TransferError?, report: TransferReport) {
    self.transfer = nil
    if isLost { return }
    stopTimer()
    if let limit {
      delegate?.attempt(self, didFinish: limit.judged(error), report)
    } else {
      delegate?.attempt(self, didFinish: error, report)
    }
  }
}

/// Limits for a body that is of no use: it is read so that its connection can be used again, unless a new connection is
/// cheaper.
struct UnwantedBody {
  /// Seconds that the rest of the body may take.
  static let longest = 0.25
  /// The most bytes that are read.
  static let limit = 64 << 10

  var isDiscarded = false
  var count = 0
  /// Whether the rest of the body took too long.
  var isGivenUp = false

  /// Whether reading on is cheaper than a new connection.
  mutating func discard(_ bytes: Int) -> Bool {
    count += bytes
    return count <= Self.limit
  }
}
